"""Means over prompts with intervals that stay honest at 0 % and 100 %.

A prompt's candidates are correlated, so the prompt is the unit: each gives one number per metric, and the interval is
over prompts. 0/1 numbers get Wilson's interval, others the percentile bootstrap over prompts (beyond `MAX_BOOTSTRAP`
prompts the normal one, which it converges to). Numbers without any spread get Wilson's with n = prompts: an interval of
zero width would claim to know what was only seen a few times.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from statistics import NormalDist

from verikit.errors import UsageError

RESAMPLES = 1000
"""Bootstrap resamples: the ends of a 95 % interval are the 26th and 975th of the sorted resampled means."""
MAX_BOOTSTRAP = 1000
"""Prompts up to which the interval is bootstrapped, and single values are kept."""
_UNIT = 1 << 60
_LARGEST = 1e100
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval."""

    value: float
    low: float
    high: float
    stderr: float
    """Standard error; where nothing varied, Wilson's half width over z, so that it is never a hollow 0."""
    n: int
    """Independent units behind it: prompts, or the subsets looked at in one group."""
    method: str
    """Where the interval comes from: `wilson`, `bootstrap`, `normal`; in one group `exact` or `monte carlo`."""
    left_out: int = 0
    """Groups that could not take part: fewer than k scored candidates, no ranking, or no answers."""


def wilson(successes: float, n: int, level: float = 0.95) -> Estimate:
    """Wilson's score interval for a proportion (Wilson 1927).

    Raises:
        UsageError: not 0 <= successes <= n, n < 1, or a level outside (0, 1).
    """
    if not (0 <= successes <= n and n >= 1):
        raise UsageError(f"a proportion needs 0 <= successes <= n and n >= 1, not {successes!r} of {n!r}")
    z = _z(level)
    p = successes / n
    shrink = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / shrink
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / shrink
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Estimate(p, low, high, half / z, n, "wilson")


def mean_interval(values: Iterable[float], level: float = 0.95, seed: int = 0) -> Estimate:
    """The mean of one value per prompt, with its interval over prompts."""
    mean = Mean()
    for value in values:
        mean.add(value)
    return mean.estimate(level, seed)


class Mean:
    """A streaming mean over prompts, in constant memory, equal to the last bit whatever the order of the prompts.

    Sums are kept in integer multiples of 2**-60 (squares: of 2**-120): integer addition is exact, so it has no order.
    """

    __slots__ = ("_binary", "_highest", "_lowest", "_squares", "_sum", "_values", "n")

    def __init__(self) -> None:
        self.n = 0
        self._sum = self._squares = 0
        self._lowest, self._highest = math.inf, -math.inf
        self._binary = True
        self._values = array("d")

    def add(self, value: float) -> None:
        """Count one prompt's value.

        Raises:
            UsageError: a value beyond 1e100, or NaN.
        """
        if not -_LARGEST <= value <= _LARGEST:
            raise UsageError(f"a value of {value!r} can't be averaged", hint="truth scores belong in [0, 1]")
        # Rounding must not pass for spread: 1 - 1e-16 is a 1.
        if abs(value - round(value)) < _ROUNDING:
            value = round(value)
        self.n += 1
        exact = round(value * _UNIT)
        self._sum += exact
        self._squares += exact * exact
        self._lowest = min(self._lowest, value)
        self._highest = max(self._highest, value)
        self._binary = self._binary and (value == 0 or value == 1)
        if self.n <= MAX_BOOTSTRAP:
            self._values.append(value)
        elif self._values:
            self._values = array("d")

    def merge(self, other: Mean) -> None:
        """Take over what another mean counted, as if its values had been added here."""
        self.n += other.n
        self._sum += other._sum
        self._squares += other._squares
        self._lowest, self._highest = min(self._lowest, other._lowest), max(self._highest, other._highest)
        self._binary = self._binary and other._binary
        self._values = self._values + other._values if self.n <= MAX_BOOTSTRAP else array("d")

    def estimate(self, level: float = 0.95, seed: int = 0, left_out: int = 0, note: str = "") -> Estimate:
        """The mean and its interval; `note` is appended to the method.

        Raises:
            UsageError: nothing was added, or a level outside (0, 1).
        """
        if not self.n:
            raise UsageError("the mean of no values was asked for")
        n, mean = self.n, self._sum / (self.n * _UNIT)
        spread = self._highest - self._lowest > _ROUNDING
        least, most = (0.0, 1.0) if self._lowest >= 0 and self._highest <= 1 else (-math.inf, math.inf)
        stderr = math.sqrt((n * self._squares - self._sum**2) / (n * n * (n - 1))) / _UNIT if spread else 0.0
        if most == 1 and (self._binary or not spread):
            interval = wilson(mean * n, n, level)
            low, high, method, stderr = interval.low, interval.high, "wilson", stderr or interval.stderr
        elif n <= MAX_BOOTSTRAP:
            low, high = bootstrap(self._values, level, seed)
            method = "bootstrap"
        else:
            half = _z(level) * stderr
            low, high, method = max(least, mean - half), min(most, mean + half), "normal"
        return Estimate(mean, low, high, stderr, n, method + note, left_out)


def bootstrap(values: Sequence[float], level: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """The percentile bootstrap interval of the mean, by `RESAMPLES` seeded resamples (Efron 1979).

    Values are sorted first, so their order doesn't matter, and metrics over the same prompts share their resamples.
    """
    values = sorted(values)
    n = len(values)
    means = sorted(sum(pick(values)) / n for pick in _resamples(n, seed)) if n > 1 else [values[0]] * RESAMPLES
    tail = int((1 - level) / 2 * RESAMPLES)
    return means[tail], means[RESAMPLES - 1 - tail]


@lru_cache(maxsize=2)
def _resamples(n: int, seed: int) -> list[Callable[[Sequence[float]], tuple[float, ...]]]:
    rng = random.Random(f"{seed}:{n}")
    indices = list(range(n))
    return [itemgetter(*rng.choices(indices, k=n)) for _ in range(RESAMPLES)]


def _z(level: float) -> float:
    if not 0 < level < 1:
        raise UsageError(f"a confidence level lies between 0 and 1, not at {level!r}")
    return NormalDist().inv_cdf(0.5 + level / 2)
