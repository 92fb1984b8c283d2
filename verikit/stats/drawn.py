"""Metrics over many units that are not plain means: fractions of all steps, F1, areas under curves.

The units (questions, solutions) get random weights of the Bayesian bootstrap (Rubin 1981). Unseen values may differ
from those seen, so each end of the interval adds `UNSEEN` of a unit that pulls the metric that way. For a mean of 0/1
values these are the beta distributions of `verikit.stats.beta`.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from statistics import NormalDist
from typing import TypeVar

from verikit.errors import UsageError
from verikit.stats.beta import UNSEEN
from verikit.stats.intervals import Estimate, check_interval

T = TypeVar("T", bound=Hashable)
DRAWS = 1000


def drawn_estimate(
    units: Iterable[T],
    figure: Callable[[Sequence[tuple[T, float]]], float],
    *,
    worst: Sequence[T],
    best: Sequence[T],
    level: float = 0.95,
    draws: int = DRAWS,
) -> Estimate | None:
    """A metric of units with its seeded interval. None if the metric is NaN or there are no units.

    Args:
        units: Independent units.
        figure: Computes the metric from units and their weights. NaN if it is not defined for them.
        worst: Units that lower the metric, one for each part of it that has its own units.
        best: Units that raise it.
        level: Confidence.
        draws: Number of draws per end.

    Raises:
        UsageError: The level is outside (0, 1), or there are no draws.
    """
    check_interval(level)
    if draws < 1:
        raise UsageError(f"an interval requires at least one draw, got {draws}")
    # Equal units are sampled together, since a sum of n weights is a gamma variable of shape n.
    counts = Counter(units)
    value = figure([(unit, float(count)) for unit, count in counts.items()]) if counts else math.nan
    if math.isnan(value):
        return None
    ends = _drawn_ends(counts, figure, (worst, best), draws)
    lows, highs = (sorted(one for one in drawn if not math.isnan(one)) or [value] for drawn in ends)
    tail = (1 - level) / 2
    low = min(value, lows[math.floor(tail * len(lows))])
    high = max(value, highs[-1 - math.floor(tail * len(highs))])
    return Estimate(value, low, high, (high - low) / (2 * NormalDist().inv_cdf(1 - tail)), counts.total(), "draws")


def _drawn_ends(
    counts: Counter[T],
    figure: Callable[[Sequence[tuple[T, float]]], float],
    ends: tuple[Sequence[T], Sequence[T]],
    draws: int,
) -> tuple[list[float], list[float]]:
    """The metric for random weights, with the unseen units of each end. The values are the same in each run."""
    rng = random.Random(0)
    figures: tuple[list[float], list[float]] = ([], [])
    for _ in range(draws):
        seen = [(unit, rng.gammavariate(count, 1.0)) for unit, count in counts.items()]
        for drawn, unseen in zip(figures, ends, strict=True):
            drawn.append(figure([*seen, *((unit, rng.gammavariate(UNSEEN, 1.0)) for unit in unseen)]))
    return figures


def typical(sizes: Sequence[float]) -> float:
    """The average size of a unit, weighted by size (Kish): the sum of squares over the sum."""
    whole = math.fsum(sizes)
    return math.fsum(size * size for size in sizes) / whole if whole else 0.0
