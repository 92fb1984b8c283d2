"""Tests whether one run is really better than another on the same questions, and the smallest detectable difference.

Values are paired by question id. Ids of the same question form a cluster, which is the independent unit. The p-value is
that of a sign-flip test of the clusters' sums (all signs up to 12 clusters that differ, otherwise seeded samples). The
interval of the mean difference is the beta interval over clusters. It contains 0 exactly if the p-value is 0.05 or
more. For several differences, Holm's correction bounds the chance of any false positive.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, product
from operator import mul
from statistics import NormalDist, fmean
from typing import NamedTuple

from verikit.errors import UsageError
from verikit.stats.beta import beta_interval
from verikit.types import PASS_MARK, UNIT

FLIPS = 10_000
EXACT = 12
"""Maximum number of differing clusters for which all signs are tried."""
FEWEST = 6
"""Minimum number of differing clusters for significance: with five, the least p-value is 2 / 2**5, above 0.05."""
POWER = 0.8
LEVEL = 0.05
_MOST_DRAWN = 20_000_000
_FEWEST_FLIPS = 1000
_ROUNDING = 1e-9
_HAIR = 1e-12
"""The distance from 0 of an interval's end that must not reach it."""


@dataclass(frozen=True)
class Outcomes:
    """One metric of a run by question, on which two runs are paired."""

    task: str
    metric: str
    values: Mapping[str, float]
    """Value by question id. Ids without a value are missing."""
    questions: Mapping[str, str]
    """The question of each id, including ids without a value. Ids of the same question form one cluster."""
    bounds: tuple[float, float] = UNIT
    """The range of possible values, -inf and inf if unknown."""
    drawn: str = ""
    """The rule that could stop the sampling early, and its n. Empty if all samples were requested."""


@dataclass(frozen=True)
class Change:
    """A question whose value differs between the runs."""

    id: str
    question: str
    before: float
    after: float


@dataclass(frozen=True)
class Difference:
    """The second run minus the first on one metric."""

    task: str
    metric: str
    before: float
    after: float
    low: float
    high: float
    p: float
    """Probability of a difference at least this large if there is no true difference."""
    docs: int
    clusters: int
    gained: int
    """Number of questions that are wrong in the first run and right in the second."""
    lost: int
    """Number of questions that are right in the first run and wrong in the second."""
    left_out: int
    """Number of questions that lack a value in either run."""
    detectable: float
    """The smallest true difference that these questions would detect in 80 of 100 such comparisons."""
    changed: tuple[Change, ...] = field(default=(), repr=False)
    """The changed questions, sorted by the size of the change."""

    @property
    def value(self) -> float:
        """The mean difference."""
        return self.after - self.before


def paired_difference(first: Outcomes, second: Outcomes) -> Difference | None:
    """Compare two runs on the questions that have a value in both. None if there are none."""
    before, after = first.values, second.values
    shared = [key for key in before if key in after]
    if not shared:
        return None
    questions = {**first.questions, **second.questions}
    pairs = [(before[key], after[key]) for key in shared]
    sums, counts = _clusters([questions.get(key, key) for key in shared], [new - old for old, new in pairs])
    p = sign_flip(sums)
    bounds = min(first.bounds[0], second.bounds[0]), max(first.bounds[1], second.bounds[1])
    low, high = _interval(sums, counts, p, _reach([value for pair in pairs for value in pair], bounds))
    size, variance = _moments(sums, counts)
    both = zip(shared, pairs, strict=True)
    changes = [Change(key, questions.get(key, key), old, new) for key, (old, new) in both if old != new]
    return Difference(
        second.task,
        second.metric,
        fmean(old for old, _ in pairs),
        fmean(new for _, new in pairs),
        low,
        high,
        p,
        len(shared),
        len(sums),
        sum(old < PASS_MARK <= new for old, new in pairs),
        sum(new < PASS_MARK <= old for old, new in pairs),
        len({*questions, *before, *after}) - len(shared),
        detectable_difference(variance, size),
        tuple(sorted(changes, key=lambda change: (change.before - change.after, change.id), reverse=True)),
    )


def detectable_difference(variance: float, n: float, *, power: float = POWER, level: float = LEVEL) -> float:
    """The true difference that n questions detect with this power, by the normal approximation.

    Args:
        variance: Variance of the questions' differences. For two runs of 0 and 1 that disagree on a fraction d of the
            questions it is at most d. For two independent runs it is p1 (1 - p1) + p2 (1 - p2).
        n: Number of questions.
        power: Probability of detecting the difference.
        level: Level of the two-sided test.

    Raises:
        UsageError: No questions, or a fraction outside (0, 1).
    """
    if n <= 0:
        raise UsageError(f"n must be at least 1, got {n}")
    return _both_tails(power, level) * math.sqrt(variance / n)


def questions_needed(difference: float, variance: float, *, power: float = POWER, level: float = LEVEL) -> int:
    """Number of questions needed to detect a true difference: `detectable_difference` solved for n.

    Raises:
        UsageError: A difference of 0, or a fraction outside (0, 1).
    """
    if not difference:
        raise UsageError("a difference of 0 can't be detected with any number of questions")
    return max(1, math.ceil(variance * (_both_tails(power, level) / difference) ** 2))


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the given order (Holm 1979)."""
    adjusted, most = [0.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        most = max(most, min(1.0, ps[index] * (len(ps) - rank)))
        adjusted[index] = most
    return adjusted


def sign_flip(sums: Iterable[float], *, seed: int = 0) -> float:
    """Two-sided p-value for the hypothesis that the clusters' differences are symmetric about zero."""
    live = [value for value in sums if abs(value) > _ROUNDING]
    if not live:
        return 1.0
    observed = abs(math.fsum(live)) - _ROUNDING
    if len(live) <= EXACT:
        signs = product((-1, 1), repeat=len(live))
        every: list[float] = [abs(sum(map(mul, sign, live))) for sign in signs]
        return sum(total >= observed for total in every) / len(every)
    drawn = _flipped(live, random.Random(seed))
    return (sum(abs(total) >= observed for total in drawn) + 1) / (len(drawn) + 1)


def _flipped(live: Sequence[float], rng: random.Random) -> list[float]:
    """Sums under random signs. Equal sizes are flipped together, with a bit count as the number of positive ones."""
    sizes = Counter(round(abs(value), 9) for value in live)
    alone = [size for size, count in sizes.items() if count == 1]
    many = [(size, count) for size, count in sizes.items() if count > 1]
    flips = max(_FEWEST_FLIPS, min(FLIPS, _MOST_DRAWN // (len(alone) + len(many))))
    fixed = math.fsum(alone)
    found = []
    for _ in range(flips):
        positive = sum(compress(alone, rng.choices((0, 1), k=len(alone)))) if alone else 0.0
        together = sum(size * (2 * rng.getrandbits(count).bit_count() - count) for size, count in many)
        found.append(2 * positive - fixed + together)
    return found


def _both_tails(power: float, level: float) -> float:
    if not (0 < power < 1 and 0 < level < 1):
        raise UsageError(f"power and level must be between 0 and 1, got {power!r} and {level!r}")
    return NormalDist().inv_cdf(1 - level / 2) + NormalDist().inv_cdf(power)


def _clusters(questions: Sequence[str], differences: Sequence[float]) -> tuple[list[float], list[int]]:
    """Sum and count of the differences of each question."""
    found: dict[str, list[float]] = defaultdict(list)
    for question, difference in zip(questions, differences, strict=True):
        found[question].append(difference)
    return [math.fsum(values) for values in found.values()], [len(values) for values in found.values()]


def _moments(sums: Sequence[float], counts: Sequence[int]) -> tuple[float, float]:
    """Kish's effective number of clusters, and the variance of a difference for that number."""
    total, squares = sum(counts), sum(count**2 for count in counts)
    rate = math.fsum(sums) / total
    variance = math.fsum((value - rate * count) ** 2 for value, count in zip(sums, counts, strict=True)) / squares
    return total**2 / squares, variance


class _Reach(NamedTuple):
    """The largest possible difference between the values of one question."""

    farthest: float
    known: bool
    """Whether it follows from the bounds. Otherwise it is the largest distance between any two values seen."""


def _reach(values: Sequence[float], bounds: tuple[float, float]) -> _Reach:
    known = bounds[0] <= min(values) and max(values) <= bounds[1] and math.isfinite(bounds[1] - bounds[0])
    return _Reach(bounds[1] - bounds[0] if known else max(values) - min(values), known)


def _interval(sums: Sequence[float], counts: Sequence[int], p: float, reach: _Reach) -> tuple[float, float]:
    """The beta interval of sum over count. It contains 0 exactly if the test finds no difference.

    The unseen question differs by at most the largest difference seen, because a mean of many samples changes little.
    If too few clusters differ for the test, it may differ by the full range of values. If that hides a difference that
    the test finds, the end next to 0 assumes an unseen question that does not differ.
    """
    rates = [value / count for value, count in zip(sums, counts, strict=True)]
    if not reach.known and max(rates) - min(rates) <= _ROUNDING:
        return -math.inf, math.inf  # Nothing bounds these values, and even their spread is unknown.
    farthest = max(map(abs, rates))
    if sum(abs(value) > _ROUNDING for value in sums) < FEWEST:
        farthest = max(farthest, reach.farthest)
    if not farthest:
        return 0.0, 0.0  # The bounds leave room for one value only.
    size, variance = _moments(sums, counts)
    mean, scale = math.fsum(sums) / sum(counts), 2 * farthest

    seen = 0.5 + min(rates) / scale, 0.5 + max(rates) / scale

    def ends(unseen: tuple[float, float]) -> tuple[float, float]:
        found = beta_interval(0.5 + mean / scale, variance / scale**2, size, 1 - LEVEL, unseen=unseen, seen=seen)
        return scale * (found[0] - 0.5), scale * (found[1] - 0.5)

    low, high = ends((0.0, 1.0))
    if p >= LEVEL:
        return min(low, 0.0), max(high, 0.0)
    return _without_zero(low, high, mean, ends((0.5, 0.5)))


def _without_zero(low: float, high: float, mean: float, inner: tuple[float, float]) -> tuple[float, float]:
    """An interval that excludes 0. If it includes 0, the end next to 0 is taken from an inner interval."""
    if mean > 0 and low <= 0:
        return max(inner[0], _HAIR), high
    if mean < 0 and high >= 0:
        return low, min(inner[1], -_HAIR)
    return low, high
