"""`best_of(n)`: samples whole solutions and takes the best. It is the baseline for all other searches."""

from __future__ import annotations

from dataclasses import dataclass

from verikit.guided.strategy import SearchStrategy, TokenBudget, Walk, sampled


@dataclass(frozen=True)
class BestOf(SearchStrategy):
    """Best of n: judges the whole samples that `verikit sample -n` produces with the same seed."""

    n: int = 8
    """Number of solutions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check(n=self.n)

    def search(self, budget: TokenBudget) -> Walk:
        """Sample the solutions and return all of them."""
        return (yield from sampled(self.n, budget))
