"""Chains of equalities: the names in front, the value that a chain assigns, and chains that contradict themselves."""

from __future__ import annotations

from itertools import pairwise

from verikit.answers.algebra.equality import Equality, EqualityResult, different
from verikit.answers.algebra.scalar import compare_scalars
from verikit.answers.parser.tree import COLLECTIONS, Node, symbols


def contradiction(node: Node, equality: Equality) -> EqualityResult | None:
    """Reject a chain of equalities between constants that are not equal."""
    if node.op in ("list", "set", "tuple"):
        return next((found for arg in node.args if (found := contradiction(arg, equality)) is not None), None)
    if node.op != "rel" or set(node.args[0]) != {"="}:
        return None
    named = 2 if is_label(node.args[1]) else 1  # e = 1/2 may be an eccentricity.
    constants = [a for a in node.args[named:] if not symbols(a) and a.op not in COLLECTIONS]
    if any(_differ(left, right, equality) for left, right in pairwise(constants)):
        return different("a chain of contradicting equalities")
    return None


def _differ(a: Node, b: Node, equality: Equality) -> bool:
    """Whether two scalars differ, whichever of them is the gold answer."""
    return all(compare_scalars(g, v, equality).outcome == "different" for g, v in ((a, b), (b, a)))


def is_label(node: Node) -> bool:
    """Whether the left side of an equality only names the value on the right: x, f(n), AB, (p, q), A : B."""
    if node.op in ("sym", "apply") or (node.op == "const" and str(node.args[0]) not in ("pi", "inf")):
        return True
    if node.op == "fn":
        return str(node.args[0]).endswith(":")
    if node.op in ("tuple", "ratio", "mul", "div"):
        return len(node.args) <= 8 and all(is_label(a) for a in node.args)
    if node.op == "pow":
        return _is_corner(*node.args)
    return node.op in ("fact", "prime") and is_label(node.args[0])


def _is_corner(base: Node, exponent: Node) -> bool:
    """Whether a power is a capital with a number, which is a name."""
    return base.op == "sym" and exponent.op == "num" and str(base.args[0])[0].isupper()


def assigned(node: Node) -> Node | None:
    """The value that a chain of equalities assigns: its last value, or its first if only that is a value."""
    if node.op != "rel" or set(node.args[0]) != {"="}:
        return None
    operands: tuple[Node, ...] = node.args[1:]
    if is_label(operands[0]) or all(not symbols(a) for a in operands):
        return operands[-1]
    if len(operands) == 2 and is_label(operands[-1]):
        return operands[0]
    return None
