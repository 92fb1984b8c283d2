"""Strings of the shell in `$'…'`, with their escapes."""

from __future__ import annotations

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}


def escaped(text: str, at: int) -> tuple[str, int]:
    """The value of a string that begins at a position, and the position after its closing quote."""
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
