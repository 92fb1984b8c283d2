"""Calls in Java or JavaScript syntax: `[f(a=3, b=new int[]{1, 2}), g(c={x: 1})]`.

An argument is a name, `=` and an expression. The expression stays source code, except that a lone string literal
becomes its content. Linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from verikit.calls.expressions import ATOM, NotSource, breaks, literal_text, nested, well_formed

_HEAD = re.compile(r"\s*([^\W\d][\w$]{0,199}(?:\s{0,9}\.\s{0,9}[^\W\d][\w$]{0,199}){0,19})\s*\(")
_NAMED = r"\s*([^\W\d][\w$]{0,199})\s*=(?![=>])\s*"
_KEY = re.compile(_NAMED)
_PLAIN = re.compile(
    rf"""{_NAMED}(?:"([^"\\\n]*)"|'([^'\\\n]*)'|(-?[0-9]{{1,15}}(?:\.[0-9]{{1,15}})?[lLfFdDn]?"""
    rf"""|[A-Za-z_]\w{{0,99}}(?:\.[A-Za-z_]\w{{0,99}}){{0,9}})|((?=[\[{{]){nested(nested(nested(ATOM)))}))"""
    rf"""\s*(?=\)|,{_NAMED[:-3].replace("(", "(?:", 1)})""",
    re.ASCII,
)
"""An argument up to the next one or the end of the call: a string without escapes, a number, a name, or a literal array
or object of these."""
_COLLECTION = 5
"""The group of an array or object."""
_EMPTY = re.compile(r"\s*,?\s*\)")
_AFTER = re.compile(r"\s*;?\s*(?:,?\s*(\Z)|,)")


class SourceCall(NamedTuple):
    """A call as written in the source."""

    name: str
    arguments: dict[str, str]
    problem: str
    """Why its arguments can't be read. Empty if they can."""


def read(text: str) -> list[SourceCall] | None:
    """The calls of a comment-free text of comma-separated calls, or None if it is anything else."""
    found: list[SourceCall] = []
    position = 0
    while True:
        head = _HEAD.match(text, position)
        if head is None:
            return None
        try:
            arguments, problem, position = _arguments(text, head.end())
        except NotSource:
            return None
        after = _AFTER.match(text, position)
        if after is None:
            return None
        found.append(SourceCall("".join(head[1].split()), arguments, problem))
        if after[1] is not None:
            return found
        position = after.end()


def _arguments(text: str, position: int) -> tuple[dict[str, str], str, int]:
    """The arguments up to the closing bracket, why they can't be read, and the position after them.

    Raises:
        NotSource: The call does not end.
    """
    found: dict[str, str] = {}
    problem = ""
    if empty := _EMPTY.match(text, position):
        return found, "", empty.end()
    while True:
        if plain := _PLAIN.match(text, position):
            name, value, position = plain[1], _plain_text(plain), plain.end()
            fits = True
        else:
            key = _KEY.match(text, position)
            name = key[1] if key else ""
            value, fits, position = _expression(text, key.end() if key else position)
        if not problem:
            problem = _problem(name, fits, found)
        found[name] = value
        position += 1
        if text[position - 1] == ")":
            return {} if problem else found, problem, position


def _plain_text(found: re.Match[str]) -> str:
    """The content of a string, or the source of another argument."""
    text = found[found.lastindex or 0]
    return " ".join(text.split()) if found.lastindex == _COLLECTION else text


def _problem(name: str, fits: bool, before: Mapping[str, str]) -> str:
    if not name:
        return "an argument without a name"
    if name in before:
        return f"{name} twice"
    return "" if fits else f"{name} is not an expression"


def _expression(text: str, start: int) -> tuple[str, bool, int]:
    """The string or source of an argument, whether it can be an expression, and the position of the mark that ends it.

    Raises:
        NotSource: The call does not end.
    """
    outline, copied = "", start
    for mark, begin, end in breaks(text, start):
        if len(mark) == 2:
            outline += text[copied:begin] + mark
            copied = end
        elif mark == ")" or (mark == "," and _KEY.match(text, end)):  # any other comma is part of an expression
            outline += text[copied:begin]
            expression = text[start:begin].strip()
            if mark == ")":
                expression, outline = expression.removesuffix(","), outline.rstrip().removesuffix(",")
            literal = literal_text(expression.rstrip())
            if literal is not None:
                return literal, True, begin
            return " ".join(expression.split()), well_formed(outline.strip()), begin
    raise NotSource("a call that does not end")
