"""Test code read without the program: which of its values are given, and other values for its literals."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
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
        exempt = bases | functions
        return all(self._is_own(node, exempt) for node in ast.walk(expression))

    def _is_own(self, node: ast.AST, exempt: set[int]) -> bool:
        if isinstance(node, ast.Call):
            return called(node) in _PURE
        if isinstance(node, ast.Attribute):
            return self._of_module(node)
        if isinstance(node, ast.Name):
            return id(node) in exempt or node.id not in self._computed
        return not isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.Lambda | ast.NamedExpr)

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
        bound = Counter(_bound_names(nodes))
        slots = dict(chain.from_iterable(map(_slots, nodes)))
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
    if isinstance(node, ast.For) and isinstance(node.iter, ast.List | ast.Tuple):
        yield from _loop_slots(node.target, node.iter.elts)


def _loop_slots(target: ast.expr, rows: list[ast.expr]) -> Iterator[tuple[str, list[Slot]]]:
    """Those of a loop over a literal list."""
    if isinstance(target, ast.Name):
        yield target.id, [(rows, at) for at in range(len(rows))]
    elif isinstance(target, ast.Tuple):
        yield from _column_slots(target.elts, rows)


def _column_slots(names: list[ast.expr], rows: list[ast.expr]) -> Iterator[tuple[str, list[Slot]]]:
    """Those of several names, if every row has as many values."""
    cells = [row.elts for row in rows if isinstance(row, ast.List | ast.Tuple) and len(row.elts) == len(names)]
    if len(cells) < len(rows):
        return
    for at, name in enumerate(names):
        if isinstance(name, ast.Name):
            yield name.id, [(row, at) for row in cells]


def _bound_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        for target, _ in bindings(node):
            yield from names_in(target)


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
    inner = _measured(node)
    while inner is not None:
        sized = sized or _drops_sign(node)
        node, inner = inner, _measured(inner)
    return node if sized and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else None


def _measured(node: ast.expr) -> ast.expr | None:
    """The expression within a measure of size, a power or a quotient."""
    if isinstance(node, ast.Call) and called(node) in _LENGTHS:
        if node.args:
            return node.args[0]
        return node.func.value if isinstance(node.func, ast.Attribute) else None
    return node.left if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Pow) else None


def _drops_sign(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return called(node) in ("abs", "fabs", "absolute", "norm")
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)


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
