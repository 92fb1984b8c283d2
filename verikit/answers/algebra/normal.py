"""The normal form for comparing trees: arithmetic on collections evaluated, plus-minus written as a list."""

from __future__ import annotations

from itertools import product

from verikit.answers.algebra.matrices import fold
from verikit.answers.parser.tree import COLLECTIONS, ZERO, Node, TooBig, operators

MAX_ITEMS = 64
"""Maximum number of values of plus-minus signs, and of list items that are paired in any order."""


def _difference_of_sets(node: Node) -> Node:
    """A - {b} as a difference of sets. Any other sum is unchanged."""
    left, right = node.args[0], node.args[-1]
    if len(node.args) != 2 or right.op != "neg" or right.args[0].op != "set":
        return node
    return Node("diff", (left, right.args[0])) if left.op in COLLECTIONS or left.op == "const" else node


def normal(node: Node) -> Node:
    """The normal form: matrices computed, A - {b} a difference of sets, plus-minus a list of its values."""
    found = operators(node)
    if "matrix" in found or node.op in ("mul", "neg", "div"):
        node = fold(node)
    if node.op == "add":
        node = _difference_of_sets(node)
    if "pm" not in found:
        return node
    if node.op in ("list", "set"):
        parts: list[Node] = []
        for arg in node.args:
            parts.extend(variants(arg))
        return Node(node.op, tuple(parts))
    values = variants(node)
    return values[0] if len(values) == 1 else Node("list", tuple(values))


def variants(node: Node) -> list[Node]:
    """The values of a tree with plus-minus signs: all upper or all lower in a scalar, free in a tuple's entries.

    Raises:
        TooBig: More than `MAX_ITEMS`.
    """
    if "pm" not in operators(node):
        return [node]
    if node.op == "tuple":
        entries = [variants(arg) for arg in node.args]
        size = 1
        for entry in entries:
            size *= len(entry)
        if size > MAX_ITEMS:
            raise TooBig("too many plus-minus signs")
        return [Node("tuple", combination) for combination in product(*entries)]
    return [_signed(node, True), _signed(node, False)]


def _signed(node: Node, plus: bool) -> Node:
    if node.op == "pm":
        left, right = _signed(node.args[0], plus), _signed(node.args[1], plus)
        right = right if plus else Node("neg", (right,))
        return right if left == ZERO else Node("add", (left, right))
    return Node(node.op, tuple(_signed(a, plus) if type(a) is Node else a for a in node.args))
