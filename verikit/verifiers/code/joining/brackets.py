"""Matching braces of a source text in C-like languages. One pass, since the text may be a candidate's."""

from __future__ import annotations

import re
from collections.abc import Iterator

_OPAQUE = re.compile(r"//|/\*|R\"[^()\\\s\"]{0,16}\(|\br#{0,16}\"|\"{3}|\"|'|`")
"""What begins a comment or a literal."""
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"?')
_LINES = re.compile(r'"(?:[^"\\]|\\[\s\S])*"?')
"""A string literal that may span several lines (Rust)."""
_CHARACTER = re.compile(r"'(?:[^'\\\n]|\\[^\n]{1,10}?)'")
_BRACE = re.compile(r"[{}]")
_NOT_BREAKS = re.compile(r"[^\n]")


def blanked(language: str, text: str) -> str:
    """The text with its comments and literals replaced by spaces; each line break and position stays."""
    parts: list[str] = []
    at = done = 0
    while found := _OPAQUE.search(text, at):
        end = _end(language, text, found)
        if end > found.end() or found[0] != "'":
            parts += [text[done : found.start()], _NOT_BREAKS.sub(" ", text[found.start() : end])]
            done = end
        at = max(end, found.end())
    return "".join([*parts, text[done:]])


def _end(language: str, text: str, found: re.Match[str]) -> int:
    """The end of a comment or literal: the end of the text if it is never closed."""
    mark, start = found[0], found.start()
    if mark == "//":
        return _after(text, "\n", start)
    if mark == "/*":
        return _after(text, "*/", found.end())
    if mark == "`":
        return _after(text, "`", found.end()) if language == "go" else found.end()
    if mark == "'":
        # A lone one is a lifetime, or is between digits.
        literal = None if text[max(0, start - 1) : start].isdigit() else _CHARACTER.match(text, start)
        return literal.end() if literal else found.end()
    if mark[0] == "R" and language in ("c", "cpp"):
        return _after(text, f'){mark[2:-1]}"', found.end())
    if mark[0] == "r" and language == "rust":
        return _after(text, '"' + "#" * (len(mark) - 2), found.end())
    if mark == '"""' and language == "java":
        return _after(text, mark, found.end())
    quoted = (_LINES if language == "rust" else _STRING).match(text, text.index('"', start))
    return quoted.end() if quoted else found.end()


def _after(text: str, mark: str, at: int) -> int:
    end = text.find(mark, at)
    return len(text) if end < 0 else end + len(mark)


def depth(blank: str) -> int:
    """How many braces of a blanked text are open at its end; below zero if it closes more than it opens."""
    return blank.count("{") - blank.count("}")


def closing(blank: str, start: int = 0, level: int = 0) -> int:
    """The position of the brace that closes `level` more braces than open after `start`; -1 if there isn't one."""
    for at, opened in _levels(blank, start):
        if opened < -level:
            return at
    return -1


def match(blank: str, opening: int) -> int:
    """The position of the brace that closes the one at `opening`; -1 if it is not closed."""
    return closing(blank, opening + 1)


def tops(blank: str, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    """The matches of a pattern outside all braces."""
    both = re.compile(rf"[{{}}]|(?P<top>{pattern.pattern})", pattern.flags)
    found, opened, at = list[re.Match[str]](), 0, 0
    while mark := both.search(blank, at):
        at = mark.end()
        if mark["top"] is None:
            opened += 1 if mark[0] == "{" else -1
        else:
            at = mark.start() + 1
            again = pattern.match(blank, mark.start()) if opened == 0 else None
            found += [again] if again else []
    return found


def _levels(blank: str, start: int) -> Iterator[tuple[int, int]]:
    opened = 0
    for brace in _BRACE.finditer(blank, start):
        opened += 1 if brace[0] == "{" else -1
        yield brace.start(), opened
