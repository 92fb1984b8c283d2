"""Strings and brackets of a shell: where they end, and their value."""

from __future__ import annotations

import re

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
_JUMPS = r"\\.|`(?:\\.|[^`\\])*`|\$[({]|"
_QUOTES = r"\$'(?:\\.|[^'\\])*'|'[^']*'|" + _JUMPS
_MARKS = {")": _QUOTES + '[()"]', "}": _QUOTES + '["}]', '"': _JUMPS + '"', '"}': _JUMPS + '["}]'}
"""What opens, closes or hides brackets, by the character that closes the text around; `"}`: in double quotes."""
_FINDS = {end: re.compile(marks, re.DOTALL) for end, marks in _MARKS.items()}
_BACKQUOTED = re.compile(r"(?:[^`\\]|\\.)*", re.DOTALL)
_IN_END = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.?)", re.DOTALL)


def bracketed(text: str, at: int) -> tuple[str, int, bool]:
    """The text up to the bracket that closes, the position after it, and whether there is one.

    Quotes in the text hide brackets.
    """
    ends, here = [")"], at
    while ends:
        found = _FINDS[ends[-1]].search(text, here)
        if found is None:
            return text[at:], len(text), False
        sign, here = found[0], found.end()
        if sign == ends[-1][-1]:
            ends.pop()
        elif sign == "${":
            ends.append('"}' if ends[-1][0] == '"' else "}")
        elif sign in ("(", "$(", '"'):
            ends.append('"' if sign == '"' else ")")
    return text[at : here - 1], here, True


def backquoted(text: str, at: int) -> tuple[str, int, bool]:
    """The command between backquotes without its escapes, the position after it, and whether it is closed."""
    found = _BACKQUOTED.match(text, at)
    end = found.end() if found else at
    return re.sub(r"\\([$`\\])", r"\1", text[at:end]), end + 1, end < len(text)


def ansi(text: str, at: int) -> tuple[str, int]:
    """The string in `$'…'`, from its first character on, and the position after it."""
    found: list[str] = []
    while at < len(text) and text[at] != "'":
        if text[at] != "\\":
            found.append(text[at])
            at += 1
            continue
        sign = text[at + 1 : at + 2]
        at += 2
        digits = {"x": 2, "u": 4, "U": 8}.get(sign, 3 if sign.isdecimal() else 0)
        if not digits:
            found.append(_ESCAPES.get(sign, sign))
            continue
        begin = at if sign in "xuU" else at - 1
        end = begin
        allowed = "0123456789abcdefABCDEF" if sign in "xuU" else "01234567"
        while end < min(begin + digits, len(text)) and text[end] in allowed:
            end += 1
        at = end
        number = int(text[begin:end] or "0", 16 if sign in "xuU" else 8)
        found.append(chr(number) if number < 0x110000 else "")
    return "".join(found), at + 1


def document_end(written: str) -> tuple[str, bool]:
    """The line that ends a here-document, from the word after `<<`, and whether the word is quoted.

    The shell removes quotes from the word and expands nothing in it.
    """
    written = written.replace("\\\n", "")
    parts: list[str] = []
    at = 0
    while at < len(written):
        if written.startswith("$'", at):
            value, at = ansi(written, at + 2)
            parts.append(value)
            continue
        at += written.startswith('$"', at)
        found = _IN_END.match(written, at)
        if found is None:
            parts.append(written[at])
            at += 1
            continue
        inner = re.sub(r'\\([$`"\\])', r"\1", found[2] or "")
        parts.append((found[1] or "") + inner + (found[3] or ""))
        at = found.end()
    return "".join(parts), any(mark in written for mark in "'\"\\")
