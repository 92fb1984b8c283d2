"""Verdicts against labels: kappa, sensitivity, specificity, accuracy, each with its interval over prompts."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from verikit.judges.calibration.draws import DRAWS, PromptSums, Sums, quantile
from verikit.judges.rates.agreement import cohen_kappa
from verikit.stats import Estimate
from verikit.stats.clustered import clustered_mean

Pair = tuple[float, float]
"""Verdict and label."""
_PRIOR = 2.0
"""Prompts that the prior spreads evenly over the table: half a prompt in each of four cells."""
_BETTER = 0.5
"""Factor on the prior at the upper end if verdict and label differ: the judge may err less than the prior assumes."""


@dataclass(frozen=True)
class Confusion:
    """The confusion table of verdicts and labels."""

    counts: dict[Pair, int]
    accuracy: Estimate
    sensitivity: Estimate | None
    """Fraction of labels of 1 (right, or won by the first) that the judge agrees with. None without such labels."""
    specificity: Estimate | None
    """Fraction of labels of 0 (wrong, or won by the second) that the judge agrees with. None without such labels."""
    kappa: float | None
    """Agreement beyond chance. None if verdicts and labels are all the same value."""
    kappa_low: float | None
    kappa_high: float | None

    @property
    def n(self) -> int:
        """Number of labels."""
        return sum(self.counts.values())


def confusion(prompts: Iterable[Sequence[Pair]]) -> Confusion:
    """Count verdicts against labels.

    Args:
        prompts: The pairs of each prompt. They are correlated, so every interval is over prompts.
    """
    held = [list(pairs) for pairs in prompts]
    every = [pair for pairs in held for pair in pairs]
    value = cohen_kappa(*zip(*every, strict=True))
    low, high = (None, None) if math.isnan(value) else kappa_interval(held)
    return Confusion(
        dict(Counter(every)),
        clustered_mean([[float(verdict == label) for verdict, label in pairs] for pairs in held]),
        _found(held, 1.0),
        _found(held, 0.0),
        None if math.isnan(value) else value,
        low,
        high,
    )


def _found(prompts: Iterable[Sequence[Pair]], label: float) -> Estimate | None:
    """How often the verdict equals the label, over pairs with this label."""
    values = [[float(verdict == label) for verdict, known in pairs if known == label] for pairs in prompts]
    return clustered_mean(values) if any(values) else None


def kappa_interval(
    prompts: Iterable[Sequence[Pair]], level: float = 0.95, *, draws: int = DRAWS
) -> tuple[float, float]:
    """The interval of Cohen's kappa by seeded draws of the table of verdicts and labels.

    The bootstrap can only resample observed pairs. A good judge's few labels often show no error, and its interval then
    has no width. Here every cell of the table starts with part of a prompt, as under Jeffreys' prior.

    Args:
        prompts: The pairs of each prompt.
        level: Confidence.
        draws: Number of draws.
    """
    held = [Counter(pairs) for pairs in prompts if pairs]
    sums = PromptSums({pair: float(count) for pair, count in pairs.items()} for pairs in held)
    classes = sorted({0.0, 1.0, *(value for pairs in held for pair in pairs for value in pair)})
    cells = list(product(classes, repeat=2))
    shape, unit = _PRIOR / len(cells), sums.unit(sums.cells())
    rng = random.Random(0)
    even = dict.fromkeys(cells, shape)
    better = {(verdict, label): shape * (1.0 if verdict == label else _BETTER) for verdict, label in cells}
    lows: list[float] = []
    highs: list[float] = []
    for _ in range(draws):
        drawn = sums.draw(rng)
        for ends, prior in ((lows, even), (highs, better)):
            unseen = {cell: unit * rng.gammavariate(weight, 1.0) for cell, weight in prior.items()}
            ends.append(_kappa({cell: drawn.get(cell, 0.0) + unseen[cell] for cell in cells}))
    low, high, value = quantile(lows, (1 - level) / 2), quantile(highs, (1 + level) / 2), _kappa(sums.total)
    return (low, high) if math.isnan(value) else (min(low, value), max(high, value))


def _kappa(table: Sums) -> float:
    """Cohen's kappa of a table of weights by verdict and label. NaN if both have the same single value throughout."""
    total = math.fsum(table.values())
    verdicts, labels = defaultdict[float, float](float), defaultdict[float, float](float)
    for (verdict, label), weight in table.items():
        verdicts[verdict] += weight
        labels[label] += weight
    agreed = math.fsum(table.get((value, value), 0.0) for value in verdicts) / total
    chance = math.fsum(verdicts[value] * labels[value] for value in verdicts) / total**2
    return (agreed - chance) / (1 - chance) if chance < 1 else math.nan
