"""Solution sets on the real line: intervals, unions, finite sets, and inequalities in one variable.

A set is a list of pieces ``(low, low closed, high, high closed)`` whose ends are trees; pieces are sorted and merged by
the ends' numeric values, and two sets are equal if their pieces are, end by end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple

from verikit.answers.analytic import FloatField
from verikit.answers.evaluate import Opaque, Undefined, exact, substitute
from verikit.answers.policy import Match, Policy, all_of, different, equal
from verikit.answers.scalar import compare_scalars
from verikit.answers.tree import INFINITY, SCALARS, Node, TooBig, num, symbols

MINUS_INFINITY = Node("neg", (INFINITY,))
REALS = Node("const", ("R",))
_FLIP = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "=": "="}


class Piece(NamedTuple):
    """An interval or, with equal closed ends, a point."""

    low: Node
    low_closed: bool
    high: Node
    high_closed: bool


Pieces = list[Piece]
_ALL = Piece(MINUS_INFINITY, False, INFINITY, False)


def infinite(node: Node) -> int:
    """1 or -1 for plus or minus infinity, else 0."""
    sign = 1
    while node.op in ("neg", "pct") or (node.op == "add" and len(node.args) == 1):
        sign = -sign if node.op == "neg" else sign
        node = node.args[0]
    return sign if node == INFINITY else 0


def position(node: Node) -> float:
    """Where an end lies on the line; raises `Undefined` or `Opaque` if it depends on a symbol."""
    if infinite(node):
        return infinite(node) * float("inf")
    value = FloatField({}).value(node)
    if isinstance(value, complex):
        raise Undefined("no real number")
    return float(value)


def to_pieces(node: Node) -> Pieces | None:
    """The real set a tree stands for; None if it is not read as one."""
    try:
        return _pieces(node)
    except (Undefined, Opaque, TooBig):
        return None


def _pieces(node: Node) -> Pieces | None:
    if node == REALS:
        return [_ALL]
    if node.op == "interval":
        low, high, low_closed, high_closed = node.args
        return [Piece(low, low_closed and not infinite(low), high, high_closed and not infinite(high))]
    if node.op == "set":
        return [Piece(a, True, a, True) for a in node.args]
    if node.op == "tuple" and len(node.args) == 2:
        return [Piece(node.args[0], False, node.args[1], False)]
    if node.op in ("union", "inter", "diff"):
        left, right = (
            _pieces(a) if a.op not in SCALARS or a == REALS else [Piece(a, True, a, True)] for a in node.args
        )
        if left is None or right is None:
            return None
        combine: dict[str, Callable[[Pieces, Pieces], Pieces]] = {
            "union": lambda a, b: a + b, "inter": _intersection, "diff": lambda a, b: _intersection(a, _complement(b)),
        }  # fmt: skip
        return merge(combine[node.op](left, right))
    if node.op == "rel":
        return _relation(node)
    if node.op == "builder":
        found: Pieces | None = [_ALL]
        for condition in node.args[1]:
            more = _pieces(condition)
            if more is None or found is None:
                return None
            found = _intersection(found, more)
        return found
    if node.op == "list":
        parts = [_pieces(a) for a in node.args]
        if any(a.op not in ("rel", "interval", "union") for a in node.args) or len(_variables(node)) != 1:
            return None
        return merge([piece for part in parts if part is not None for piece in part]) if None not in parts else None
    return None


def _variables(node: Node) -> set[str]:
    names: set[str] = set()
    for arg in node.args:
        if type(arg) is Node and arg.op == "rel":
            names |= symbols(arg)
    return names


def _relation(node: Node) -> Pieces | None:
    """Solve a chain of relations that are linear in its only symbol."""
    operators, operands = node.args[0], node.args[1:]
    names = symbols(node)
    if len(names) != 1:
        return None
    name = names.pop()
    found: Pieces | None = None
    for operator, left, right in zip(operators, operands, operands[1:], strict=False):
        if operator == "in" and left == Node("sym", (name,)):
            part = _pieces(right)
        elif operator in _FLIP:
            part = _linear(operator, left, right, name)
        else:
            part = None
        if part is None:
            return None
        found = part if found is None else _intersection(found, part)
    return found


def _linear(operator: str, left: Node, right: Node, name: str) -> Pieces | None:
    variable = Node("sym", (name,))
    if left == variable and not symbols(right):
        return _ray(operator, right)
    if right == variable and not symbols(left):
        return _ray(_FLIP[operator], left)
    gap = Node("add", (left, Node("neg", (right,))))
    at = [exact(substitute(gap, name, num(k))) for k in (0, 1, 2, 5)]
    if any(value is None for value in at):
        return None
    start, one, two, five = (value or 0 for value in at)
    slope = one - start
    if not slope or two - start != 2 * slope or five - start != 5 * slope:
        return None
    return _ray(operator if slope > 0 else _FLIP[operator], num(Fraction(-start) / slope))


def _ray(operator: str, end: Node) -> Pieces:
    if operator == "=":
        return [Piece(end, True, end, True)]
    if operator == "!=":
        return [Piece(MINUS_INFINITY, False, end, False), Piece(end, False, INFINITY, False)]
    closed = operator.endswith("=") and not infinite(end)
    if operator[0] == "<":
        return [Piece(MINUS_INFINITY, False, end, closed)]
    return [Piece(end, closed, INFINITY, False)]


def _empty(piece: Piece) -> bool:
    low, high = position(piece.low), position(piece.high)
    return low > high or (low == high and not (piece.low_closed and piece.high_closed))


def merge(pieces: Pieces) -> Pieces:
    """Sorted, without empty pieces, overlapping and touching ones joined."""
    if len(pieces) > 200:
        raise TooBig("a union of too many pieces")
    keyed = sorted((p for p in pieces if not _empty(p)), key=lambda p: (position(p.low), not p.low_closed))
    merged: Pieces = []
    for piece in keyed:
        if merged:
            last = merged[-1]
            end, start = position(last.high), position(piece.low)
            if start < end or (start == end and (last.high_closed or piece.low_closed)):
                if (position(piece.high), piece.high_closed) > (end, last.high_closed):
                    merged[-1] = last._replace(high=piece.high, high_closed=piece.high_closed)
                continue
        merged.append(piece)
    return merged


def _intersection(a: Pieces, b: Pieces) -> Pieces:
    found: Pieces = []
    for p in a:
        for q in b:
            low = max((p.low, p.low_closed), (q.low, q.low_closed), key=lambda end: (position(end[0]), not end[1]))
            high = min((p.high, p.high_closed), (q.high, q.high_closed), key=lambda end: (position(end[0]), end[1]))
            piece = Piece(low[0], low[1], high[0], high[1])
            if not _empty(piece):
                found.append(piece)
    return found


def _complement(pieces: Pieces) -> Pieces:
    found: Pieces = []
    low, closed = MINUS_INFINITY, False
    for piece in merge(pieces):
        found.append(Piece(low, closed, piece.low, not piece.low_closed and not infinite(piece.low)))
        low, closed = piece.high, not piece.high_closed and not infinite(piece.high)
    found.append(Piece(low, closed, INFINITY, False))
    return [p for p in found if not _empty(p)]


def compare_pieces(gold: Pieces, answer: Pieces, policy: Policy) -> Match:
    """Compare two sets piece by piece.

    Raises:
        TooBig: over a budget.
    """
    with suppress(Undefined, Opaque):  # Ends with symbols keep their written order.
        gold, answer = merge(gold), merge(answer)
    if len(gold) != len(answer):
        return different("another set")
    matches = []
    for g, a in zip(gold, answer, strict=True):
        if (g.low_closed, g.high_closed) != (a.low_closed, a.high_closed):
            return different("an end open on one side and closed on the other")
        matches += [_ends(g.low, a.low, policy), _ends(g.high, a.high, policy)]
    return all_of(matches, "same set")


def _ends(gold: Node, answer: Node, policy: Policy) -> Match:
    if infinite(gold) or infinite(answer):
        return equal("infinity") if infinite(gold) == infinite(answer) else different("another end")
    return compare_scalars(gold, answer, policy)
