"""Calls in the syntax of Java and JavaScript: `[f(a=3, b=new int[]{1, 2}), g(c={x: 1})]`.

An argument is a name, `=` and an expression. The expression is not parsed here: it ends where brackets, strings and
comments say that it does, and stays source text; a lone string literal is its text. One pass, linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

_TEXT_BLOCK = r'"""(?:[^"\\]|\\.|"(?!""))*"""' + r"|'''(?:[^'\\]|\\.|'(?!''))*'''"
_STRING = r'"(?:[^"\\]|\\.)*"' + r"|'(?:[^'\\]|\\.)*'" + r"|`(?:[^`\\]|\\.)*`"
_COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*"
_PATTERN = r"(?<=[=(,:\[!&|?{};])\s{0,20}/(?![/*])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,200}\]){1,200}/"
_TYPE = r"\bnew\s{1,20}[\w.$]{1,200}\s{0,20}<[^<>()]{0,200}(?:<[^<>()]{0,200}>[^<>()]{0,200}){0,9}>"
_TOKEN = re.compile(
    f"(?P<text>{_TEXT_BLOCK}|{_STRING})|(?P<skipped>{_COMMENT}|{_PATTERN}|{_TYPE})"
    r"|(?P<open>[\"'`]|/\*)|(?P<mark>[()\[\]{},])",
    re.DOTALL,
)
"""A string, a part to skip (a comment, a regular expression, a type with its parameters), an end that is missing, or a
bracket or comma."""
_LITERAL = re.compile(rf"(?:{_TEXT_BLOCK}|{_STRING})\Z", re.DOTALL)
_HEAD = re.compile(r"\s*([^\W\d][\w$]{0,199}(?:\s{0,9}\.\s{0,9}[^\W\d][\w$]{0,199}){0,19})\s*\(")
_KEY = re.compile(r"\s*([^\W\d][\w$]{0,199})\s*=(?![=>])\s*")
_AFTER = re.compile(r"\s*;?\s*(?:,?\s*(\Z)|,)")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_HEX = "[0-9a-fA-F]"
_ESCAPE = re.compile(
    rf"\\(?:u\{{({_HEX}{{1,6}})\}}|x({_HEX}{{2}})|u({_HEX}{{4}})|U({_HEX}{{8}})|(.))", re.DOTALL
)
_ESCAPED = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "a": "\a",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "/": "/", "$": "$", "\n": "",
}  # fmt: skip


class NotSource(Exception):
    """Text whose brackets, strings or comments do not close."""


class SourceCall(NamedTuple):
    """A call as it is written."""

    name: str
    arguments: dict[str, str]
    problem: str
    """Why its arguments can't be read, or ""."""


def read(text: str) -> list[SourceCall] | None:
    """The calls of a text that is nothing but calls with commas between them; None if it is not that."""
    found: list[SourceCall] = []
    position = 0
    while True:
        head = _HEAD.match(text, position)
        if head is None:
            return None
        try:
            bounds = _bounds(text, head.end())
        except NotSource:
            return None
        after = _AFTER.match(text, bounds[-1])
        if after is None:
            return None
        arguments, problem = _arguments(text, bounds)
        found.append(SourceCall("".join(head[1].split()), arguments, problem))
        if after[1] is not None:
            return found
        position = after.end()


def _bounds(text: str, position: int) -> list[int]:
    """Where each argument begins, and where the call ends.

    Raises:
        NotSource: it does not end.
    """
    bounds = [position]
    for char, start in breaks(text, position):
        if char == ")":
            return [*bounds, start + 1]
        if char == "," and _KEY.match(text, start + 1):  # any other comma is part of an expression
            bounds.append(start + 1)
    raise NotSource("a call that does not end")


def _arguments(text: str, bounds: list[int]) -> tuple[dict[str, str], str]:
    found: dict[str, str] = {}
    for start, following in pairwise(bounds):
        piece = text[start : following - 1]
        key = _KEY.match(piece)
        if key is None and len(bounds) == 2 and not piece.strip():
            break
        if key is None:
            return {}, "an argument without a name"
        if key[1] in found:
            return {}, f"{key[1]} twice"
        found[key[1]] = value(piece[key.end() :].rstrip().removesuffix(","))
    return found, ""


def value(expression: str) -> str:
    """The text of a lone string literal, else the expression's source on one line."""
    expression = expression.strip()
    literal = literal_text(expression)
    return " ".join(expression.split()) if literal is None else literal


def literal_text(expression: str) -> str | None:
    """The text that a lone string literal writes; None for anything else, templates with `${` among it."""
    if expression[:1] not in ("'", '"', "`") or not _LITERAL.match(expression):
        return None
    if expression[0] == "`" and "${" in expression:
        return None
    width = 3 if expression[:3] in ('"""', "'''") and len(expression) > 5 else 1
    inner = expression[width:-width]
    return _ESCAPE.sub(_unescaped, inner) if "\\" in inner else inner


def _unescaped(found: re.Match[str]) -> str:
    digits = found[1] or found[2] or found[3] or found[4]
    if digits:
        code = int(digits, 16)
        return chr(code) if code < 0x110000 else found[0]
    return _ESCAPED.get(found[5], found[0])


def pieces(text: str) -> list[str] | None:
    """The expressions of a list with commas; None if brackets or strings do not close. A comma may follow the last."""
    bounds = [-1]
    try:
        for char, start in breaks(text, 0):
            if char != ",":
                return None
            bounds.append(start)
    except NotSource:
        return None
    bounds.append(len(text))
    found = [text[start + 1 : end].strip() for start, end in pairwise(bounds)]
    if not found[-1]:
        found.pop()
    return found


def breaks(text: str, position: int) -> Iterator[tuple[str, int]]:
    """Commas outside brackets and strings, up to the end of the text or a bracket that was opened before.

    Raises:
        NotSource: a bracket, a string or a comment does not end.
    """
    closing: list[str] = []
    for token in _TOKEN.finditer(text, position):
        if token.lastgroup == "open":
            raise NotSource("a string or a comment that does not end")
        char = token[0]
        if token.lastgroup != "mark":
            continue
        if char in _CLOSING:
            closing.append(_CLOSING[char])
        elif not closing:
            yield char, token.start()
            if char != ",":
                return
        elif char != "," and closing.pop() != char:
            raise NotSource("brackets that do not match")
    if closing:
        raise NotSource("a bracket that does not end")
