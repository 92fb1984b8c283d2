"""The interface of an index, which ranks the rows of its passages for a query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from verikit.retrieval.types import Passage


class Hit(NamedTuple):
    """A passage that was found."""

    row: int
    score: float
    """Higher is better; comparable within one ranking only."""


class Index(ABC):
    """Ranks passages. Safe to call from several threads."""

    passages: Sequence[Passage]

    @abstractmethod
    def rank(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Return at most k hits for each query, best first; equal scores by row."""

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Return the passages themselves."""
        return [[self.passages[hit.row] for hit in hits] for hits in self.rank(queries, k)]
