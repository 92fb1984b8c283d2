"""Solution sets on the real line: intervals, unions, finite sets, and inequalities in one variable.

A set is a list of pieces ``(low, low closed, high, high closed)`` whose ends are trees. Pieces are sorted and merged by
the numeric values of their ends. Two sets are equal if their pieces are, end by end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import reduce
from math import ceil, floor
from typing import NamedTuple

from verikit.answers.algebra.analytic import FloatField
from verikit.answers.algebra.equality import Equality, EqualityResult, all_of, different, equal
from verikit.answers.algebra.evaluate import OpaqueTerm, Undefined, exact, substitute
from verikit.answers.algebra.scalar import compare_scalars
from verikit.answers.parser.tree import INFINITY, SCALARS, Node, TooBig, num, symbols

MINUS_INFINITY = Node("neg", (INFINITY,))
REALS = Node("const", ("R",))
_FLIP = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "=": "="}


class LinePiece(NamedTuple):
    """An interval or, with equal closed ends, a point."""

    low: Node
    low_closed: bool
    high: Node
    high_closed: bool


Pieces = list[LinePiece]
WHOLE_LINE = [LinePiece(MINUS_INFINITY, False, INFINITY, False)]
_CONDITIONS = frozenset(("rel", "inter", "union", "interval"))
_WHOLE = {Node("const", ("Z",)): float("-inf"), Node("const", ("N",)): 1.0}
MAX_LISTED = 500
"""Maximum number of integers of a set that are listed."""


def infinite(node: Node) -> int:
    """1 or -1 for plus or minus infinity, otherwise 0."""
    sign = 1
    while node.op in ("neg", "pct") or (node.op == "add" and len(node.args) == 1):
        sign = -sign if node.op == "neg" else sign
        node = node.args[0]
    return sign if node == INFINITY else 0


def position(node: Node) -> float:
    """The position of an end on the line. Raises `Undefined` or `OpaqueTerm` if it depends on a symbol."""
    if infinite(node):
        return infinite(node) * float("inf")
    value = FloatField({}).value(node)
    if isinstance(value, complex):
        raise Undefined("no real number")
    return float(value)


def to_pieces(node: Node) -> Pieces | None:
    """The real set that a tree represents, or None if it can't be read as one."""
    try:
        return _pieces(node)
    except (Undefined, OpaqueTerm, TooBig):
        return None


def _combined(node: Node) -> Pieces | None:
    """A union, intersection or difference of sets, one of which may be a bare number."""
    left, right = (
        _pieces(a) if a.op not in SCALARS or a == REALS else [LinePiece(a, True, a, True)] for a in node.args
    )
    if left is None or right is None:
        return None
    combine: dict[str, Callable[[Pieces, Pieces], Pieces]] = {
        "union": lambda a, b: a + b, "inter": intersection, "diff": lambda a, b: intersection(a, complement(b)),
    }  # fmt: skip
    return merge(combine[node.op](left, right))


def _pieces(node: Node) -> Pieces | None:
    if node == REALS:
        return WHOLE_LINE
    if node.op == "interval":
        low, high, low_closed, high_closed = node.args
        return [LinePiece(low, low_closed and not infinite(low), high, high_closed and not infinite(high))]
    if node.op == "set":
        return [LinePiece(a, True, a, True) for a in node.args]
    if node.op == "tuple" and len(node.args) == 2:
        return [LinePiece(node.args[0], False, node.args[1], False)]
    if node.op in ("union", "inter", "diff"):
        return _combined(node)
    if node.op == "rel":
        return _relation(node)
    if node.op == "builder":
        return _builder(node.args[0], node.args[1])
    return _listed(node) if node.op == "list" else None


def _builder(variable: Node, conditions: tuple[Node, ...]) -> Pieces | None:
    """The set that meets every condition. Finite sets of integers are listed, larger ones give None."""
    found: Pieces = WHOLE_LINE
    lowest: float | None = None
    for condition in conditions:
        if condition.op == "rel" and condition.args[0] == ("in",) and condition.args[2] in _WHOLE:
            if condition.args[1] != variable:
                return None
            lowest = max(_WHOLE[condition.args[2]], float("-inf") if lowest is None else lowest)
            continue
        more = _pieces(condition)
        if more is None:
            return None
        found = intersection(found, more)
    return found if lowest is None else _whole(found, lowest)


def _whole(pieces: Pieces, lowest: float) -> Pieces | None:
    """The integers of a set that are >= `lowest`, or None if there are too many to list."""
    points: Pieces = []
    for piece in merge(pieces):
        low, high = max(position(piece.low), lowest), position(piece.high)
        if high - low > MAX_LISTED or len(points) > MAX_LISTED:
            return None
        start, stop = ceil(low), floor(high)
        start += start == low and start == position(piece.low) and not piece.low_closed
        stop -= stop == high and not piece.high_closed
        points += [LinePiece(num(k), True, num(k), True) for k in range(start, stop + 1)]
    return points


def _listed(node: Node) -> Pieces | None:
    """Comma-separated conditions: all of them or any of them, whichever is a proper restriction.

    None if both readings are (x > 2, x > 5), or if they are not about one variable.
    """
    conditions = _excluded(node.args) or node.args
    relations = [a for a in conditions if a.op in ("rel", "inter")]
    if len(set().union(*map(symbols, relations))) != 1 or any(a.op not in _CONDITIONS for a in conditions):
        return None
    parts = [part for a in conditions if (part := _pieces(a)) is not None]
    if len(parts) < len(conditions):
        return None
    some = merge([piece for part in parts for piece in part])
    if len(relations) < len(conditions):
        return some
    every = reduce(intersection, parts)
    if every and some != WHOLE_LINE and every != some:
        return None
    return every if some == WHOLE_LINE else some


def _excluded(args: tuple[Node, ...]) -> tuple[Node, ...]:
    """`x != 1, 2` as x != 1 and x != 2. Empty for other lists."""
    first, rest = args[0], args[1:]
    if first.op != "rel" or first.args[0] != ("!=",) or any(a.op not in SCALARS or symbols(a) for a in rest):
        return ()
    return tuple(Node("rel", (("!=",), first.args[1], value)) for value in (first.args[2], *rest))


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
        found = part if found is None else intersection(found, part)
    return found


def _linear(operator: str, left: Node, right: Node, name: str) -> Pieces | None:
    variable = Node("sym", (name,))
    if left == variable and not symbols(right):
        return _ray(operator, right)
    if right == variable and not symbols(left):
        return _ray(_FLIP[operator], left)
    if right.op == "fn" and right.args[0] == "abs":
        operator, left, right = _FLIP[operator], right, left
    if left.op == "fn" and left.args[0] == "abs" and not symbols(right) and not infinite(right):
        return _distance(operator, left.args[1], right, name)
    line = _line(Node("add", (left, Node("neg", (right,)))), name)
    if line is None:
        return None
    start, slope = line
    return _ray(operator if slope > 0 else _FLIP[operator], num(Fraction(-start) / slope))


def _line(node: Node, name: str) -> tuple[Fraction, Fraction] | None:
    """Start and slope of a linear function with rational coefficients. None for others and for constants."""
    at = [exact(substitute(node, name, num(k))) for k in (0, 1, 2, 5)]
    values = [Fraction(value) for value in at if value is not None]
    if len(values) < len(at):
        return None
    start, slope = values[0], values[1] - values[0]
    is_linear = values[2:] == [start + 2 * slope, start + 5 * slope]
    return (start, slope) if slope and is_linear else None


def _distance(operator: str, inner: Node, bound: Node, name: str) -> Pieces | None:
    """Solve |inner| < bound and similar: between -bound and bound, or outside of them."""
    if position(bound) < 0:
        return WHOLE_LINE if operator in (">", ">=", "!=") else []
    above, below = _linear(operator, inner, bound, name), _linear(_FLIP[operator], inner, Node("neg", (bound,)), name)
    if above is None or below is None:
        return None
    return merge(above + below) if operator in (">", ">=", "=") else intersection(above, below)


def _ray(operator: str, end: Node) -> Pieces:
    if operator == "=":
        return [LinePiece(end, True, end, True)]
    if operator == "!=":
        return [LinePiece(MINUS_INFINITY, False, end, False), LinePiece(end, False, INFINITY, False)]
    closed = operator.endswith("=") and not infinite(end)
    if operator[0] == "<":
        return [LinePiece(MINUS_INFINITY, False, end, closed)]
    return [LinePiece(end, closed, INFINITY, False)]


def _empty(piece: LinePiece) -> bool:
    low, high = position(piece.low), position(piece.high)
    return low > high or (low == high and not (piece.low_closed and piece.high_closed))


def merge(pieces: Pieces) -> Pieces:
    """Sort the pieces, drop empty ones, and join overlapping and touching ones."""
    if len(pieces) > 200:
        raise TooBig("a union of too many pieces")
    keyed = sorted((p for p in pieces if not _empty(p)), key=lambda p: (position(p.low), not p.low_closed))
    merged: Pieces = []
    for piece in keyed:
        if merged and _touch(merged[-1], piece):
            merged[-1] = _joined(merged[-1], piece)
        else:
            merged.append(piece)
    return merged


def _touch(last: LinePiece, piece: LinePiece) -> bool:
    """Whether no number lies between a piece and one that begins after it."""
    end, start = position(last.high), position(piece.low)
    return start < end or (start == end and (last.high_closed or piece.low_closed))


def _joined(last: LinePiece, piece: LinePiece) -> LinePiece:
    """A piece up to the end of one that touches it, if that ends later."""
    if (position(piece.high), piece.high_closed) <= (position(last.high), last.high_closed):
        return last
    return last._replace(high=piece.high, high_closed=piece.high_closed)


def intersection(a: Pieces, b: Pieces) -> Pieces:
    """The intersection of two sets."""
    found: Pieces = []
    for p in a:
        for q in b:
            low = max((p.low, p.low_closed), (q.low, q.low_closed), key=lambda end: (position(end[0]), not end[1]))
            high = min((p.high, p.high_closed), (q.high, q.high_closed), key=lambda end: (position(end[0]), end[1]))
            piece = LinePiece(low[0], low[1], high[0], high[1])
            if not _empty(piece):
                found.append(piece)
    return found


def complement(pieces: Pieces) -> Pieces:
    """The complement of a set on the line."""
    found: Pieces = []
    low, closed = MINUS_INFINITY, False
    for piece in merge(pieces):
        found.append(LinePiece(low, closed, piece.low, not piece.low_closed and not infinite(piece.low)))
        low, closed = piece.high, not piece.high_closed and not infinite(piece.high)
    found.append(LinePiece(low, closed, INFINITY, False))
    return [p for p in found if not _empty(p)]


def compare_pieces(gold: Pieces, answer: Pieces, equality: Equality) -> EqualityResult:
    """Compare two sets piece by piece.

    Raises:
        TooBig: Over a budget.
    """
    with suppress(Undefined, OpaqueTerm):  # Ends with symbols keep their written order.
        if not any(_empty(piece) for piece in (*gold, *answer)):  # (5, -2) is a pair, not the empty set.
            gold, answer = merge(gold), merge(answer)
    if len(gold) != len(answer):
        return different("another set")
    matches = []
    for g, a in zip(gold, answer, strict=True):
        if (g.low_closed, g.high_closed) != (a.low_closed, a.high_closed):
            return different("an end open on one side and closed on the other")
        matches += [_ends(g.low, a.low, equality), _ends(g.high, a.high, equality)]
    return all_of(matches, "same set")


def _ends(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    if infinite(gold) or infinite(answer):
        return equal("infinity") if infinite(gold) == infinite(answer) else different("another end")
    return compare_scalars(gold, answer, equality)
