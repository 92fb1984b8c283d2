"""Means over prompts, with intervals that stay valid near 0 % and 100 % and for prompts that hardly vary.

A prompt's candidates are correlated, so the prompt is the unit. Each prompt gives one number per metric, and the
interval is over prompts. Numbers within known bounds get the interval of `verikit.stats.beta`, which never has zero
width. The percentile bootstrap over prompts is also available, and is the only method for numbers without known bounds.
Beyond `MAX_BOOTSTRAP` prompts it is replaced by the normal interval to which it converges. If unbounded numbers are all
equal, nothing limits the next one (Bahadur and Savage 1956), and the interval is the whole line.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from operator import itemgetter
from statistics import NormalDist
from typing import Any, Literal, get_args

from verikit.errors import UsageError, nearest
from verikit.stats.beta import beta_interval
from verikit.types import UNIT

RESAMPLES = 1000
"""Bootstrap resamples: the ends of a 95 % interval are the 26th and 975th of the sorted resampled means."""
MAX_BOOTSTRAP = 1000
"""Maximum number of prompts for which the interval is bootstrapped and single values are stored."""
LARGEST = 1e100
"""The largest value that a mean accepts, far below the point where sums of squares overflow."""
Interval = Literal["beta", "bootstrap"]
_UNIT = 1 << 60
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval."""

    value: float
    low: float
    """The lower end. If nothing is known it is -inf, and `high` is inf."""
    high: float
    stderr: float
    """Standard error over prompts. If they don't vary, the interval's half width over z instead of a misleading 0."""
    n: int
    """Number of independent units: prompts, or the subsets examined in one group."""
    method: str
    """The method: `beta`, `draws`, `bootstrap`, `normal`, `none`. Within one group `exact` or `monte carlo`."""
    left_out: int = 0
    """Groups that were excluded: fewer than k scored candidates, no ranking, or no answers."""

    def as_row(self) -> dict[str, Any]:
        """The estimate in the format of a file. Infinite values are None, since JSON has no infinity."""
        return {name: None if value in (-math.inf, math.inf) else value for name, value in asdict(self).items()}


def mean_interval(
    values: Iterable[float],
    level: float = 0.95,
    *,
    interval: Interval = "beta",
    bounds: tuple[float, float] = UNIT,
    seed: int = 0,
) -> Estimate:
    """The mean of one value per prompt, with its interval over prompts. See `Mean.estimate`."""
    mean = Mean()
    for value in values:
        mean.add(value)
    return mean.estimate(level, interval=interval, bounds=bounds, seed=seed)


class Mean:
    """A streaming mean over prompts, in constant memory. The result is bit-identical for any order of the prompts.

    Sums are stored as integer multiples of 2**-60 (squares: of 2**-120). Integer addition is exact, so the order does
    not matter.
    """

    __slots__ = ("_highest", "_lowest", "_squares", "_sum", "_values", "n")

    def __init__(self) -> None:
        self.n: int = 0
        self._sum = self._squares = 0
        self._lowest, self._highest = math.inf, -math.inf
        self._values = array("d")

    def add(self, value: float) -> None:
        """Add one prompt's value.

        Raises:
            UsageError: A value beyond 1e100, or NaN.
        """
        if not -LARGEST <= value <= LARGEST:
            raise UsageError(f"a value of {value!r} can't be averaged", hint="truth scores belong in [0, 1]")
        # Rounding must not count as spread: 1 - 1e-16 is a 1.
        if abs(value - round(value)) < _ROUNDING:
            value = round(value)
        self.n += 1
        exact = round(value * _UNIT)
        self._sum += exact
        self._squares += exact * exact
        self._lowest = min(self._lowest, value)
        self._highest = max(self._highest, value)
        self._keep((value,))

    def merge(self, other: Mean) -> None:
        """Add the values of another mean, as if they had been added here."""
        self.n += other.n
        self._sum += other._sum
        self._squares += other._squares
        self._lowest = min(self._lowest, other._lowest)
        self._highest = max(self._highest, other._highest)
        self._keep(other._values)

    def _keep(self, values: Iterable[float]) -> None:
        if self.n <= MAX_BOOTSTRAP:
            self._values.extend(values)
        elif self._values:
            self._values = array("d")

    def estimate(
        self,
        level: float = 0.95,
        *,
        interval: Interval = "beta",
        bounds: tuple[float, float] = UNIT,
        seed: int = 0,
        left_out: int = 0,
    ) -> Estimate:
        """The mean and its interval. `left_out` is passed on.

        Args:
            level: Confidence.
            interval: `bootstrap` selects the percentile bootstrap if the values vary.
            bounds: The range of possible values, [-1, 1] for differences of scores, -inf and inf if unknown. Values
                without bounds, or beyond them, have no beta interval and are bootstrapped. If they don't vary either,
                nothing is known of their mean.
            seed: Seed of the bootstrap.
            left_out: Groups that were excluded.

        Raises:
            UsageError: Nothing was added, a level outside (0, 1), or an unknown interval.
        """
        check_interval(level, interval)
        if not self.n:
            raise UsageError("can't compute the mean of an empty list")
        n, mean = self.n, self._sum / (self.n * _UNIT)
        variance = (n * self._squares - self._sum**2) / (n * n * _UNIT**2)
        spread = self._highest - self._lowest > _ROUNDING
        stderr = math.sqrt(variance / (n - 1)) if spread else 0.0
        within = bounds[0] - _ROUNDING <= self._lowest and self._highest <= bounds[1] + _ROUNDING
        least, most = bounds if within and math.isfinite(bounds[1] - bounds[0]) else (-math.inf, math.inf)
        bounded = most < math.inf
        if least == most:
            return Estimate(mean, least, most, 0.0, n, "exact", left_out)
        if not spread and not bounded:
            return Estimate(mean, least, most, math.inf, n, "none", left_out)
        if bounded and (interval == "beta" or not spread):
            width = most - least
            share = min(1.0, max(0.0, (mean - least) / width))
            seen = max(0.0, (self._lowest - least) / width), min(1.0, (self._highest - least) / width)
            low, high = beta_interval(share, variance / width**2, n, level, seen=seen)
            low, high = least + width * low, least + width * high
            return Estimate(mean, low, high, stderr or (high - low) / (2 * _z(level)), n, "beta", left_out)
        if n <= MAX_BOOTSTRAP:
            return Estimate(mean, *bootstrap(self._values, level, seed), stderr, n, "bootstrap", left_out)
        half = _z(level) * stderr
        return Estimate(mean, max(least, mean - half), min(most, mean + half), stderr, n, "normal", left_out)


def bootstrap(values: Sequence[float], level: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """The percentile bootstrap interval of the mean, by `RESAMPLES` seeded resamples (Efron 1979).

    Values are sorted first, so their order doesn't matter, and metrics over the same prompts share their resamples.

    Raises:
        UsageError: No values, or a level outside (0, 1).
    """
    if not len(values):
        raise UsageError("can't compute an interval of an empty list")
    check_interval(level)
    ordered, n = sorted(values), len(values)
    if n == 1:
        return ordered[0], ordered[0]
    means = sorted(math.fsum(pick(ordered)) / n for pick in _resamples(n, seed))
    tail = math.floor(round((1 - level) / 2 * RESAMPLES, 6))
    return means[tail], means[RESAMPLES - 1 - tail]


@lru_cache(maxsize=2)
def _resamples(n: int, seed: int) -> list[Callable[[Sequence[float]], tuple[float, ...]]]:
    rng = random.Random(f"{seed}:{n}")
    indices = list(range(n))
    return [itemgetter(*rng.choices(indices, k=n)) for _ in range(RESAMPLES)]


def check_interval(level: float, interval: Interval = "beta") -> None:
    """Reject a confidence level outside (0, 1) and an unknown interval name.

    Raises:
        UsageError: The level or the name is invalid.
    """
    if not 0 < level < 1:
        raise UsageError(f"level must be between 0 and 1, got {level!r}")
    if interval not in get_args(Interval):
        raise UsageError(f"interval {interval!r} not found", hint=nearest(interval, get_args(Interval)))


def _z(level: float) -> float:
    check_interval(level)
    return NormalDist().inv_cdf(0.5 + level / 2)
