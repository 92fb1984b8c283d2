"""Splits a text outside brackets: at commas, semicolons, line ends, and, or."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TEXT = re.compile(r"\\(?:text|textrm|textbf|textit|mbox)\s{0,9}\{([^{}]{0,120})\}")
_SPACING = re.compile(
    r"\\(?:left|right|displaystyle|bigl|bigr|Bigl|Bigr|big|Big)(?![a-zA-Z])\.?|(?<!\\)\\[,;!:> ]|\\q?quad\b|\$|~"
)
_SYSTEM = re.compile(
    r"(?:\\\{\s{0,9})?\\begin\{(?:cases|array|aligned|align\*?)\}(?:\{[lcr|]{1,8}\})?|\\end\{(?:cases|array|aligned|align\*?)\}"
)
_CUT = re.compile(r"[()\[\]{}]|\\[{}]|[,;\n]|\\\\|\b(?:and|or)\b|\\(?:land|lor|wedge|vee|text)(?![a-zA-Z])")
_WORDS = {"\\land": "and", "\\wedge": "and", "\\lor": "or", "\\vee": "or", "\\\\": ";", "\n": ";"}


class TextPiece(NamedTuple):
    """A part of a text and the separator before it: ',', ';', 'and', 'or', or '' for the first."""

    before: str
    text: str


def bare(text: str) -> str:
    """Remove spacing commands from a text, and move the words of text commands out of them."""
    return _SPACING.sub(" ", _TEXT.sub(r" \1 ", text))


def system(text: str) -> str:
    """The equations of a brace as a list, if no columns are marked."""
    return _SYSTEM.sub(" ", text) if "\\begin" in text and "&" not in text else text


def _outside_brackets(text: str) -> Iterator[re.Match[str]]:
    """The separators outside brackets."""
    depth = 0
    for match in _CUT.finditer(text):
        if match[0][-1] in "([{":
            depth += 1
        elif match[0][-1] in ")]}":
            depth = max(0, depth - 1)
        elif not depth:
            yield match


def pieces(text: str, at: str = ",;") -> list[TextPiece]:
    """The nonempty parts of a `bare` text between the separators outside brackets."""
    found: list[TextPiece] = []
    start, before = 0, ""
    for match in _outside_brackets(text):
        word = _WORDS.get(match[0], match[0])
        is_word = word in ("and", "or")
        if not is_word and word not in at:
            continue
        if part := text[start : match.start()].strip():
            found.append(TextPiece(before, part))
            before = ""
        before = word if is_word or not before else before
        start = match.end()
    if part := text[start:].strip().rstrip("."):
        found.append(TextPiece(before, part))
    return found
