"""Is one run really better than another on the same questions, and how large a difference could these questions show?

Values are paired by the id of a question, and ids that ask the same question form a cluster, the independent unit: the
interval of the mean difference is the beta interval over clusters (where values leave [0, 1]: a percentile bootstrap),
the p-value that of a sign-flip test of the clusters' sums (all signs up to 12 clusters that differ, else seeded draws).
Where several differences are looked at together, Holm's correction keeps the chance of any false one.
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

from verikit.errors import UsageError
from verikit.stats.beta import beta_interval
from verikit.stats.intervals import MAX_BOOTSTRAP, RESAMPLES
from verikit.types import PASS_MARK

FLIPS = 10_000
EXACT = 12
"""Clusters that differ up to which all signs are tried."""
POWER = 0.8
LEVEL = 0.05
_MOST_DRAWN = 20_000_000
_FEWEST_FLIPS = 1000
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Outcomes:
    """One metric of a run, by question: what two runs are paired on."""

    task: str
    metric: str
    values: Mapping[str, float]
    """By the question's id; ids without a value are missing."""
    questions: Mapping[str, str]
    """What each id asks, also those without a value; ids that ask the same are one cluster."""
    drawn: str = ""
    """The rule that could end the sampling early, and its n; "" where all samples were asked for."""


@dataclass(frozen=True)
class Change:
    """A question whose value differs between the runs."""

    id: str
    question: str
    before: float
    after: float


@dataclass(frozen=True)
class Difference:
    """The second run less the first on one metric."""

    task: str
    metric: str
    before: float
    after: float
    low: float
    high: float
    p: float
    """Of a difference at least this large where there is none."""
    docs: int
    clusters: int
    gained: int
    """Questions wrong in the first run and right in the second."""
    lost: int
    """The other way round."""
    left_out: int
    """Questions of either run that have no value in both."""
    detectable: float
    """The smallest true difference that these questions would show to be real in 80 of 100 such comparisons."""
    changed: tuple[Change, ...] = field(default=(), repr=False)
    """By the size of the change."""

    @property
    def value(self) -> float:
        """The mean difference."""
        return self.after - self.before


def paired_difference(first: Outcomes, second: Outcomes) -> Difference | None:
    """Compare two runs on the questions that have a value in both; None where there are none."""
    before, after = first.values, second.values
    shared = [key for key in before if key in after]
    if not shared:
        return None
    questions = {**first.questions, **second.questions}
    pairs = [(before[key], after[key]) for key in shared]
    within = all(0 <= value <= 1 for pair in pairs for value in pair)
    sums, counts = _clusters([questions.get(key, key) for key in shared], [new - old for old, new in pairs])
    low, high = _beta(sums, counts) if within else _bootstrap(sums, counts)
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
        sign_flip(sums),
        len(shared),
        len(sums),
        sum(old < PASS_MARK <= new for old, new in pairs),
        sum(new < PASS_MARK <= old for old, new in pairs),
        len({*questions, *before, *after}) - len(shared),
        detectable_difference(variance, size),
        tuple(sorted(changes, key=lambda change: (change.before - change.after, change.id), reverse=True)),
    )


def detectable_difference(variance: float, n: float, *, power: float = POWER, level: float = LEVEL) -> float:
    """The true difference that n questions show to be real with this power, by the normal approximation.

    Args:
        variance: Of the questions' differences. Two runs of 0 and 1 that disagree on a share d of the questions have
            at most d; two that share nothing have p1 (1 - p1) + p2 (1 - p2).
        n: Questions.
        power: Chance to find it.
        level: Of the two-sided test.

    Raises:
        UsageError: no questions, or a share outside (0, 1).
    """
    if n <= 0:
        raise UsageError(f"{n} questions show nothing")
    return _both_tails(power, level) * math.sqrt(variance / n)


def questions_needed(difference: float, variance: float, *, power: float = POWER, level: float = LEVEL) -> int:
    """How many questions show a true difference to be real: `detectable_difference` solved for n.

    Raises:
        UsageError: a difference of 0, or a share outside (0, 1).
    """
    if not difference:
        raise UsageError("no number of questions shows a difference of 0")
    return max(1, math.ceil(variance * (_both_tails(power, level) / difference) ** 2))


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the given order (Holm 1979)."""
    adjusted, most = [0.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        most = max(most, min(1.0, ps[index] * (len(ps) - rank)))
        adjusted[index] = most
    return adjusted


def sign_flip(sums: Iterable[float], *, seed: int = 0) -> float:
    """Two-sided p-value of the clusters' differences being symmetric about zero."""
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
    """Sums under random signs. Equal sizes are flipped together: how many of them are positive is a count of bits."""
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
        raise UsageError(f"power and level lie between 0 and 1, not at {power!r} and {level!r}")
    return NormalDist().inv_cdf(1 - level / 2) + NormalDist().inv_cdf(power)


def _clusters(questions: Sequence[str], differences: Sequence[float]) -> tuple[list[float], list[int]]:
    """Sum and count of the differences of each question."""
    found: dict[str, list[float]] = defaultdict(list)
    for question, difference in zip(questions, differences, strict=True):
        found[question].append(difference)
    return [math.fsum(values) for values in found.values()], [len(values) for values in found.values()]


def _moments(sums: Sequence[float], counts: Sequence[int]) -> tuple[float, float]:
    """Kish's effective number of clusters, and the variance of a difference among as many."""
    total, squares = sum(counts), sum(count**2 for count in counts)
    rate = math.fsum(sums) / total
    variance = math.fsum((value - rate * count) ** 2 for value, count in zip(sums, counts, strict=True)) / squares
    return total**2 / squares, variance


def _beta(sums: Sequence[float], counts: Sequence[int]) -> tuple[float, float]:
    """Beta interval of sum over count, each difference in [-1, 1]."""
    size, variance = _moments(sums, counts)
    low, high = beta_interval((1 + math.fsum(sums) / sum(counts)) / 2, variance / 4, size)
    return 2 * low - 1, 2 * high - 1


def _bootstrap(sums: Sequence[float], counts: Sequence[int]) -> tuple[float, float]:
    """Interval of sum over count by resampled clusters; the whole line where they are all the same.

    Beyond `MAX_BOOTSTRAP` clusters it is the normal interval that the bootstrap converges to.
    """
    rates = [value / count for value, count in zip(sums, counts, strict=True)]
    if max(rates) - min(rates) <= _ROUNDING:
        return -math.inf, math.inf
    if len(sums) > MAX_BOOTSTRAP:
        size, variance = _moments(sums, counts)
        centre, half = math.fsum(sums) / sum(counts), NormalDist().inv_cdf(0.975) * math.sqrt(variance / size)
        return centre - half, centre + half
    rng, drawn = random.Random(0), []
    for _ in range(RESAMPLES):
        picked = rng.choices(range(len(sums)), k=len(sums))
        drawn.append(math.fsum(sums[i] for i in picked) / sum(counts[i] for i in picked))
    drawn.sort()
    tail = round(RESAMPLES * LEVEL / 2)
    return drawn[tail], drawn[RESAMPLES - 1 - tail]
