"""Best-of-N by comparing candidates: select the pairs to compare.

The scores that a selector receives are ignored: they may be the truth. Each round goes to the judge in one call, and
each pair plays at most once. The judge controls how often a pair is judged and when it is decided (`asks` and
`confidence` of `pairwise`). If a comparison has no verdict, the group has no ranking: it raises instead of guessing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import ceil, log2
from statistics import fmean

from verikit.base import Verifier
from verikit.errors import ConfigError, JudgeError
from verikit.judges.pairwise import TIE, ByScore, Comparer, Pair
from verikit.judges.rates.bradley_terry import Game, Rating, bradley_terry
from verikit.names.spec import load
from verikit.select import Selector
from verikit.types import Group, Score


class _Table:
    """The games of a group and their results."""

    def __init__(self, comparer: Comparer, group: Group) -> None:
        self.size, self.results = len(group.completions), dict[tuple[int, int], float]()
        self._comparer, self._group, self._samples = comparer, group, group.samples()

    def play(self, games: Iterable[tuple[int, int]]) -> None:
        """Play the games that have not been played, in one call of the judge.

        Raises:
            JudgeError: A comparison has no verdict.
        """
        fresh = dict.fromkeys((min(game), max(game)) for game in games if game[0] != game[1])
        pairs = {game: self._pair(*game) for game in fresh if game not in self.results}
        played = self._comparer.compare(list(pairs.values())) if pairs else []
        for comparison in played:
            if comparison.preference is None:
                raise JudgeError(f"the ranking failed: {comparison.reason}")
        self.results |= {game: found.preference or 0.0 for game, found in zip(pairs, played, strict=True)}

    def _pair(self, i: int, j: int) -> Pair:
        first, second = self._samples[i], self._samples[j]
        messages = (first.messages, second.messages)
        workspaces = (first.workspace, second.workspace)
        return Pair(first.completion, second.completion, self._group.prompt, messages=messages, workspaces=workspaces)

    def preference(self, i: int, j: int) -> float:
        """The preference for i over j, after their game."""
        return self.results[i, j] if i < j else 1 - self.results[j, i]

    def met(self, i: int, j: int) -> bool:
        """Whether they have played."""
        return (min(i, j), max(i, j)) in self.results

    def rivals(self, i: int) -> list[int]:
        """All opponents that a candidate has played."""
        return [j for j in range(self.size) if j != i and self.met(i, j)]

    def points(self, i: int) -> float:
        """The sum of its preferences: a tie is half a point."""
        return sum(self.preference(i, j) for j in self.rivals(i))

    def mean(self, i: int) -> float:
        """Its points per game. 0.5 if it has not played."""
        met = self.rivals(i)
        return self.points(i) / len(met) if met else TIE


@dataclass(frozen=True)
class _Tournament(Selector):
    judge: str | Verifier
    """The judge of two candidates: a spec or a verifier.

    A verifier that is not a pairwise judge compares by its scores.
    """
    _comparer: Comparer = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_comparer", comparer(self.judge))

    def select(self, group: Group, scores: Sequence[Score]) -> list[int]:
        """Play the tournament and return its ranking."""
        return self._rank(_Table(self._comparer, group))

    def ratings(self, group: Group) -> list[Rating]:
        """Play the tournament and rate each candidate by its games, with an interval, best first.

        These are Bradley-Terry ratings. A candidate's name is its index. They are rough if candidates played few games.

        Raises:
            JudgeError: A comparison has no verdict.
            UsageError: There are fewer than two candidates.
        """
        table = _Table(self._comparer, group)
        self._rank(table)
        return bradley_terry([Game(f"{i}", f"{j}", won) for (i, j), won in table.results.items()])

    @abstractmethod
    def _rank(self, table: _Table) -> list[int]:
        """Play, and rank all candidates, best first."""


@dataclass(frozen=True)
class Knockout(_Tournament):
    """Pairs in each round. The winner advances, or the first-listed at a tie. Ranked by rounds survived."""

    name = "knockout"

    def _rank(self, table: _Table) -> list[int]:
        alive = list(range(table.size))
        out: list[int] = []
        while len(alive) > 1:
            games = list(zip(alive[::2], alive[1::2], strict=False))
            table.play(games)
            lost = {j if table.preference(i, j) >= TIE else i for i, j in games}
            out = [i for i in alive if i in lost] + out
            alive = [i for i in alive if i not in lost]
        return alive + out


@dataclass(frozen=True)
class Halving(_Tournament):
    """Successive halving (Karnin et al. 2013): each round all play their neighbours, and the better half advances.

    Ranked by rounds survived, then by points per game. The last three play each other. It takes about 2 n games for n
    candidates.
    """

    name = "halving"

    def _rank(self, table: _Table) -> list[int]:
        alive = list(range(table.size))
        out: list[int] = []
        while len(alive) > 1:
            table.play(zip(alive, [*alive[1:], alive[0]], strict=True))
            ranked = sorted(alive, key=lambda i: (-table.mean(i), i))
            if len(alive) <= 3:
                return ranked + out
            half = (len(alive) + 1) // 2
            alive, out = sorted(ranked[:half]), ranked[half:] + out
        return alive + out


@dataclass(frozen=True)
class Swiss(_Tournament):
    """Swiss rounds: each candidate plays an equally good one that it has not met. Ranked by points per game.

    Ties are ranked by the results of the opponents met, then by position.
    """

    name = "swiss"
    rounds: int = 0
    """Number of rounds. 0: as many as in a knockout, the base-2 logarithm of the number of candidates."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or self.rounds < 0:
            raise ConfigError(f"rounds must be an integer >= 0, got {self.rounds!r}")

    def _rank(self, table: _Table) -> list[int]:
        idle: set[int] = set()
        for _ in range(self.rounds or ceil(log2(max(table.size, 1)))):
            table.play(self._paired(table, idle))
        met = [[table.mean(j) for j in table.rivals(i)] for i in range(table.size)]
        strength = [fmean(means) if means else 0.0 for means in met]
        return sorted(range(table.size), key=lambda i: (-table.mean(i), -strength[i], i))

    @staticmethod
    def _paired(table: _Table, idle: set[int]) -> list[tuple[int, int]]:
        """The next round: neighbours that have not met. With an odd number, the last one sits out, and none twice."""
        free = sorted(range(table.size), key=lambda i: (-table.mean(i), i))
        if len(free) % 2:
            out = next((i for i in reversed(free) if i not in idle), free[-1])
            idle.add(out)
            free.remove(out)
        games = []
        while free:
            first = free.pop(0)
            rival = next((i for i in free if not table.met(first, i)), None)
            if rival is not None:
                free.remove(rival)
                games.append((first, rival))
        return games


@dataclass(frozen=True)
class Pivot(_Tournament):
    """All play their two neighbours, then the best `pivots` of them. Ranked by points per game (Kwok et al. 2026).

    Candidates tied for first place then play each other. It takes about n + k (n - k) + k (k - 1) / 2 games for n
    candidates and k pivots.
    """

    name = "pivot"
    pivots: int = 2
    """Number of pivots."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.pivots, bool) or not isinstance(self.pivots, int) or self.pivots < 1:
            raise ConfigError(f"pivots must be an integer >= 1, got {self.pivots!r}")

    def _rank(self, table: _Table) -> list[int]:
        everyone = list(range(table.size))
        table.play(zip(everyone, [*everyone[1:], *everyone[:1]], strict=True))
        best = sorted(everyone, key=lambda i: (-table.mean(i), i))[: self.pivots]
        table.play((i, pivot) for pivot in best for i in everyone)
        while games := self._tied(table):
            table.play(games)
        return sorted(everyone, key=lambda i: (-table.mean(i), i))

    @staticmethod
    def _tied(table: _Table) -> list[tuple[int, int]]:
        """Games between candidates that are tied for first place and have not met."""
        means = [table.mean(i) for i in range(table.size)]
        first = [i for i, mean in enumerate(means) if mean == max(means)]
        return [game for game in zip(first[::2], first[1::2], strict=False) if not table.met(*game)]


@dataclass(frozen=True)
class RoundRobin(_Tournament):
    """Every pair plays once. Ranked by the sum of preferences (a tie is half a point), ties by position."""

    name = "round_robin"

    def _rank(self, table: _Table) -> list[int]:
        table.play(combinations(range(table.size), 2))
        return sorted(range(table.size), key=lambda i: (-table.points(i), i))


def comparer(judge: str | Verifier) -> Comparer:
    """The comparer of a judge: the judge itself, or its scores if it rates one answer at a time."""
    loaded = load(judge)
    return loaded if isinstance(loaded, Comparer) else ByScore(loaded)
