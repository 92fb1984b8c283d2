"""Tags, the evidence block, and what one search rollout said: who wrote which piece is recorded, never searched for.

Paper section 2 and repository 631167c. Evidence is other people's text: tags in it are escaped and line breaks taken
out, so that no passage can end its block, add an entry or speak for the policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

BEGIN_QUERY, END_QUERY = "<|begin_of_query|>", "<|end_of_query|>"
BEGIN_DOCUMENTS, END_DOCUMENTS = "<|begin_of_documents|>", "<|end_of_documents|>"
BEGIN_THINK, END_THINK = "<think>", "</think>"
BEGIN_ANSWER, END_ANSWER = "<answer>", "</answer>"
TAGS = (
    BEGIN_QUERY,
    END_QUERY,
    BEGIN_DOCUMENTS,
    END_DOCUMENTS,
    BEGIN_THINK,
    END_THINK,
    BEGIN_ANSWER,
    END_ANSWER,
)


@dataclass(frozen=True, slots=True)
class Passage:
    """One entry of the corpus."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a transcript by one author."""

    text: str
    own: bool
    """Whether the policy wrote it; else it is evidence."""


@dataclass(slots=True)
class Said:
    """One rollout as text, after its prompt."""

    pieces: list[Piece] = field(default_factory=list)
    retrievals: int = 0
    """Searches that were answered, "None" included."""
    evidence_found: int = 0
    """Passages those brought."""
    finished: bool = False
    error: str = ""
    """What left it unscored: the retriever's failure."""

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def own(self) -> str:
        """What the policy wrote."""
        return "".join(piece.text for piece in self.pieces if piece.own)


def evidence(passages: Sequence[Passage]) -> str:
    """Return what follows a closed query: blank line, the block with `(1)title text` lines, blank line."""
    lines = [f"({number}){_escaped(one.title)} {_escaped(one.text)}" for number, one in enumerate(passages, 1)]
    return f"\n\n{BEGIN_DOCUMENTS}\n" + ("\n".join(lines) or "None") + f"\n{END_DOCUMENTS}\n\n"


def open_query(text: str) -> str:
    """Return the query that a text ends in (up to its closing tag, if there is one), quotes stripped; "" for none."""
    head, _, rest = text.partition(END_QUERY)
    before, tag, query = head.rpartition(BEGIN_QUERY)
    return "" if not tag or rest.strip() or before.count(BEGIN_QUERY) else query.replace('"', "").strip()


def answer_of(text: str) -> str | None:
    """Return what stands in the one pair of answer tags; None where they are missing, repeated or out of order."""
    if text.count(BEGIN_ANSWER) != 1 or text.count(END_ANSWER) != 1:
        return None
    start, end = text.index(BEGIN_ANSWER) + len(BEGIN_ANSWER), text.index(END_ANSWER)
    return text[start:end].strip() if start <= end else None


def _escaped(text: str) -> str:
    text = " ".join(text.split())
    for tag in TAGS:
        text = text.replace(tag, "&lt;" + tag[1:])
    return text
