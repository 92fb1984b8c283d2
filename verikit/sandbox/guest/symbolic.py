"""Compare sympy expressions given as `srepr` text, which is read, never evaluated.

The text may be hostile: only calls of sympy's own classes on numbers, names and each other are built. Strings reach
only the classes that take them as names or digits, so sympy's own parser is never entered.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import sympy

_TAKES_TEXT = {"Symbol", "Dummy", "Float", "Function", "Str", "MatrixSymbol", "IndexedBase"}
_TEXT = re.compile(r"[A-Za-z0-9_\\{}^.+' -]{1,200}")


def build(text: str) -> Any:
    """The expression an `srepr` stands for; ValueError for anything else."""
    if len(text) > 100_000:
        raise ValueError("too long")
    return _node(ast.parse(text, mode="eval").body)


def _node(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | bool):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -_node(node.operand)
    if isinstance(node, ast.List | ast.Tuple):
        return [_node(item) for item in node.elts]
    if isinstance(node, ast.Name):
        value = _known(node.id)
        if not isinstance(value, sympy.Basic):
            raise ValueError(f"{node.id} is no constant")
        return value
    if isinstance(node, ast.Call):
        return _call(node)
    raise ValueError("not an srepr")


def _call(node: ast.Call) -> Any:
    if isinstance(node.func, ast.Call):  # Function('f')(Symbol('x'))
        return _call(node.func)(*map(_node, node.args))
    if not isinstance(node.func, ast.Name):
        raise ValueError("not an srepr")
    name = node.func.id
    made = _known(name)
    if not isinstance(made, type) or not issubclass(made, sympy.Basic | sympy.MatrixBase):
        raise ValueError(f"{name} is no class of sympy")
    args = [_text(arg) if name in _TAKES_TEXT and _is_text(arg) else _node(arg) for arg in node.args]
    keywords = {str(k.arg): _node(k.value) for k in node.keywords if k.arg is not None}
    if len(keywords) != len(node.keywords):
        raise ValueError("not an srepr")
    return made(*args, **keywords)


def _known(name: str) -> Any:
    if name.startswith("_") or not hasattr(sympy, name):
        raise ValueError(f"sympy has no {name[:50]!r}")
    return getattr(sympy, name)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _text(node: ast.expr) -> str:
    value = ast.literal_eval(node)
    if not _TEXT.fullmatch(value):
        raise ValueError("not a name or a number")
    return str(value)


def equal(a: str, b: str) -> bool:
    """Whether two expressions are equal: the same tree, or a difference that simplifies to zero."""
    left, right = build(a), build(b)
    if left == right:
        return True
    if isinstance(left, sympy.MatrixBase) != isinstance(right, sympy.MatrixBase):
        return False
    try:
        return bool(sympy.simplify(left - right) == (sympy.zeros(*left.shape) if hasattr(left, "shape") else 0))
    except TypeError:
        return False
