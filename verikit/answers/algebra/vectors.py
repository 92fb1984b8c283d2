"""Vectors written with unit vectors, 3i + 4j, as their components."""

from __future__ import annotations

from typing import Any

from verikit.answers.algebra.identity import identical
from verikit.answers.parser.tree import ONE, SCALARS, ZERO, Node

_MARKS = frozenset(("hat:", "vec:", "bar:", "overline:", "widehat:"))
_AXES = {Node("const", ("i",)): 0, Node("sym", ("i",)): 0, Node("sym", ("j",)): 1, Node("sym", ("k",)): 2}


def components(node: Node, size: int) -> Node | None:
    """The tuple of a scalar's coefficients at i, j and k. None if it is not such a sum, or contains only i."""
    if node.op not in SCALARS or size not in (2, 3):
        return None
    seen: set[int] = set()
    _replaced(node, {}, seen)
    if not seen & {1, 2} or max(seen) >= size:
        return None
    parts = [_replaced(node, {axis: ONE}, seen) for axis in range(size)]
    marks = {axis: Node("sym", (f"axis {axis}",)) for axis in range(size)}
    total = Node("add", tuple(Node("mul", (part, marks[axis])) for axis, part in enumerate(parts)))
    return Node("tuple", tuple(parts)) if identical(total, _replaced(node, marks, seen))[0] else None


def _replaced(node: Node, values: dict[int, Node], seen: set[int]) -> Node:
    """The tree with its unit vectors replaced by the given values, or by zero."""
    inner = node.args[1] if node.op == "fn" and node.args[0] in _MARKS else node
    axis = _AXES.get(inner) if inner.op in ("sym", "const") else None
    if axis is not None:
        seen.add(axis)
        return values.get(axis, ZERO)
    if node.op == "num":
        return node
    args: tuple[Any, ...] = tuple(_replaced(arg, values, seen) if type(arg) is Node else arg for arg in node.args)
    return Node(node.op, args)
