"""The tree of an answer, and the limits that bound every later step.

A `Node` is an operator and its operands. Leaves have plain values. Numbers are exact (`int` or `Fraction`), and a
decimal literal also stores its number of decimal places. This module evaluates nothing. The fields in
`verikit.answers.algebra` do. Text over a limit raises `TooBig`, text that is not mathematics `NotMath`. Both are caught
within this package.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

MAX_CHARS = 10_000
"""Maximum number of characters of an extracted answer."""
MAX_TOKENS = 2_500
MAX_DEPTH = 40
"""Maximum nesting of groups. Each level takes the parser about eight frames."""
MAX_DIGITS = 1_500
"""Maximum number of digits of one literal."""
MAX_BITS = 24_000
"""Maximum number of bits of an exact number. A larger power is not evaluated."""

Number = int | Fraction


class TooBig(Exception):
    """A limit was reached: too long, too deep, too many digits, too much work."""


class NotMath(Exception):
    """The text is not a mathematical answer, as far as this parser understands."""


class Node(NamedTuple):
    """One node: operator and operands.

    Leaves: ``num(value, places)``, ``sym(name)``, ``const("pi"|"e"|"i"|"inf"|"R"…)``. Scalars: ``add mul div neg pow``,
    ``fact pct deg prime pm``, ``fn(name, *args)``, ``apply(symbol, *args)``, ``based(value, digits, base)``,
    ``det(matrix)``, ``sum prod(variable, low, high, body)``, ``int(variable, low, high, body, bounded)``,
    ``lim(variable, point, side, body)``, ``deriv(variable, order, body)``. Quantities: ``qty(value, unit)``.
    Collections: ``list tuple set ratio``, ``matrix(*rows)``, ``interval(low, high, low closed, high closed)``,
    ``union inter diff``, ``builder(variable, conditions)``. Relations: ``rel(operators, *operands)``.
    """

    op: str
    args: tuple[Any, ...]


def num(value: Number, places: int | None = None) -> Node:
    """A number leaf. `places` is set for a decimal literal."""
    if type(value) is Fraction and value.denominator == 1:
        value = value.numerator
    return Node("num", (value, places))


ONE = num(1)
ZERO = num(0)
HALF = num(Fraction(1, 2))
INFINITY = Node("const", ("inf",))

SCALARS = frozenset(
    "num sym const add mul div neg pow fact pct deg prime pm fn apply sum prod int lim deriv qty based det".split()
)
COLLECTIONS = frozenset("list tuple set matrix ratio interval union inter diff builder".split())


def children(node: Node) -> list[Node]:
    """The operands that are nodes, with matrix rows flattened."""
    found: list[Node] = []
    for arg in node.args:
        if type(arg) is Node:
            found.append(arg)
        elif type(arg) is tuple:
            found.extend(a for a in arg if type(a) is Node)
    return found


def symbols(node: Node) -> set[str]:
    """Names of the free and bound variables in a tree."""
    found: set[str] = set()
    stack: list[Any] = [node]
    while stack:
        top = stack.pop()
        if type(top) is Node:
            if top[0] == "sym":
                found.add(top[1][0])
            elif top[0] != "num":
                stack.extend(top[1])
        elif type(top) is tuple:
            stack.extend(top)
    return found


def operators(node: Node) -> set[str]:
    """The operators that occur in a tree."""
    found: set[str] = set()
    stack: list[Any] = [node]
    while stack:
        top = stack.pop()
        if type(top) is Node:
            found.add(top[0])
            if top[0] != "num":
                stack.extend(top[1])
        elif type(top) is tuple:
            stack.extend(top)
    return found


def show(node: Node | None) -> str:
    """The tree as one line of prefix notation, for `explain`, cut at 400 characters."""
    if node is None:
        return ""
    text = _show(node)
    return text if len(text) <= 400 else text[:399] + "…"


def _show(arg: Any) -> str:
    if type(arg) is Node:
        if arg.op == "num":
            return str(arg.args[0]) if arg.args[1] is None else f"{arg.args[0]}:{arg.args[1]}d"
        if arg.op in ("sym", "const"):
            return str(arg.args[0])
        return f"{arg.op}({', '.join(_show(a) for a in arg.args)})"
    if type(arg) is tuple:
        return f"[{', '.join(_show(a) for a in arg)}]"
    return str(arg)


def to_json(arg: Any) -> Any:
    """Plain lists and strings for the helper process. The inverse of `from_json`."""
    if type(arg) is Node:
        if arg.op == "num":
            return ["num", str(arg.args[0]), arg.args[1]]
        return [arg.op, *(to_json(a) for a in arg.args)]
    if type(arg) is tuple:
        return {"items": [to_json(a) for a in arg]}
    return arg


def from_json(data: Any) -> Any:
    """Rebuild a tree from the output of `to_json`."""
    if isinstance(data, list):
        if data[0] == "num":
            return num(Fraction(data[1]), data[2])
        return Node(data[0], tuple(from_json(a) for a in data[1:]))
    if isinstance(data, dict):
        return tuple(from_json(a) for a in data["items"])
    return data
