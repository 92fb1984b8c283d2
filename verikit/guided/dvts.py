"""`dvts(width, expand)`: diverse verifier tree search (Beeching, Tunstall and Rush, 2024).

"Scaling test-time compute with open models": the width * expand first steps are split into `width` independent trees.
Each tree continues greedily from its best step. If one wrong step misleads a beam, the whole beam is lost. Here the
other trees remain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verikit.guided.draft import Draft, Growth, ranked
from verikit.guided.strategy import SearchStrategy, TokenBudget, Walk


@dataclass(frozen=True)
class DVTS(SearchStrategy):
    """Several greedy searches, independent of each other."""

    width: int = 4
    """Number of trees. Each gives one solution."""
    expand: int = 4
    """Next steps sampled per tree."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check(width=self.width, expand=self.expand)

    def search(self, budget: TokenBudget) -> Walk:
        """Extend every unfinished tree by its best next step."""
        trees = [Draft()] * self.width
        live = list(range(self.width))
        while live and budget.left:
            # Each tree has its own sample numbers. Otherwise trees with equal text would continue identically.
            grown = yield [Growth(trees[tree], self.expand, tree * self.expand) for tree in live]
            best = [(tree, drafts[0]) for tree, drafts in zip(live, map(ranked, grown), strict=True) if drafts]
            for tree, draft in best:
                trees[tree] = draft
            live = [tree for tree, draft in best if not draft.finish]
        return _results(trees)


def _results(trees: Sequence[Draft]) -> list[Draft]:
    """The trees with a value. Unfinished ones only if none is finished."""
    found = [tree for tree in trees if tree.value is not None]
    return [tree for tree in found if tree.finish] or found
