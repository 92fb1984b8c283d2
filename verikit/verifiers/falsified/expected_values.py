"""Test code read without the program: which of its values are given, and other values for its literals."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from verikit.sandbox.guest import strict

_PURE = frozenset(
    """array asarray approx set frozenset list tuple dict float int complex bytes str bool Decimal Fraction range sorted
    reversed sum len min max abs round pow divmod zeros ones full arange linspace eye identity sqrt chr ord""".split()
)
"""Functions whose value, of given arguments, is given."""
_WRAPPERS = frozenset({"array", "asarray", "approx", "set", "frozenset", "list", "tuple"})
"""The wrappers whose literals are changed in the source."""
_LENGTHS = frozenset({"abs", "fabs", "absolute", "norm", "sum", "max", "mean", "sqrt", "amax", "float"})
"""Functions of a difference that grow with it."""
_DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


Slot = tuple[Any, Any]
"""A container, and the position of an expression in it."""


class Given:
    """Finds the expressions of test code that depend only on the tests themselves."""

    def __init__(self, tree: ast.Module) -> None:
        self.defined = {node.name for node in ast.walk(tree) if isinstance(node, _DEFINES)}
        self._modules = {
            (alias.asname or alias.name).partition(".")[0]
            for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }  # fmt: skip
        self._computed = set(self.defined)
        self._find_computed(tree)

    def _find_computed(self, tree: ast.Module) -> None:
        """Collect the names that may refer to computed values: assigned from calls, or imported."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                self._computed.update(alias.asname or alias.name for alias in node.names)
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                self._computed.update(names_in(node.optional_vars))
        self._follow([pair for node in ast.walk(tree) for pair in bindings(node)])

    def _follow(self, bound: Sequence[tuple[ast.expr, ast.expr]]) -> None:
        """Add the names that are bound to computed values, until there are no new ones."""
        before = -1
        while before != len(self._computed):
            before = len(self._computed)
            for target, value in bound:
                if not self.holds(value):
                    self._computed.update(names_in(target))

    def holds(self, expression: ast.expr) -> bool:
        """Whether a value depends only on the tests themselves."""
        bases = {id(n.value) for n in ast.walk(expression) if isinstance(n, ast.Attribute)}
        functions = {id(n.func) for n in ast.walk(expression) if isinstance(n, ast.Call)}
        for node in ast.walk(expression):
            if isinstance(node, ast.Call) and called(node) not in _PURE:
                return False
            if isinstance(node, ast.Attribute) and not self._of_module(node):
                return False
            if isinstance(node, ast.Name) and id(node) not in bases | functions and node.id in self._computed:
                return False
            if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.Lambda | ast.NamedExpr):
                return False
        return True

    def _of_module(self, node: ast.Attribute) -> bool:
        return isinstance(node.value, ast.Name) and node.value.id in self._modules


class Literals:
    """Finds the literals that tests bind to a name they read once: `want = 4`, `for n, want in [(1, 2), (3, 4)]`."""

    def __init__(self, tree: ast.Module) -> None:
        self._bound: dict[int, list[Slot]] = {}
        for scope in ast.walk(tree):
            if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
                self._read(scope)

    def _read(self, scope: ast.AST) -> None:
        nodes = list(ast.walk(scope))
        names = [node for node in nodes if isinstance(node, ast.Name)]
        seen = Counter(name.id for name in names)
        bound = Counter(name for node in nodes for target, _ in bindings(node) for name in names_in(target))
        slots = {name: found for node in nodes for name, found in _slots(node)}
        for name in names:
            if isinstance(name.ctx, ast.Load) and seen[name.id] == 2 and bound[name.id] == 1 and name.id in slots:
                self._bound[id(name)] = slots[name.id]

    def change(self, node: ast.expr, variant: int) -> bool:
        """Change the value bound to an expression's only name, in each row of a table; False if not possible."""
        while parts := parts_of(node) if isinstance(node, ast.Call) else []:
            node = parts[0]
        slots = self._bound.get(id(node), [])
        others = [other_literal(held[at], variant) for held, at in slots]
        if not others or None in others:
            return False
        for (held, at), other in zip(slots, others, strict=True):
            held[at] = other
        return True


def _slots(node: ast.AST) -> Iterator[tuple[str, list[Slot]]]:
    """The names that a statement binds to literals, with the positions of the literals."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        yield node.targets[0].id, [(vars(node), "value")]
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.List | ast.Tuple):
        return
    rows = node.iter.elts
    if isinstance(node.target, ast.Name):
        yield node.target.id, [(rows, at) for at in range(len(rows))]
    elif isinstance(node.target, ast.Tuple):
        width = len(node.target.elts)
        cells = [row.elts for row in rows if isinstance(row, ast.List | ast.Tuple) and len(row.elts) == width]
        for at, name in enumerate(node.target.elts):
            if isinstance(name, ast.Name) and len(cells) == len(rows):
                yield name.id, [(row, at) for row in cells]


def called(node: ast.Call) -> str:
    """The last name of the called expression; empty if it doesn't have a name."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def names_in(target: ast.expr) -> set[str]:
    """The names that a target binds, or whose items it sets."""
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets with their assigned values."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield node.target, node.iter


def difference(node: ast.expr) -> ast.BinOp | None:
    """The subtraction that an expression measures: `abs(a - b)`, `np.max(np.abs(a - b))`, `((a - b) ** 2).sum()`."""
    sized = False
    while True:
        if isinstance(node, ast.Call) and called(node) in _LENGTHS:
            sized = sized or called(node) in ("abs", "fabs", "absolute", "norm")
            if node.args:
                node = node.args[0]
            elif isinstance(node.func, ast.Attribute):
                node = node.func.value
            else:
                return None
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            node = node.left
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            sized, node = True, node.left
        else:
            return node if sized and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else None


def other_literal(node: ast.expr, variant: int) -> ast.expr | None:
    """The same expression with its last literal changed; None if it does not consist of literals."""
    if isinstance(node, ast.Constant):
        return None if node.value is Ellipsis else ast.Constant(strict.changed(node.value, variant))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        operand = other_literal(node.operand, variant)
        return operand and ast.UnaryOp(node.op, operand)
    parts = parts_of(node)
    for at in reversed(range(len(parts))):
        if (other := other_literal(parts[at], variant)) is not None:
            again = copy.deepcopy(node)
            parts_of(again)[at] = other
            return again
    return None


def parts_of(node: ast.expr) -> list[Any]:
    """The positions of an expression's values."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return node.elts
    if isinstance(node, ast.Dict):
        return node.values
    if isinstance(node, ast.Call) and called(node) in _WRAPPERS and len(node.args) == 1:
        return [] if node.keywords and called(node) != "approx" else node.args
    return []
