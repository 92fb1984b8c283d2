"""Arithmetic on matrices and tuples, entry by entry: sums, multiples, products, transposes, determinants."""

from __future__ import annotations

from typing import Any

from verikit.answers.parser.tree import COLLECTIONS, ONE, Node, TooBig, num, operators

_FOLDED = frozenset(("add", "neg", "mul", "div", "pow", "det"))
MAX_ENTRIES = 400


_MULTIPLIED = COLLECTIONS | {"rel"}
_MATRIX = frozenset(("matrix",))


def _has_operand(args: tuple[Any, ...], types: frozenset[str]) -> bool:
    return any(type(arg) is Node and arg.op in types for arg in args)


def fold(node: Node) -> Node:
    """The tree with arithmetic on collections evaluated. Other trees are returned unchanged."""
    if node.op in ("mul", "neg", "div") and _has_operand(node.args, _MULTIPLIED):
        node = _multiple(node)
    if node.op == "matrix" or "matrix" not in operators(node):
        return node
    args = tuple(fold(a) if type(a) is Node else a for a in node.args)
    node = Node(node.op, args)
    if node.op not in _FOLDED or not _has_operand(args, _MATRIX):
        return node
    return _carried_out(node, args) or node


def _product_of_two(left: Node, right: Node) -> Node | None:
    if left.op == right.op == "matrix":
        return _product(left, right)
    return _scaled(right, left) if left.op == "matrix" else _scaled(left, right)


def _carried_out(node: Node, args: tuple[Node, ...]) -> Node | None:
    """The result of an operation on matrices. None if the shapes don't match, or it is not a matrix operation."""
    if node.op == "det":
        return _determinant(args[0])
    if node.op == "add" and {arg.op for arg in args} == _MATRIX:
        return _entrywise(args)
    if node.op == "neg":
        return _scaled(num(-1), args[0])
    if node.op == "div" and args[1].op != "matrix":
        return _scaled(Node("div", (ONE, args[1])), args[0])
    if node.op == "mul" and len(args) == 2:
        return _product_of_two(*args)
    if node.op == "pow" and args[1] == Node("sym", ("T",)):
        return Node("matrix", tuple(zip(*args[0].args, strict=True)))
    return None


def _multiple(node: Node) -> Node:
    """A number times a tuple, ratio or (for 1) anything."""
    if node.op == "neg":
        factor, other = num(-1), node.args[0]
    elif node.op == "div":
        factor, other = Node("div", (ONE, node.args[1])), node.args[0]
    elif len(node.args) == 2 and node.args[1].op in COLLECTIONS | {"rel"}:
        factor, other = node.args
    else:
        return node
    if factor == ONE:
        whole: Node = other
        return whole
    if other.op == "tuple":
        return Node("tuple", tuple(Node("mul", (factor, entry)) for entry in other.args))
    if other.op == "ratio":
        return Node("ratio", (Node("mul", (factor, other.args[0])), *other.args[1:]))
    return node


def _determinant(matrix: Node) -> Node:
    """Expansion along the first row, up to 5 by 5."""
    rows = list(matrix.args)
    if any(len(row) != len(rows) for row in rows) or len(rows) > 5:
        return Node("det", (matrix,))
    if len(rows) == 1:
        only: Node = rows[0][0]
        return only
    terms = []
    for column, entry in enumerate(rows[0]):
        minor = Node("matrix", tuple(tuple(row[:column] + row[column + 1 :]) for row in rows[1:]))
        term = Node("mul", (entry, _determinant(minor)))
        terms.append(Node("neg", (term,)) if column % 2 else term)
    return Node("add", tuple(terms))


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


def _rows_of_entries(entries: list[Node]) -> list[list[Node]]:
    """The rows that a list's entries are, or the list as one row."""
    inner = [entry_rows(entry) for entry in entries if entry.op in ("tuple", "interval")]
    if len(inner) < len(entries):
        return [entries]
    return [row[0] for row in inner if row is not None and len(row) == 1]


def entry_rows(node: Node) -> list[list[Node]] | None:
    """The rows of a matrix, or of a tuple, list or nested tuples that may represent one. None for anything else."""
    if node.op == "matrix":
        return [list(row) for row in node.args]
    if node.op in ("tuple", "list", "interval"):
        return _rows_of_entries(list(node.args[:2] if node.op == "interval" else node.args))
    if node.op == "set" and len(node.args) == 1:
        return entry_rows(node.args[0])
    return None


def as_row(rows: list[list[Node]]) -> list[list[Node]]:
    """A column as a row. Other rows are unchanged."""
    return [[row[0] for row in rows]] if all(len(row) == 1 for row in rows) else rows
