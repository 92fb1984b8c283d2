"""Brackets: groups, tuples, intervals, sets and absolute values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from verikit.answers.parser.tree import Node, NotMath

if TYPE_CHECKING:
    from verikit.answers.parser.grammar import Parser


def _round(parser: Parser) -> Node:
    """Parentheses and square brackets: a group, a tuple, an interval. Mixed ones may be half open."""
    opener = parser.take().text
    outer = parser.bars, parser.reversed
    parser.bars, parser.reversed = 0, opener == "]"
    items, closer = parser.items(")", "]", "[") if parser.reversed else parser.items(")", "]")
    parser.bars, parser.reversed = outer
    if not items:
        raise NotMath("empty brackets")
    if len(items) == 1 and opener + closer in ("()", "[]"):
        return items[0]
    if len(items) == 2 and opener + closer != "()":
        return Node("interval", (items[0], items[1], opener == "[", closer == "]"))
    if opener + closer in ("()", "[]"):
        return Node("tuple", tuple(items))
    raise NotMath("brackets that don't match")


def _absolute(parser: Parser) -> Node:
    parser.take()
    parser.bars += 1
    inner = parser.expression()
    parser.bars -= 1
    parser.expect("|")
    return Node("fn", ("abs", inner))


def _set(parser: Parser) -> Node:
    parser.take()
    if parser.accept("\\}"):
        return Node("set", ())
    start = parser.index
    bars, parser.bars = parser.bars, 1
    first = parser.relation()
    parser.bars = bars
    if parser.accept("|", ":"):
        conditions, _ = parser.items("\\}")
        variable = first.args[1] if first.op == "rel" else first
        if first.op == "rel":
            conditions.insert(0, first)
        return Node("builder", (variable, tuple(conditions)))
    if first.op == "ratio" and len(first.args) == 2:
        raise NotMath("a set builder that is not understood")
    parser.seek(start)
    items, _ = parser.items("\\}")
    return Node("set", tuple(items))


def _braces(parser: Parser) -> Node:
    """Plain braces: a LaTeX group, or a set whose backslashes were omitted."""
    parser.take()
    items, _ = parser.items("}", "over")
    if parser.tokens[parser.index - 1].text == "over":
        if len(items) != 1:
            raise NotMath("a fraction of lists")
        bottom, _ = parser.items("}")
        return Node("div", (items[0], bottom[0])) if len(bottom) == 1 else Node("set", ())
    if len(items) == 1 and items[0].op != "pm":
        return items[0]
    if not items:
        raise NotMath("empty braces")
    return Node("set", tuple(items))


OPENERS: dict[str, Callable[[Parser], Node]] = {
    "(": _round, "[": _round, "]": _round, "{": _braces, "\\{": _set, "|": _absolute,
}  # fmt: skip
"""The readers of brackets by opening sign."""
