"""A trace of one search. The author of each piece is recorded when it is appended, never reconstructed afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from verikit.engines.types import EnginePrompt
from verikit.errors import VerikitError
from verikit.retrieval.types import Passage
from verikit.search.format import BEGIN_DOCUMENTS, END_DOCUMENTS, END_QUERY, answer_of

Author = Literal["prompt", "model", "evidence"]


@dataclass(frozen=True, slots=True)
class TracePiece:
    """A part of a trace by one author. Ids and log-probabilities are empty if the engine works on text."""

    author: Author
    text: str
    ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    """Log-probabilities of the sampled tokens, parallel to `ids`.

    Only for the model's pieces, and only if requested.
    """


@dataclass(frozen=True, slots=True)
class Search:
    """An answered query."""

    query: str
    passages: tuple[Passage, ...]


@dataclass(slots=True)
class SearchTrace:
    """A prompt and the pieces after it."""

    prompt: EnginePrompt
    pieces: list[TracePiece] = field(default_factory=list)
    searches: list[Search] = field(default_factory=list)
    """Answered searches, including those that found nothing."""
    finished: bool = False
    """Whether the model ended it. False if a limit cut it off."""
    error: VerikitError | None = None
    """The error that left it unscored: a failure of the retriever or the engine, never of the model."""

    @property
    def text(self) -> str:
        """All text after the prompt, including evidence."""
        return "".join(piece.text for piece in self.pieces if piece.author != "prompt")

    @property
    def own(self) -> str:
        """The text that the model wrote."""
        return "".join(piece.text for piece in self.pieces if piece.author == "model")

    @property
    def answer(self) -> str | None:
        """The text inside the only pair of answer tags that the model wrote, or None."""
        return answer_of(self.own)

    @property
    def ids(self) -> list[int]:
        """Token ids of prompt, model and evidence, as sampled or appended."""
        return [token for piece in self.pieces for token in piece.ids]

    @property
    def mask(self) -> list[bool]:
        """Parallel to `ids`: True if the model sampled the token. In training, the other tokens get no gradient."""
        return [piece.author == "model" for piece in self.pieces for _ in piece.ids]

    @property
    def logprobs(self) -> list[float]:
        """Parallel to `ids`: log-probabilities of the sampled tokens, 0 for the others."""
        return [value for piece in self.pieces for value in piece.logprobs or (0.0,) * len(piece.ids)]

    @property
    def evidence_spans(self) -> list[tuple[int, int]]:
        """Return the positions of evidence in `text`, as [start, end) in characters, for rows of files."""
        spans, at = [], 0
        for piece in self.pieces:
            if piece.author == "evidence":
                spans.append((at, at + len(piece.text)))
            at += len(piece.text) if piece.author != "prompt" else 0
        return spans


def read_trace(text: str, spans: Sequence[tuple[int, int]] | None = None, *, finished: bool = True) -> SearchTrace:
    """Build a trace from a stored text. Its searches and its prompt are unknown.

    Args:
        text: The text after the prompt.
        spans: Positions of evidence, in order (`SearchTrace.evidence_spans`). None: each block of documents directly
            after a closed query is treated as evidence.
        finished: Whether the model ended it.
    """
    trace, at = SearchTrace("", finished=finished), 0
    for start, end in _blocks(text) if spans is None else spans:
        trace.pieces += [TracePiece("model", text[at:start]), TracePiece("evidence", text[start:end])]
        at = end
    trace.pieces.append(TracePiece("model", text[at:]))
    return trace


def _blocks(text: str) -> list[tuple[int, int]]:
    opening, closing = f"{END_QUERY}\n\n{BEGIN_DOCUMENTS}\n", f"\n{END_DOCUMENTS}\n\n"
    found, at = [], 0
    while (start := text.find(opening, at)) >= 0 and (end := text.find(closing, start)) >= 0:
        at = end + len(closing)
        found.append((start + len(END_QUERY), at))
    return found


def search_metrics(traces: Sequence[SearchTrace]) -> dict[str, float]:
    """Return searches per trace, the fractions of traces that searched, finished and failed, and the evidence fraction.

    The evidence fraction is of tokens if there are ids, otherwise of characters. Prompts are excluded.
    """
    sizes = _sizes(list(chain.from_iterable(trace.pieces for trace in traces)))
    count = len(traces) or 1
    return {
        "searches": sum(len(trace.searches) for trace in traces) / count,
        "searched": sum(bool(trace.searches) for trace in traces) / count,
        "evidence_share": sizes["evidence"] / ((sizes["model"] + sizes["evidence"]) or 1),
        "finished": sum(trace.finished for trace in traces) / count,
        "failed": sum(trace.error is not None for trace in traces) / count,
    }


def _sizes(pieces: Sequence[TracePiece]) -> dict[str, int]:
    """Return the size of each author's pieces, in tokens if any piece has them, otherwise in characters."""
    sizes = {"model": 0, "evidence": 0, "prompt": 0}
    by_ids = any(piece.ids for piece in pieces)
    for piece in pieces:
        sizes[piece.author] += len(piece.ids) if by_ids else len(piece.text)
    return sizes
