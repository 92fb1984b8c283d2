"""Types that all retrievers share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Passage:
    """One entry of a corpus."""

    title: str
    text: str
    id: str = ""
    """Its name in the corpus. Empty if a server only returns texts."""

    @property
    def content(self) -> str:
        """Title and text as one string, which is indexed and shown as evidence."""
        return f"{self.title} {self.text}" if self.title else self.text


class Retriever(Protocol):
    """Finds passages."""

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Return at most k passages for each query, best first. An empty list means that nothing matches.

        Raises:
            RetrievalError: The retrieval failed. A failure is never an empty result.
        """
        ...
