"""Calls in the syntax of Java and JavaScript: `[f(a=3, b=new int[]{1, 2}), g(c={x: 1})]`.

An argument is a name, `=` and an expression, which stays source text; a lone string literal is its text. Linear.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from verikit.calls.expressions import NotSource, breaks, literal_text, well_formed

_HEAD = re.compile(r"\s*([^\W\d][\w$]{0,199}(?:\s{0,9}\.\s{0,9}[^\W\d][\w$]{0,199}){0,19})\s*\(")
_KEY = re.compile(r"\s*([^\W\d][\w$]{0,199})\s*=(?![=>])\s*")
_AFTER = re.compile(r"\s*;?\s*(?:,?\s*(\Z)|,)")


class SourceCall(NamedTuple):
    """A call as it is written."""

    name: str
    arguments: dict[str, str]
    problem: str
    """Why its arguments can't be read, or ""."""


def read(text: str) -> list[SourceCall] | None:
    """The calls of a text without comments that is nothing but calls, with commas between; None if it is not that."""
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
        piece = text[start : following - 1].rstrip()
        if following == bounds[-1]:
            piece = piece.removesuffix(",")
        key = _KEY.match(piece)
        if key is None and len(bounds) == 2 and not piece.strip():
            break
        if key is None:
            return {}, "an argument without a name"
        if key[1] in found:
            return {}, f"{key[1]} twice"
        expression = piece[key.end() :].strip()
        literal = literal_text(expression)
        if literal is None and not well_formed(expression):
            return {}, f"{key[1]} is no expression"
        found[key[1]] = " ".join(expression.split()) if literal is None else literal
    return found, ""
