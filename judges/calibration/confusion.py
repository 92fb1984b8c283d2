"""Verdicts against labels: kappa, sensitivity, specificity, accuracy, each with its interval."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from verikit.judges.rates.agreement import cohen_kappa
from verikit.stats import Estimate, mean_interval
from verikit.stats.intervals import RESAMPLES

Pair = tuple[float, float]
"""Verdict and label."""


@dataclass(frozen=True)
class Confusion:
    """How verdicts and labels meet."""

    counts: dict[Pair, int]
    accuracy: Estimate
    sensitivity: Estimate | None
    """Share of what is right (or won by the first) that the judge says is; None where no label is 1."""
    specificity: Estimate | None
    """Share of what is wrong (or won by the second) that the judge says is; None where no label is 0."""
    kappa: float | None
    """Agreement beyond chance; None where both say one thing throughout."""
    kappa_low: float | None
    kappa_high: float | None

    @property
    def n(self) -> int:
        """Labels."""
        return sum(self.counts.values())


def confusion(pairs: Sequence[Pair]) -> Confusion:
    """Count verdicts against labels; kappa's interval is the percentile bootstrap's, seeded."""
    of = {label: [float(verdict == label) for verdict, known in pairs if known == label] for label in (0.0, 1.0)}
    shares = {label: mean_interval(values) if values else None for label, values in of.items()}
    low, high = _kappa_interval(pairs)
    return Confusion(
        dict(Counter(pairs)),
        mean_interval([float(verdict == label) for verdict, label in pairs]),
        shares[1.0],
        shares[0.0],
        _kappa(pairs),
        low,
        high,
    )


def _kappa(pairs: Sequence[Pair]) -> float | None:
    value = cohen_kappa(*zip(*pairs, strict=True))
    return None if math.isnan(value) else value


def _kappa_interval(pairs: Sequence[Pair]) -> tuple[float | None, float | None]:
    rng = random.Random(0)
    drawn = [_kappa(rng.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES)]
    known = sorted(value for value in drawn if value is not None)
    if len(known) < RESAMPLES // 2:
        return None, None
    tail = round(0.025 * len(known))
    return known[tail], known[len(known) - 1 - tail]
