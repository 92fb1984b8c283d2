"""Parts of text in quotation marks, in quoted lines, or after a mark that is never closed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_CLOSERS = {
    '"': '"', "“": "”", "”": "”", "„": "“”", "‟": "”", "＂": "＂", "〝": "〞〟", "❝": "❞", "«": "»", "»": "«»",
    "''": ("''",), "``": ("''", '"'), "「": "」", "『": "』", "‹": "›", "›": "‹›", "‘": "’", "‚": "‘’", "❛": "❜",
    "'": "'",
}  # fmt: skip
"""Opening marks with what closes each."""
_DOUBLE = ('"', "“", "”", "„", "‟", "＂", "〝", "〞", "〟", "❝", "❞", "«", "»", "''", "``")
"""Further marks that close a double mark, in addition to its own closing mark."""
_OPENING = re.compile(r"^[ \t]{0,3}>[ \t]?(?=\S)|''|``|[\"“”„‟＂〝❝«»「『‹›‘‚❛']", re.MULTILINE)
_APOSTROPHES = ("'", "‘")
_CLOSING_TOO = ('"', "”", "＂", "«", "»", "‹", "›", "''")
"""Opening marks that may be the end of something else, or inches."""
MAX_CHARS = 2_000
"""Characters of one quotation."""
_ELISION = re.compile(r"(?:tis|twas|twere|em|til|cause|bout|round|n|cos|cuz|ere|s)\b|\d", re.IGNORECASE)
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n|\Z")


class Quoted(NamedTuple):
    """A quoted piece of text."""

    said: str
    end: int
    """The position after its closing mark."""


def quoted(text: str) -> Iterator[Quoted]:
    """The quoted pieces of the text, including empty ones, in order; a piece within another is part of that.

    A quotation ends at its closing mark, in its line or its paragraph, or otherwise with the paragraph.
    """
    at = 0
    while opening := _OPENING.search(text, at):
        found = _line(text, opening) if ">" in opening[0] else _marked(text, opening)
        at = opening.end() if found is None else found.end
        if found is not None:
            yield found


def _line(text: str, opening: re.Match[str]) -> Quoted:
    end = text.find("\n", opening.end())
    end = len(text) if end < 0 else end
    return Quoted(text[opening.end() : end], end)


def _marked(text: str, opening: re.Match[str]) -> Quoted | None:
    """The text after an opening mark; None if it does not open a quotation."""
    mark, start = opening[0], opening.end()
    single = mark in _APOSTROPHES
    glued = opening.start() > 0 and text[opening.start() - 1].isalnum()
    if single and (glued or not text[start : start + 1].isalnum() or _ELISION.match(text, start)):
        return None  # an apostrophe
    paragraph = _PARAGRAPH_END.search(text, start, start + MAX_CHARS)
    end = paragraph.start() if paragraph else len(text)
    line_end = text.find("\n", start, end)
    line_end = end if line_end < 0 else line_end
    anywhere, ending = _closing(mark)
    own, other = anywhere if not single else ending
    for pattern, stop in ((own, line_end), (other, line_end), (ending[0], end), (ending[1], end)):
        if pattern is not None and (close := pattern.search(text, start, stop)):
            return Quoted(text[start : close.start()], close.end())
    return None if glued and mark in _CLOSING_TOO else Quoted(text[start:end], end)


_Patterns = tuple[re.Pattern[str], re.Pattern[str] | None]


@lru_cache(maxsize=64)
def _closing(mark: str) -> tuple[_Patterns, _Patterns]:
    """Patterns that close an opening mark, with its own closers and with others: at any place, and at word ends."""
    own, other = (
        "|".join(map(re.escape, marks)) for marks in (tuple(_CLOSERS[mark]), _DOUBLE if mark in _DOUBLE else ())
    )
    anywhere = re.compile(own), re.compile(other) if other else None
    ending = (
        re.compile(rf"(?<=\S)(?:{own})(?!\w)"),
        re.compile(rf"(?<=\S)(?:{other})(?!\w)") if other else None,
    )
    return anywhere, ending
