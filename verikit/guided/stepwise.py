"""`stepwise(n)`: best of n at each step, for a single solution."""

from __future__ import annotations

from dataclasses import dataclass

from verikit.guided.draft import Draft, Growth, ranked
from verikit.guided.strategy import SearchStrategy, TokenBudget, Walk


@dataclass(frozen=True)
class Stepwise(SearchStrategy):
    """Best of n next steps, repeated. The search is greedy and never goes back."""

    n: int = 8
    """Number of next steps sampled."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check(n=self.n)

    def search(self, budget: TokenBudget) -> Walk:
        """Take the best next step until the solution is finished."""
        draft = Draft()
        while not draft.finish and budget.left:
            (grown,) = yield [Growth(draft, self.n)]
            draft = ranked(grown)[0]
        return [draft]
