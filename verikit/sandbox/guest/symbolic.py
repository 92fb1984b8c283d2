"""Compare sympy expressions given as `srepr` text, which is read, never evaluated.

The text may be hostile, and sympy's `==` trusts an object's own claims (`Poly(0, x, modulus=1)` equals every integer).
So only a closed list of classes is built, from numbers, names and each other, without keywords. If a float occurs, only
the same tree is equal, because a difference of floats may round to zero.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import sympy

_FUNCTIONS = (
    "Add", "Mul", "Pow", "Abs", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "factorial", "binomial", "floor", "ceiling", "Max", "Min", "Equality", "Tuple", "FiniteSet",
    "MutableDenseMatrix", "ImmutableDenseMatrix",
)  # fmt: skip
_CONSTANTS = ("pi", "E", "I", "oo", "zoo", "true", "false")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,50}")
_DIGITS = re.compile(r"-?[0-9]{1,25}(?:\.[0-9]{0,25})?(?:e[+-]?[0-9]{1,4})?")
_MAX_CHARS = 100_000


def build(text: str) -> Any:
    """The expression of an `srepr`; ValueError for anything else."""
    if len(text) > _MAX_CHARS:
        raise ValueError("too long")
    return _node(ast.parse(text, mode="eval").body)


def _node(node: ast.expr) -> Any:
    if isinstance(node, ast.List | ast.Tuple):
        return [_node(item) for item in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Name):
        return -_node(node.operand)
    if isinstance(node, ast.Name) and node.id in _CONSTANTS:
        return getattr(sympy, node.id)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError("not an srepr")
    name = node.func.id
    if name == "Float":
        return _float(node)
    if node.keywords:
        raise ValueError(f"{name} with keywords")
    if name in ("Integer", "Rational"):
        return getattr(sympy, name)(*map(_integer, node.args))
    if name == "Symbol":
        return sympy.Symbol(*(_text(arg, _NAME) for arg in node.args))
    if name not in _FUNCTIONS:
        raise ValueError(f"{name[:50]} is not among the classes that are compared")
    return getattr(sympy, name)(*map(_node, node.args))


def _integer(node: ast.expr) -> int:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_integer(node.operand)
    if not isinstance(node, ast.Constant) or type(node.value) is not int:
        raise ValueError("not an integer")
    return node.value


def _float(node: ast.Call) -> Any:
    """A float of a double's precision, and of no other."""
    digits = [_text(arg, _DIGITS) for arg in node.args]
    if [(word.arg, ast.unparse(word.value)) for word in node.keywords] != [("precision", "53")]:
        raise ValueError("a float of another precision")
    return sympy.Float(*digits, precision=53)


def _text(node: ast.expr, pattern: re.Pattern[str]) -> str:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not pattern.fullmatch(node.value):
        raise ValueError("not a name or a number")
    return node.value


def equal(a: str, b: str) -> bool:
    """Whether two expressions are equal: the same tree, or a difference that simplifies to the integer zero."""
    left, right = build(a), build(b)
    if type(left) is type(right) and left == right:
        return True
    matrices = isinstance(left, sympy.MatrixBase)
    if matrices != isinstance(right, sympy.MatrixBase) or left.has(sympy.Float) or right.has(sympy.Float):
        return False
    try:
        rest = sympy.simplify(left - right)
    except (TypeError, ValueError):
        return False
    return all(entry is sympy.S.Zero for entry in (rest if matrices else [rest]))
