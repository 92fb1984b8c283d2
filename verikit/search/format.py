"""R1-Searcher's tags and the block that contains evidence (paper, section 2; repository 631167c).

Evidence is untrusted text. Its tags, special tokens of chat templates and line breaks are escaped, so no passage can
end its block, add an entry, end the turn or speak for the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from verikit.retrieval.types import Passage

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
_CONTROL = r"<[|｜][^<>|｜\n]{1,64}[|｜]>|</?s>"
"""Patterns of special tokens in chat templates. Those of a known tokenizer are also escaped literally."""


class Escape:
    """Escapes tags and special tokens in untrusted text: their first character becomes an entity."""

    def __init__(self, special_tokens: Iterable[str] = ()) -> None:
        names = sorted({*TAGS, *filter(None, special_tokens)}, key=len, reverse=True)
        self._pattern = re.compile("|".join([*map(re.escape, names), _CONTROL]))

    def __call__(self, text: str) -> str:
        """Return the text on one line, escaped."""
        return self._pattern.sub(lambda found: _entity(found[0][0]) + found[0][1:], " ".join(text.splitlines()))


def evidence(passages: Sequence[Passage], escape: Escape | None = None) -> str:
    """Return the text after a closed query: blank line, the block with `(1)title text` lines, blank line.

    Without passages, the block contains the word None.
    """
    escape = escape or ESCAPE
    lines = [f"({number}){escape(passage.content).strip()}" for number, passage in enumerate(passages, 1)]
    return f"\n\n{BEGIN_DOCUMENTS}\n" + ("\n".join(lines) or "None") + f"\n{END_DOCUMENTS}\n\n"


def query_of(text: str) -> str:
    """Return the query between the last opening tag before the first closing one, or "" if there is none.

    Quotes are dropped.
    """
    _, tag, query = text.partition(END_QUERY)[0].rpartition(BEGIN_QUERY)
    return query.replace('"', "").strip() if tag else ""


def answer_of(text: str) -> str | None:
    """Return the text inside the only pair of answer tags, or None if they are missing, repeated or out of order."""
    if text.count(BEGIN_ANSWER) != 1 or text.count(END_ANSWER) != 1:
        return None
    start, end = text.index(BEGIN_ANSWER) + len(BEGIN_ANSWER), text.index(END_ANSWER)
    return text[start:end].strip() if start <= end else None


def _entity(char: str) -> str:
    return "&lt;" if char == "<" else f"&#{ord(char)};"


ESCAPE = Escape()
"""For engines that work on text, whose special tokens are unknown."""
