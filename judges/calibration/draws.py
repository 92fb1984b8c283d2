"""Sums over prompts under random weights of the prompts, and rates computed from them.

A prompt's candidates are correlated, so each prompt has one weight: this is the Bayesian bootstrap (Rubin 1981). Draws
add part of an unseen prompt to a rate, at the bound that widens the interval's end. With one candidate per prompt,
these are the Dirichlet and beta draws of the plain counts.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

from verikit.stats.beta import UNSEEN

DRAWS = 2000
JEFFREYS = 0.5
"""Prompts that Jeffreys' prior adds at either bound."""
Cell = tuple[Any, ...]
Sums = Mapping[Cell, float]


class PromptSums:
    """What prompts contribute to some cells, summed over prompts, unweighted and under random weights."""

    def __init__(self, prompts: Iterable[Sums]) -> None:
        # Prompts with equal contributions are drawn together: a sum of n weights is a gamma variable of shape n.
        patterns = sorted(Counter(tuple(sorted(prompt.items(), key=repr)) for prompt in prompts).items(), key=repr)
        self._counts: list[float] = [float(count) for _, count in patterns]
        self._columns: dict[Cell, list[float]] = {
            cell: [0.0] * len(patterns) for cell in sorted({cell for held, _ in patterns for cell, _ in held}, key=repr)
        }
        for number, (held, _) in enumerate(patterns):
            for cell, value in held:
                self._columns[cell][number] = value
        self.total: Sums = self._weighted(self._counts)

    def _weighted(self, weights: Sequence[float]) -> Sums:
        return {cell: sum(map(mul, weights, column)) for cell, column in self._columns.items()}

    def draw(self, rng: random.Random) -> Sums:
        """The sums under one draw of the prompts' weights."""
        return self._weighted([rng.gammavariate(count, 1.0) for count in self._counts])

    def unit(self, cells: Collection[Cell]) -> float:
        """The average contribution of one prompt to these cells together, weighted by contribution (Kish)."""
        sizes = [math.fsum(values) for values in zip(*(self._columns[cell] for cell in cells), strict=True)]
        weighted = list(zip(self._counts, sizes, strict=True))
        total = math.fsum(count * size for count, size in weighted)
        return math.fsum(count * size * size for count, size in weighted) / total if total else 0.0

    def cells(self) -> Collection[Cell]:
        """All cells that a prompt contributes to."""
        return self._columns.keys()


@dataclass(frozen=True)
class Share:
    """A weighted mean of cells: the values of `over`, weighted by the sums in the cells."""

    over: Mapping[Cell, float]
    """Each cell's value, in [0, 1]."""
    unit: float
    """The contribution of one prompt to these cells."""

    @classmethod
    def of(cls, sums: PromptSums, over: Mapping[Cell, float]) -> Share:
        """The mean with the unit that the prompts imply. Cells without contributions are skipped."""
        held = {cell: value for cell, value in over.items() if cell in sums.cells()}
        return cls(held, sums.unit(held))

    def at(self, sums: Sums, zeros: float = 0.0, ones: float = 0.0) -> float:
        """The mean under these sums, with `zeros` additional prompts at 0 and `ones` at 1."""
        whole = math.fsum(sums[cell] for cell in self.over) + self.unit * (zeros + ones)
        return (math.fsum(sums[cell] * value for cell, value in self.over.items()) + self.unit * ones) / whole

    def low(self, sums: Sums, rng: random.Random) -> float:
        """A draw for the lower end: an unseen part of a prompt is at 0."""
        return self.at(sums, zeros=rng.gammavariate(UNSEEN, 1.0))

    def high(self, sums: Sums, rng: random.Random) -> float:
        """A draw for the upper end: an unseen part of a prompt is at 1."""
        return self.at(sums, ones=rng.gammavariate(UNSEEN, 1.0))

    def posterior(self, sums: Sums, rng: random.Random) -> float:
        """A draw under Jeffreys' prior."""
        return self.at(sums, rng.gammavariate(JEFFREYS, 1.0), rng.gammavariate(JEFFREYS, 1.0))


def quantile(values: list[float], share: float) -> float:
    """The quantile of the draws at this fraction."""
    values.sort()
    return values[min(len(values) - 1, max(0, math.floor(share * len(values))))]
