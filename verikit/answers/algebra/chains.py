"""Chains that end in a rounded value: x = 17/6 ≈ 2.83 gives both, if one rounds to the other."""

from __future__ import annotations

from typing import TypeVar

from verikit.answers.algebra.analytic import FloatField
from verikit.answers.algebra.evaluate import OpaqueTerm, Undefined
from verikit.answers.algebra.scalar import peel
from verikit.answers.parser.tree import Node, TooBig, symbols

D = TypeVar("D")
ABOUT = "≈"
_GROUPS = ("list", "set", "tuple")
_NEAR = 0.005
"""Relative gap of a rounded value with few digits, 312 ≈ 313.5."""


def readings(node: Node) -> list[Node]:
    """The exact and the rounded reading of a chain, or of a list of chains. Anything else is its only reading."""
    if node.op in _GROUPS and any(arg.op == "rel" and ABOUT in arg.args[0] for arg in node.args):
        found = [readings(arg) for arg in node.args]
        return [Node(node.op, tuple(item[index] for item in found)) for index in (0, -1)]
    if node.op != "rel" or ABOUT not in node.args[0]:
        return [node]
    operators, operands = node.args[0], node.args[1:]
    first, rounded = operators.index(ABOUT), operands[-1]
    if not {"=", ABOUT}.issuperset(operators) or not _rounds_to(operands[first], rounded):
        return [Node("rel", (tuple("=" if o == ABOUT else o for o in operators), *operands))]
    exact = Node("rel", (operators[:first], *operands[: first + 1])) if first else operands[0]
    named = bool(first) and bool(symbols(operands[0]))
    return [exact, Node("rel", (("=",), operands[0], rounded)) if named else rounded]


def _rounds_to(exact: Node, rounded: Node) -> bool:
    """Whether a constant lies within a unit of a number's last digit, or within `_NEAR` of it."""
    if symbols(exact) or symbols(rounded):
        return False
    number = rounded if rounded.op == "pct" else peel(rounded).value
    try:
        left, right = FloatField({}).value(peel(exact).value), FloatField({}).value(number)
    except (Undefined, OpaqueTerm, TooBig):
        return False
    places = _places(peel(number).value, 15)
    unit = 10.0 ** -(places + 2 * (number.op == "pct"))
    shown = _places(peel(exact).value, None)
    if shown is not None and shown <= places:
        return bool(right % 10 == 0 and abs(left - right) <= _NEAR * abs(left))  # 3456 ≈ 3460, but not 2 ≈ 3
    return bool(abs(left - right) <= max(unit, _NEAR * abs(left)))


def _places(node: Node, other: D) -> int | D:
    """The decimal places that a number shows, or `other` for anything else."""
    inner = node.args[0] if node.op == "neg" else node
    return (inner.args[1] or 0) if inner.op == "num" else other
