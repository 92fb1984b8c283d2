"""Tests with other expected values: an object that passes both these and the real ones is equal to everything.

Each check of test code that expects a value (`assert f(2) == 4`, `assertEqual`, `assert_allclose`, `approx`) is changed
to expect another value, and then has to fail. No value of an honest program equals two different values. If the source
does not show which value is the expected one, the check stays unchanged. Messages, tolerances and arguments are never
changed.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from verikit.sandbox.guest import source
from verikit.verifiers.falsified.expected_values import Given, Literals, called, difference, other_literal

ALARM = "VerikitAlarm"
"""The name of the exception that a changed test raises for a check that still passes."""
VARIANTS = 2
"""Number of other values: one of them may happen to be equal in the tests' own sense (modulo, a tolerance)."""
_PREDICATES = frozenset({"allclose", "isclose", "array_equal", "array_equiv"})
_NUMPY_CHECKS = frozenset(
    """assert_allclose assert_array_equal assert_almost_equal assert_array_almost_equal assert_equal assert_approx_equal
    assert_array_almost_equal_nulp""".split()
)
_ARRAY_CHECKS = _PREDICATES | _NUMPY_CHECKS
_CHECKS = _NUMPY_CHECKS | frozenset(
    """assertEqual assertEquals assertAlmostEqual assertAlmostEquals assertListEqual assertTupleEqual assertDictEqual
    assertSetEqual assertSequenceEqual assertMultiLineEqual assertCountEqual""".split()
)
_OPERATORS = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_STRICT = "verikit_strict"
_PRELUDE = _STRICT + " = __import__('types').ModuleType('" + _STRICT + "')\nexec({!r}, " + _STRICT + ".__dict__)\n"
"""Functions that changed tests call, in a separate module to avoid name clashes."""


def still_passing(before: Mapping[str, str] | None, alarms: Mapping[str, str]) -> dict[str, str]:
    """The tests with an alarm under each variant so far: in `before` (None ahead of the first one) and in `alarms`."""
    return {name: told for name, told in (alarms if before is None else before).items() if name in alarms}


@lru_cache(maxsize=512)
def changed(text: str, *, guarded: bool, variant: int = 0) -> str:
    """The same tests with other expected values; each check that still passes raises `ALARM`, with its line.

    Args:
        text: the source of a test program or file.
        guarded: whether comparisons of an empty array with another one, which pass for every value, raise it too.
        variant: which other values, 0 or 1.

    Returns:
        Empty if no known form of check is found, or the text is not Python.
    """
    try:
        tree = ast.parse(text)
        turned = _Turned(tree, variant, guarded)
        tree = turned.visit(tree)
        if not turned.count:
            return ""
        start = _after_imports_of_the_future(tree)
        tree.body[start:start] = ast.parse(_PRELUDE.format(source("strict"))).body
        return ast.unparse(ast.fix_missing_locations(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _after_imports_of_the_future(tree: ast.Module) -> int:
    kept = 0
    for at, node in enumerate(tree.body):
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            kept = at + 1
    return kept or int(bool(tree.body) and _is_text(tree.body[0]))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of an expected value in its check."""

    holder: Any
    field: str
    at: int | None = None
    side: int | None = None
    """Of the two operands of its comparison."""

    def read(self) -> ast.expr:
        held = getattr(self.holder, self.field)
        return held if self.at is None else held[self.at]  # type: ignore[no-any-return]

    def write(self, node: ast.expr) -> None:
        if self.at is None:
            setattr(self.holder, self.field, node)
        else:
            getattr(self.holder, self.field)[self.at] = node


class _Turned(ast.NodeTransformer):
    """Changes checks to ones that must fail; `count` is the number of changed statements and comparisons."""

    def __init__(self, tree: ast.Module, variant: int, guarded: bool) -> None:
        self.count = 0
        self._variant, self._guarded = variant, guarded
        self._given, self._literals = Given(tree), Literals(tree)
        attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self._sized = bool(attributes & {"shape", "size"}) or "len" in names
        self._sides: dict[int, int | None] = {}

    # ---- where a check has its expected value ---------------------------------------------------------------------

    def _place(self, holder: Any, field: str, at: int | None, holds: bool) -> _Place | None:
        """The expected value of a condition that must be true, or must not."""
        node = _Place(holder, field, at).read()
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._place(node, "operand", None, not holds)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compared(node, holds)
        if not isinstance(node, ast.Call):
            return None
        name = called(node)
        if name in _PREDICATES and holds:
            return self._argument(node)
        if name == ("all" if holds else "any") or name == "bool":
            if isinstance(node.func, ast.Attribute) and not node.args:
                return self._place(node.func, "value", None, holds)
            if node.args and not isinstance(node.args[0], ast.GeneratorExp):
                return self._place(node, "args", 0, holds)
        return None

    def _compared(self, node: ast.Compare, holds: bool) -> _Place | None:
        left, right = _Place(node, "left", None, 0), _Place(node, "comparators", 0, 1)
        if isinstance(node.ops[0], ast.Eq if holds else ast.NotEq):
            return self._of_two(node, left, right)
        below = isinstance(node.ops[0], ast.Lt | ast.LtE)
        if not below and not isinstance(node.ops[0], ast.Gt | ast.GtE):
            return None
        distance = difference((left if below is holds else right).read())
        if distance is None:
            return None
        return self._of_two(distance, _Place(distance, "left", None, 0), _Place(distance, "right", None, 1))

    def _argument(self, node: ast.Call) -> _Place | None:
        if len(node.args) < 2 or any(isinstance(argument, ast.Starred) for argument in node.args[:2]):
            return None
        return self._of_two(node, _Place(node, "args", 0, 0), _Place(node, "args", 1, 1))

    def _of_two(self, comparison: ast.AST, left: _Place, right: _Place) -> _Place | None:
        """The one operand that is given; if both are, the literal one."""
        given = [place for place in (left, right) if self._given.holds(place.read())]
        if len(given) == 2:
            given = [place for place in given if not any(isinstance(n, ast.Name) for n in ast.walk(place.read()))]
        if len(given) != 1:
            return None
        self._sides[id(comparison)] = given[0].side
        return given[0]

    # ---- statements -----------------------------------------------------------------------------------------------

    def _turn(self, statement: ast.stmt, place: _Place) -> ast.stmt:
        """The check with another expected value, which has to fail."""
        expected = place.read()
        if not self._literals.change(expected, self._variant):
            place.write(_other(expected, self._variant))
        self.count += 1
        body = self._with_guards(statement)
        alarm = ast.parse(
            f"try:\n    pass\nexcept Exception:\n    pass\nelse:\n    {_STRICT}.alarm('{statement.lineno}')"
        ).body[0]
        assert isinstance(alarm, ast.Try)
        alarm.body = [body]
        return ast.copy_location(alarm, statement)

    def _with_guards(self, node: Any) -> Any:
        return super().generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        """One check a conjunct."""
        found: list[ast.stmt] = []
        for condition in _conjuncts(node.test):
            check = ast.copy_location(ast.Assert(condition, copy.deepcopy(node.msg)), node)
            place = self._place(check, "test", None, holds=True)
            found.append(self._turn(check, place) if place else self._with_guards(check))
        return found

    def visit_If(self, node: ast.If) -> Any:
        """`if f(2) != 4: raise …` is a check."""
        raises = len(node.body) == 1 and isinstance(node.body[0], ast.Raise) and not node.orelse
        place = self._place(node, "test", None, holds=False) if raises else None
        return self._turn(node, place) if place else self._with_guards(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        """A call of an assert method or function is a check."""
        call = node.value
        place = None
        if isinstance(call, ast.Call) and call.args:
            name = called(call)
            if name in _CHECKS - self._given.defined:
                place = self._argument(call)
            elif name in ("assertTrue", "assertFalse"):
                place = self._place(call, "args", 0, holds=name == "assertTrue")
        return self._turn(node, place) if place else self._with_guards(node)

    # ---- comparisons ----------------------------------------------------------------------------------------------

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Change a comparison of a suitable form."""
        self.generic_visit(node)
        name = _OPERATORS.get(type(node.ops[0])) if len(node.ops) == 1 else None
        return self._compare(node, name, node.left, node.comparators[0]) if name else node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """A difference compares, too."""
        self.generic_visit(node)
        return self._compare(node, "sub", node.left, node.right) if isinstance(node.op, ast.Sub) else node

    def _compare(self, node: ast.expr, name: str, left: ast.expr, right: ast.expr) -> ast.expr:
        if not self._guarded:
            return node
        return self._guard("compare", node, [name, self._sides.get(id(node))], [left, right], [])

    def visit_Call(self, node: ast.Call) -> Any:
        """The same for functions that compare arrays, and for `zip`."""
        self.generic_visit(node)
        starred = any(isinstance(argument, ast.Starred) for argument in node.args[:2])
        if not self._guarded or len(node.args) < 2 or starred:
            return node
        name = called(node)
        if name == "zip" and isinstance(node.func, ast.Name):
            return self._guard("pair", node, [], node.args, node.keywords)
        if name in _ARRAY_CHECKS:
            return self._guard("call", node, [self._sides.get(id(node))], [node.func, *node.args], node.keywords)
        return node

    def _guard(
        self, name: str, node: ast.expr, said: list[Any], values: list[ast.expr], keywords: list[ast.keyword]
    ) -> ast.expr:
        self.count += 1
        constants: list[ast.expr] = [ast.Constant(value) for value in (node.lineno, *said, self._sized)]
        return _call(name, [*constants, *values], keywords, node)


def _call(name: str, arguments: list[ast.expr], keywords: list[ast.keyword], at: ast.expr) -> ast.expr:
    function = ast.Attribute(ast.Name(_STRICT, ast.Load()), name, ast.Load())
    return ast.copy_location(ast.Call(function, arguments, keywords), at)


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [part for value in test.values for part in _conjuncts(value)]
    return [test]


def _other(node: ast.expr, variant: int) -> ast.expr:
    """Another expected value: a literal is changed in the source, and a computed value at run time."""
    found = other_literal(node, variant)
    return found or _call("changed", [node, ast.Constant(variant)], [], node)
