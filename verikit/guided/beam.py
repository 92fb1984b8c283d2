"""`beam(width, expand)`: continues the best few partial solutions, each in several ways.

Snell et al., "Scaling LLM test-time compute optimally" (arXiv 2408.03314, section 5.1): sample width * expand first
steps, keep the `width` best by the reward model, sample `expand` next steps of each, and so on. Here a finished
solution stays among the best until others overtake it, and returns if those fall below it. With an aggregation that can
only fall (min, product), no finished solution loses to one that turns out worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from verikit.guided.draft import Draft, Growth, distinct, ranked
from verikit.guided.strategy import SearchStrategy, TokenBudget, Walk


@dataclass(frozen=True)
class Beam(SearchStrategy):
    """Beam search over steps."""

    width: int = 4
    """Drafts that remain after each step."""
    expand: int = 4
    """Next steps sampled per draft. The first step is sampled width * expand times."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check(width=self.width, expand=self.expand)

    def search(self, budget: TokenBudget) -> Walk:
        """Grow the best drafts until the best ones are finished."""
        live, ended = [Draft()], list[Draft]()
        count = self.width * self.expand
        while live and budget.left:
            grown = yield [Growth(draft, count) for draft in live]
            count = self.expand
            # Finished drafts come first: of equally good ones they are preferred.
            found = sorted(distinct(chain.from_iterable(grown)), key=lambda draft: not draft.finish)
            pool = distinct([*ended, *found])
            ended = [draft for draft in pool if draft.finish]
            live = [draft for draft in ranked(pool)[: self.width] if not draft.finish]
        return ranked(ended)[: self.width] or ranked(live)
