"""A run's rate corrected for its judge's error, with intervals that include the labels' own sampling error.

Three forms use the same labels.

*By verdict*: the rate among the labels of each verdict, weighted by how often the run gives that verdict. It is correct
if the labels are sampled from the run, either at random or with any number per verdict.

*Rogan-Gladen* (1978): (q - f) / (s - f) with q the run's rate, s the judge's sensitivity and f its false-positive rate.
It is correct if the labels are sampled by the true outcome.

*Posterior*: the same relation with Jeffreys' priors on q, s and f. Its value is the mean of the draws within [0, 1].
For its interval the other draws are moved to the bounds.

Every prompt has the same weight, and every candidate its fraction of its prompt, as in the run's own mean. Intervals
resample the weights of prompts (`draws.py`), with `UNSEEN` of a prompt at the far bound, as in `verikit.stats.beta`.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import mul
from statistics import NormalDist, fmean, pvariance

from verikit.judges.calibration.draws import DRAWS, Cell, PromptSums, Share, Sums, quantile
from verikit.judges.match.labels import Key
from verikit.stats.beta import UNSEEN

BY_VERDICT, ROGAN_GLADEN, POSTERIOR = "by verdict", "Rogan-Gladen", "posterior"
SAID, STANDS, SEEN = "said", "stands", "seen"
"""Cells of a prompt: its verdicts, the verdicts that its labels represent, and its labels unchanged."""


@dataclass(frozen=True)
class Corrected:
    """A corrected rate."""

    method: str
    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """Width of the interval."""
        return self.high - self.low


@dataclass(frozen=True)
class Labelled:
    """Verdicts of a run, and labels of some of them."""

    verdicts: Mapping[Key, float]
    """1, 0, and .5 for ties, by prompt id and index of the candidate or comparison."""
    labels: Mapping[Key, float]
    """Labels, only for keys that have a verdict."""
    categories: Mapping[Key, str] = field(default_factory=dict)
    """A label represents only verdicts of its own category. Keys without a category share ""."""

    @property
    def share(self) -> dict[Key, float]:
        """The weight of each verdict. The verdicts of each prompt sum to 1."""
        sizes = Counter(id for id, _ in self.verdicts)
        return {key: 1 / sizes[key[0]] for key in self.verdicts}

    def cell(self, key: Key) -> tuple[str, float]:
        """The category and the verdict of a key."""
        return self.categories.get(key, ""), self.verdicts[key]

    def unlabelled(self) -> set[tuple[str, float]]:
        """Pairs of category and verdict in the run that have no label."""
        return {self.cell(key) for key in self.verdicts} - {self.cell(key) for key in self.labels}

    def without(self, categories: Collection[str]) -> Labelled:
        """All verdicts except in these categories."""
        kept = {key for key in self.verdicts if self.cell(key)[0] not in categories}
        values = {key: verdict for key, verdict in self.verdicts.items() if key in kept}
        return Labelled(values, {key: label for key, label in self.labels.items() if key in kept}, self.categories)

    def sums(self) -> PromptSums:
        """What each prompt contributes to the verdicts and to the labels."""
        share = self.share
        run, known = defaultdict[tuple[str, float], float](float), defaultdict[tuple[str, float], float](float)
        for key in self.verdicts:
            run[self.cell(key)] += share[key]
        for key in self.labels:
            known[self.cell(key)] += share[key]
        prompts: defaultdict[str, defaultdict[Cell, float]] = defaultdict(lambda: defaultdict(float))
        for key, verdict in self.verdicts.items():
            held = prompts[key[0]]
            held[SAID, verdict] += share[key]
            if (label := self.labels.get(key)) is not None:
                cell = self.cell(key)
                held[SEEN, verdict, label] += share[key]
                held[STANDS, verdict, label] += share[key] * run[cell] / known[cell]
        return PromptSums(prompts.values())


def corrected_rates(known: Labelled, level: float = 0.95, *, draws: int = DRAWS) -> list[Corrected]:
    """Return a run's corrected rate in each form that its labels allow, starting with the one by verdict.

    Args:
        known: Verdicts and labels. The form by verdict needs a label of each verdict that the run gives in each
            category. The others need labels of both kinds, and no ties.
        level: Confidence.
        draws: Draws per interval end.
    """
    rng, sums = random.Random(0), known.sums()
    found = []
    if known.verdicts and not known.unlabelled():
        found.append(_by_verdict(known, sums, level, rng, draws))
    labels = set(known.labels.values())
    if set(known.verdicts.values()) <= {0.0, 1.0} and labels == {0.0, 1.0}:
        rates = _Rates(
            Share.of(sums, {(SAID, 1.0): 1.0, (SAID, 0.0): 0.0}),
            Share.of(sums, {(SEEN, 1.0, 1.0): 1.0, (SEEN, 0.0, 1.0): 0.0}),
            Share.of(sums, {(SEEN, 1.0, 0.0): 1.0, (SEEN, 0.0, 0.0): 0.0}),
        )
        found += [_rogan_gladen(rates, sums, level, rng, draws), _posterior(rates, sums, level, rng, draws)]
    return found


@dataclass(frozen=True)
class _Rates:
    said: Share
    """Fraction of verdicts of 1 in the run."""
    hits: Share
    """Fraction of verdicts of 1 among labels of 1."""
    false: Share
    """Fraction of verdicts of 1 among labels of 0."""


def _by_verdict(known: Labelled, sums: PromptSums, level: float, rng: random.Random, draws: int) -> Corrected:
    means = _label_means(known, sums)
    order = sorted(means, key=lambda verdict: means[verdict].at(sums.total))
    value = _mixed(sums.total, order, [means[verdict].at(sums.total) for verdict in order])
    lows, highs = [], []
    for _ in range(draws):
        drawn = sums.draw(rng)
        # The unseen prompt may have only the verdict with the worst labels, or only the one with the best.
        worst, best = {order[0]: rng.gammavariate(UNSEEN, 1.0)}, {order[-1]: rng.gammavariate(UNSEEN, 1.0)}
        lows.append(_mixed(drawn, order, [means[verdict].low(drawn, rng) for verdict in order], worst))
        highs.append(_mixed(drawn, order, [means[verdict].high(drawn, rng) for verdict in order], best))
    ends = quantile(lows, (1 - level) / 2), quantile(highs, (1 + level) / 2)
    return Corrected(BY_VERDICT, value, min(value, ends[0]), max(value, ends[1]))


def _label_means(known: Labelled, sums: PromptSums) -> dict[float, Share]:
    """The mean label of each verdict."""
    labels = set(known.labels.values())
    verdicts = sorted(set(known.verdicts.values()))
    return {verdict: Share.of(sums, {(STANDS, verdict, label): label for label in labels}) for verdict in verdicts}


def _mixed(sums: Sums, order: Sequence[float], means: Sequence[float], unseen: Mapping[float, float] = {}) -> float:
    """The rate: each verdict's mean label, weighted by how often the run gives the verdict."""
    weights = [sums[SAID, verdict] + unseen.get(verdict, 0.0) for verdict in order]
    return math.fsum(map(mul, weights, means)) / math.fsum(weights)


def _rogan_gladen(rates: _Rates, sums: PromptSums, level: float, rng: random.Random, draws: int) -> Corrected:
    q, s, f = rates.said, rates.hits, rates.false
    value = _solved(q.at(sums.total), s.at(sums.total), f.at(sums.total))
    low, high = [], []
    for _ in range(draws):
        drawn = sums.draw(rng)
        # The true rate rises with q and falls with both of the judge's rates, so each end uses the far side of all
        # three.
        low.append(_solved(q.low(drawn, rng), s.high(drawn, rng), f.high(drawn, rng), 0.0))
        high.append(_solved(q.high(drawn, rng), s.low(drawn, rng), f.low(drawn, rng), 1.0))
    ends = quantile(low, (1 - level) / 2), quantile(high, (1 + level) / 2)
    return Corrected(ROGAN_GLADEN, value, min(value, ends[0]), max(value, ends[1]))


def _posterior(rates: _Rates, sums: PromptSums, level: float, rng: random.Random, draws: int) -> Corrected:
    kept: list[float] = []
    lows: list[float] = []
    highs: list[float] = []
    for _ in range(draws):
        drawn = sums.draw(rng)
        q, s, f = (share.posterior(drawn, rng) for share in (rates.said, rates.hits, rates.false))
        if s > f and 0 <= (q - f) / (s - f) <= 1:
            kept.append((q - f) / (s - f))
        # Without the rejected draws, a rate near 0 or 1 would be outside the interval too often.
        lows.append(_solved(q, s, f, 0.0))
        highs.append(_solved(q, s, f, 1.0))
    if len(kept) < draws // 10:
        return Corrected(POSTERIOR, 0.5, 0.0, 1.0)
    value, ends = fmean(kept), (quantile(lows, (1 - level) / 2), quantile(highs, (1 + level) / 2))
    return Corrected(POSTERIOR, value, min(value, ends[0]), max(value, ends[1]))


def _solved(q: float, s: float, f: float, otherwise: float = 0.5) -> float:
    """The true rate that gives this rate of verdicts. `otherwise` if the judge is no better than chance."""
    return min(1.0, max(0.0, (q - f) / (s - f))) if s > f else otherwise


@dataclass(frozen=True)
class Advice:
    """How to narrow the interval by verdict to a target width, by the normal approximation."""

    more: int
    """Additional labels, sampled like the earlier ones. At most the number of unlabelled verdicts."""
    width: float
    """Approximate width of the interval with them."""
    prompts: int
    """Approximate number of prompts that the run needs, all labelled. Unchanged if more labels are enough."""


def advise(known: Labelled, rate: Corrected, width: float, level: float = 0.95) -> Advice:
    """The number of labels or prompts that narrows a run's interval to `width`.

    The labels' part of the variance falls with their number. The variance of the prompts themselves remains.

    Args:
        known: Verdicts and labels.
        rate: Their corrected rate by verdict.
        width: The target width of the interval.
        level: Confidence of the interval.
    """
    labels, verdicts = len(known.labels), len(known.verdicts)
    prompts = len({id for id, _ in known.verdicts})
    if rate.width <= width:
        return Advice(0, rate.width, prompts)
    own = min(rate.width, 2 * NormalDist().inv_cdf((1 + level) / 2) * _spread(known) / math.sqrt(prompts))
    falls = (rate.width**2 - own**2) * labels
    needed = math.ceil(falls / (width**2 - own**2)) if width > own else verdicts + 1
    if needed <= verdicts:
        return Advice(max(1, needed - labels), width, prompts)
    narrowest = math.sqrt(own**2 + falls / verdicts)
    return Advice(verdicts - labels, narrowest, max(prompts + 1, math.ceil(prompts * (narrowest / width) ** 2)))


def _spread(known: Labelled) -> float:
    """The standard deviation between prompts of the total of their verdicts, each at its mean label."""
    sums, share = known.sums(), known.share
    means = {verdict: mean.at(sums.total) for verdict, mean in _label_means(known, sums).items()}
    prompts = defaultdict[str, float](float)
    for key, verdict in known.verdicts.items():
        prompts[key[0]] += share[key] * means[verdict]
    return math.sqrt(pvariance(prompts.values()))
