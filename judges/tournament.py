"""Best-of-N by comparing candidates: knock-out (n - 1 comparisons) and round robin (all pairs).

The scores a selector is given are not looked at: they may be the truth. Each round goes to the judge in one call. A
comparison without a verdict leaves the group without a ranking, which is said, not guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

from verikit.base import Verifier
from verikit.errors import JudgeError
from verikit.judges.pairwise import ByScore, Comparer, Pair
from verikit.select import Selector
from verikit.spec import load
from verikit.types import Group, Score


@dataclass(frozen=True)
class _Tournament(Selector):
    judge: str | Verifier
    """What compares two candidates: a spec, or a verifier; one that is no pairwise judge compares by its scores."""
    _comparer: Comparer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_comparer", comparer(self.judge))

    def _play(self, group: Group, games: Sequence[tuple[int, int]]) -> list[float]:
        """Preferences for the first of each pair.

        Raises:
            JudgeError: a comparison has none.
        """
        pairs = [Pair(group.completions[i], group.completions[j], group.prompt) for i, j in games]
        played = self._comparer.compare(pairs) if pairs else []
        if lost := next((comparison for comparison in played if comparison.preference is None), None):
            raise JudgeError(f"no ranking: {lost.reason}")
        return [comparison.preference or 0.0 for comparison in played]


@dataclass(frozen=True)
class Knockout(_Tournament):
    """Pairs in each round, the winner goes on, the one listed first at a tie; ranked by rounds survived."""

    name = "knockout"

    def select(self, group: Group, scores: Sequence[Score]) -> list[int]:
        """Rank by rounds survived, then by position."""
        alive = list(range(len(group.completions)))
        out: list[int] = []
        while len(alive) > 1:
            games = list(zip(alive[::2], alive[1::2], strict=False))
            lost = {j if won >= 0.5 else i for (i, j), won in zip(games, self._play(group, games), strict=True)}
            out = [i for i in alive if i in lost] + out
            alive = [i for i in alive if i not in lost]
        return alive + out


@dataclass(frozen=True)
class RoundRobin(_Tournament):
    """Every pair once; ranked by the sum of preferences (a tie is half a point), ties by position."""

    name = "round_robin"

    def select(self, group: Group, scores: Sequence[Score]) -> list[int]:
        """Rank by points."""
        games = list(combinations(range(len(group.completions)), 2))
        points = [0.0] * len(group.completions)
        for (i, j), won in zip(games, self._play(group, games), strict=True):
            points[i] += won
            points[j] += 1 - won
        return sorted(range(len(points)), key=lambda i: -points[i])


def comparer(judge: str | Verifier) -> Comparer:
    """What compares pairs by a judge: the judge itself, or its scores where it looks at one answer at a time."""
    loaded = load(judge)
    return loaded if isinstance(loaded, Comparer) else ByScore(loaded)
