"""Matrix arithmetic on trees: sums, scalar multiples, products, transposes, carried out entry by entry."""

from __future__ import annotations

from verikit.answers.tree import Node, TooBig, contains, num

_MATRIX = frozenset(("matrix",))
_FOLDED = frozenset(("add", "neg", "mul", "div", "pow"))
MAX_ENTRIES = 400


def fold(node: Node) -> Node:
    """The tree with arithmetic on matrices carried out; other trees come back as they are."""
    if not contains(node, _MATRIX):
        return node
    if node.op == "matrix":
        return node
    args = tuple(fold(a) if type(a) is Node else a for a in node.args)
    node = Node(node.op, args)
    if node.op not in _FOLDED or not any(type(a) is Node and a.op == "matrix" for a in args):
        return node
    if node.op == "add" and all(a.op == "matrix" for a in args):
        return _entrywise(args)
    if node.op == "neg":
        return _scaled(num(-1), args[0])
    if node.op == "div" and args[1].op != "matrix":
        return _scaled(Node("div", (num(1), args[1])), args[0])
    if node.op == "mul" and len(args) == 2:
        left, right = args
        if left.op == right.op == "matrix":
            return _product(left, right) or node
        return _scaled(right, left) if left.op == "matrix" else _scaled(left, right)
    if node.op == "pow" and args[1] == Node("sym", ("T",)):
        return Node("matrix", tuple(zip(*args[0].args, strict=True)))
    return node


def _entrywise(matrices: tuple[Node, ...]) -> Node:
    shapes = {tuple(len(row) for row in m.args) for m in matrices}
    if len(shapes) != 1:
        return Node("add", matrices)
    return Node("matrix", tuple(
        tuple(Node("add", entries) for entries in zip(*rows, strict=True))
        for rows in zip(*(m.args for m in matrices), strict=True)
    ))  # fmt: skip


def _scaled(factor: Node, matrix: Node) -> Node:
    return Node("matrix", tuple(tuple(Node("mul", (factor, entry)) for entry in row) for row in matrix.args))


def _product(left: Node, right: Node) -> Node | None:
    columns = list(zip(*right.args, strict=True))
    if len(left.args[0]) != len(right.args):
        return None
    if len(left.args) * len(columns) * len(right.args) > MAX_ENTRIES:
        raise TooBig("a matrix product too large")
    return Node("matrix", tuple(
        tuple(
            Node("add", tuple(Node("mul", pair) for pair in zip(row, column, strict=True))) for column in columns
        ) for row in left.args
    ))  # fmt: skip
