"""Agreement of verdicts with labels, or with another judge's verdicts. A missing verdict is a separate class."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from verikit.errors import UsageError


def accuracy(verdicts: Sequence[Hashable], labels: Sequence[Hashable]) -> float:
    """Fraction of verdicts equal to the label. A missing verdict (None) counts as unequal.

    Raises:
        UsageError: Nothing to compare, or lengths differ.
    """
    _check(verdicts, labels)
    return sum(v is not None and v == g for v, g in zip(verdicts, labels, strict=True)) / len(labels)


def cohen_kappa(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """Cohen's kappa (1960): agreement beyond chance. NaN if both always give the same single value.

    Raises:
        UsageError: Nothing to compare, or lengths differ.
    """
    _check(a, b)
    n = len(a)
    observed = sum(x == y for x, y in zip(a, b, strict=True)) / n
    left, right = Counter(a), Counter(b)
    chance = math.fsum(left[c] * right[c] for c in left) / n**2
    return (observed - chance) / (1 - chance) if chance < 1 else math.nan


@dataclass(frozen=True, slots=True)
class BothOrders:
    """A pairwise judge against labels, in both orders. Values are fractions of all pairs."""

    n: int
    first: float
    """Right with the pair in its own order."""
    second: float
    """Right with the pair swapped."""
    both: float
    """Right in both orders."""
    majority: float
    """Right more often than wrong over the two orders (JudgeBench's rule: ties and missing verdicts do not count)."""
    consistent: float
    """The same verdict in both orders."""


def both_orders(pairs: Sequence[tuple[float | None, float | None]], labels: Sequence[float]) -> BothOrders:
    """Compare verdicts in both orders with labels.

    Args:
        pairs: For each pair, the preference for its first answer in its own order and swapped (mapped back).
        labels: 1.0 if the first answer is better, 0.0 if the second is.

    Raises:
        UsageError: Nothing to compare, or lengths differ.
    """
    _check(pairs, labels)
    n = len(labels)
    sides = [(_side(first), _side(second)) for first, second in pairs]
    judged = list(zip(sides, map(_side, labels), strict=True))
    right = [(first == gold, second == gold) for (first, second), gold in judged]
    return BothOrders(
        n,
        sum(first for first, _ in right) / n,
        sum(second for _, second in right) / n,
        sum(map(all, right)) / n,
        sum(_points(pair, gold) > 0 for pair, gold in judged) / n,
        sum(first == second for first, second in sides) / n,
    )


def _points(pair: tuple[int | None, int | None], gold: int | None) -> int:
    """One for each verdict with the label, minus one for each against it. Ties and missing verdicts are 0."""
    return sum((side == gold) - (side == -(gold or 0)) for side in pair if side)


def _side(preference: float | None) -> int | None:
    """1 for the first, -1 for the second, 0 for a tie, None for no verdict."""
    return None if preference is None else (preference > 0.5) - (preference < 0.5)


def _check(a: Sequence[object], b: Sequence[object]) -> None:
    if not a or len(a) != len(b):
        raise UsageError(f"{len(a)} verdicts for {len(b)} labels")
