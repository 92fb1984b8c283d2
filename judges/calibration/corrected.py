"""A run's rate corrected for its judge's error, with intervals that count the labels' own sampling error.

Three forms, from the same counts. *By verdict*: the rate among the labels of each verdict, weighted by how often the
run gives that verdict; right where the labels are drawn from the run, at random or as many of each verdict as one
likes. *Rogan-Gladen* (1978): (q - f) / (s - f) with q the run's rate, s the judge's sensitivity and f its
false-positive rate; right where the labels are drawn by what is true, from this run or another. *Posterior*: the same
relation with Jeffreys' priors on q, s and f, draws that leave [0, 1] rejected. Intervals of the first two draw each
count's confidence distribution, with `UNSEEN` of an observation at the far bound, as `verikit.stats.beta` has it.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from statistics import NormalDist, fmean

from verikit.judges.calibration.confusion import Pair
from verikit.stats.beta import UNSEEN

DRAWS = 2000
_JEFFREYS = 0.5


@dataclass(frozen=True)
class Corrected:
    """A corrected rate."""

    method: str
    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """Of the interval."""
        return self.high - self.low


def corrected_rates(
    verdicts: Mapping[float, int], pairs: Sequence[Pair], level: float = 0.95, *, draws: int = DRAWS
) -> list[Corrected]:
    """Return a run's corrected rate in each form that its labels allow, the one by verdict first.

    Args:
        verdicts: How often the run gives each verdict: 1, 0, and .5 for ties.
        pairs: Verdict and label of what is labelled. The form by verdict needs a label of each verdict that the run
            gives; the others need labels of both kinds, and no ties.
        level: Confidence.
        draws: Of each end.
    """
    rng = random.Random(0)
    found = []
    labels = {verdict: Counter(label for said, label in pairs if said == verdict) for verdict in verdicts}
    if all(labels.values()):
        found.append(_by_verdict(verdicts, labels, level, rng, draws))
    of = {label: [verdict for verdict, known in pairs if known == label] for label in (0.0, 1.0)}
    binary = set(verdicts) <= {0.0, 1.0} and {label for _, label in pairs} <= {0.0, 1.0}
    if binary and of[0.0] and of[1.0]:
        hits, false = int(sum(of[1.0])), int(sum(of[0.0]))
        counts = _Counts(verdicts.get(1.0, 0), sum(verdicts.values()), hits, len(of[1.0]), false, len(of[0.0]))
        found += [_rogan_gladen(counts, level, rng, draws), _posterior(counts, level, rng, draws)]
    return found


@dataclass(frozen=True)
class _Counts:
    said: int
    """Verdicts of 1 in the run, of n."""
    n: int
    hits: int
    """Verdicts of 1 on labels of 1, of so many positives."""
    positives: int
    false: int
    """Verdicts of 1 on labels of 0, of so many negatives."""
    negatives: int


def _by_verdict(
    verdicts: Mapping[float, int],
    labels: Mapping[float, Counter[float]],
    level: float,
    rng: random.Random,
    draws: int,
) -> Corrected:
    n = sum(verdicts.values())
    means = {verdict: fmean(labels[verdict].elements()) for verdict in verdicts}
    value = math.fsum(count / n * means[verdict] for verdict, count in verdicts.items())
    order = sorted(verdicts, key=means.__getitem__)
    ends = []
    for worst in (True, False):
        totals = []
        for _ in range(draws):
            drawn = [_mean_draw(labels[verdict], worst, rng) for verdict in order]
            weights = [rng.gammavariate(verdicts[verdict] + extra, 1.0) for verdict, extra in _edges(order, worst)]
            totals.append(math.fsum(map(mul, weights, drawn)) / math.fsum(weights))
        ends.append(_quantile(totals, (1 - level) / 2 if worst else (1 + level) / 2))
    return Corrected("by verdict", value, min(value, ends[0]), max(value, ends[1]))


def _edges(order: Sequence[float], worst: bool) -> list[tuple[float, float]]:
    """Each verdict with what is added to its count: the unseen observation is of the worst verdict, or of the best."""
    far = order[0] if worst else order[-1]
    return [(verdict, UNSEEN if verdict == far else 0.0) for verdict in order]


def _mean_draw(labels: Counter[float], worst: bool, rng: random.Random) -> float:
    """A draw of the mean label: weights of a Dirichlet over what was seen, and one unseen label at the far bound."""
    far = 0.0 if worst else 1.0
    values = {*labels, far}
    weights = {value: rng.gammavariate(labels[value] + UNSEEN * (value == far), 1.0) for value in values}
    return math.fsum(value * weight for value, weight in weights.items()) / math.fsum(weights.values())


def _rogan_gladen(counts: _Counts, level: float, rng: random.Random, draws: int) -> Corrected:
    c = counts
    value = _solved(c.said / c.n, c.hits / c.positives, c.false / c.negatives)
    low, high = [], []
    for _ in range(draws):
        # The true rate rises with q and falls with both of the judge's rates: each end takes the far side of all three.
        worst = _low(c.said, c.n, rng), _high(c.hits, c.positives, rng), _high(c.false, c.negatives, rng)
        best = _high(c.said, c.n, rng), _low(c.hits, c.positives, rng), _low(c.false, c.negatives, rng)
        low.append(_solved(*worst, 0.0))
        high.append(_solved(*best, 1.0))
    ends = _quantile(low, (1 - level) / 2), _quantile(high, (1 + level) / 2)
    return Corrected("Rogan-Gladen", value, min(value, ends[0]), max(value, ends[1]))


def _posterior(counts: _Counts, level: float, rng: random.Random, draws: int) -> Corrected:
    c, kept = counts, []
    for _ in range(20 * draws):
        q = _jeffreys(c.said, c.n, rng)
        s, f = _jeffreys(c.hits, c.positives, rng), _jeffreys(c.false, c.negatives, rng)
        if s > f and 0 <= (q - f) / (s - f) <= 1:
            kept.append((q - f) / (s - f))
        if len(kept) == draws:
            break
    if len(kept) < draws // 10:
        return Corrected("posterior", 0.5, 0.0, 1.0)
    return Corrected("posterior", fmean(kept), _quantile(kept, (1 - level) / 2), _quantile(kept, (1 + level) / 2))


def labels_missing(
    verdicts: Mapping[float, int], pairs: Sequence[Pair], width: float, level: float = 0.95
) -> int | None:
    """How many more labels make the interval by verdict this narrow, drawn as these were; None where none do.

    By the normal approximation: the labels' part of the variance falls with their number, the run's own part does not.
    """
    n = sum(verdicts.values())
    of_labels, means = 0.0, {}
    for verdict, count in verdicts.items():
        labels = [label for said, label in pairs if said == verdict]
        total = len(labels) + 2 * UNSEEN
        mean = (math.fsum(labels) + UNSEEN) / total
        spread = (math.fsum(label**2 for label in labels) + UNSEEN) / total - mean**2
        means[verdict] = mean
        of_labels += (count / n) ** 2 * spread / total
    overall = math.fsum(count / n * means[verdict] for verdict, count in verdicts.items())
    own = math.fsum(count / n * (means[verdict] - overall) ** 2 for verdict, count in verdicts.items()) / n
    room = (width / 2 / NormalDist().inv_cdf((1 + level) / 2)) ** 2 - own
    if room <= 0:
        return None
    return max(0, math.ceil(len(pairs) * (of_labels / room - 1)))


def _solved(q: float, s: float, f: float, otherwise: float = 0.5) -> float:
    """The true rate that gives this rate of verdicts; where the judge is no better than chance nothing is known."""
    return min(1.0, max(0.0, (q - f) / (s - f))) if s > f else otherwise


def _low(count: int, n: int, rng: random.Random) -> float:
    return rng.betavariate(count, n - count + UNSEEN) if count else 0.0


def _high(count: int, n: int, rng: random.Random) -> float:
    return rng.betavariate(count + UNSEEN, n - count) if count < n else 1.0


def _jeffreys(count: int, n: int, rng: random.Random) -> float:
    return rng.betavariate(count + _JEFFREYS, n - count + _JEFFREYS)


def _quantile(values: list[float], share: float) -> float:
    values.sort()
    return values[min(len(values) - 1, max(0, math.floor(share * len(values))))]
