"""Combined rankings: several indexes over the same passages, or one queried twice."""

from __future__ import annotations

from collections.abc import Sequence

from verikit.errors import ConfigError
from verikit.retrieval.index import Hit, Index
from verikit.retrieval.types import Passage

CONSTANT = 60
"""Cormack, Clarke and Büttcher 2009."""
DEPTH = 100
"""Hits of each ranking that are fused, at least."""


def fuse(rankings: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """Return the k best by reciprocal rank fusion: the sum over rankings of 1 / (60 + rank)."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, 1):
            scores[hit.row] = scores.get(hit.row, 0.0) + 1 / (CONSTANT + rank)
    return [Hit(row, score) for row, score in sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:k]]


def interleave(rankings: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """Return the first k of: each ranking's best, then each one's second, and so on. Repeated rows are skipped."""
    rows: dict[int, None] = {}
    for rank in range(max(map(len, rankings), default=0)):
        rows |= dict.fromkeys(ranking[rank].row for ranking in rankings if rank < len(ranking))
        if len(rows) >= k:
            break
    return [Hit(row, 1 / rank) for rank, row in enumerate(list(rows)[:k], 1)]


class Hybrid(Index):
    """Several indexes, fused."""

    def __init__(self, *indexes: Index) -> None:
        """Combine indexes over the same passages.

        Raises:
            ConfigError: They differ in the number of passages, or there are no indexes.
        """
        if len({len(index.passages) for index in indexes}) != 1:
            raise ConfigError("a hybrid needs indexes over the same passages")
        self._indexes = indexes
        self.passages: Sequence[Passage] = indexes[0].passages

    def rank(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Fuse each query's rankings."""
        if not queries:
            return []
        each = [index.rank(queries, max(k, DEPTH)) for index in self._indexes]
        return [fuse(rankings, k) for rankings in zip(*each, strict=True)]


class TwoStep(Index):
    """An index queried with the query, then with the query and each of its top passages: two hops without a model."""

    def __init__(self, index: Index, feedback: int = 3) -> None:
        self._index, self._feedback = index, feedback
        self.passages: Sequence[Passage] = index.passages

    def rank(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Interleave both steps' rankings: rank fusion would bury passages that only one of the second steps finds."""
        first = self._index.rank(queries, max(k, self._feedback))
        longer = [
            f"{query} {self.passages[hit.row].content}"
            for query, hits in zip(queries, first, strict=True)
            for hit in hits[: self._feedback]
        ]
        second = iter(self._index.rank(longer, k))
        return [interleave([hits, *(next(second) for _ in hits[: self._feedback])], k) for hits in first]
