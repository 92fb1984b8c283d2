"""Arguments in Python syntax as values: literals and other forms found in datasets. They are read, never evaluated."""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable
from typing import Any

MAX_DEPTH = 50
"""Maximum nesting of arguments."""
MAX_BITS = 10_000
"""Maximum bits of an integer in Python-style arguments. Python limits the conversion of much longer ones to digits."""
NUMBER_BOUND = 10**18
"""Arithmetic on constants in Python-style arguments is evaluated if the values are below this bound."""
_STRING_OR_COMMENT = re.compile(
    r"""'''(?:[^'\\]|\\.?|'(?!''))*(?:''')?|'(?:[^'\\\n]|\\.?)*'?|(#[^\n]*)|"""
    r'''"""(?:[^"\\]|\\.?|"(?!""))*(?:""")?|"(?:[^"\\\n]|\\.?)*"?''',
    re.DOTALL,
)
"""A string, even an unclosed one, to read no text twice. Or a comment."""
_NOT_CARRIED_OUT = "arithmetic that is not carried out"
_SOURCE_NAME = "<tool call>"
_QUIET = ("ignore", None, Warning, re.compile(_SOURCE_NAME), 0)


def parsed(text: str) -> ast.expr:
    """The syntax tree of an expression, without Python's warnings about the text (escapes, "1or 2").

    A warning filter for this file name stays installed, because changing filters back and forth is not thread-safe.
    """
    if warnings.filters[:1] != [_QUIET]:
        warnings.filterwarnings("ignore", module=_SOURCE_NAME)
    return ast.parse(text, _SOURCE_NAME, "eval").body


def uncommented(text: str) -> str:
    """Remove the comments from a text."""
    if "#" not in text:
        return text
    return _STRING_OR_COMMENT.sub(lambda found: "" if found[1] else found[0], text)


class Unreadable(Exception):
    """An argument that is not a literal."""


def dotted(node: ast.expr) -> str:
    """The name `a.b.c` of the called object. Empty if it is not such a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def keywords(node: ast.Call, depth: int) -> dict[str, Any]:
    """The arguments of a call by name.

    Raises:
        Unreadable: An argument has no name, appears twice, or is not a literal.
    """
    if node.args:
        raise Unreadable("an argument without a name")
    found: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in found:
            raise Unreadable(f"{keyword.arg} twice" if keyword.arg else "** hides the names of arguments")
        found[keyword.arg] = _literal(keyword.value, depth + 1)
    return found


def _literal(node: ast.expr, depth: int) -> Any:
    """The value of a literal. Bare names and calls without keywords become strings, as datasets write variables."""
    if type(node) is ast.Constant:  # the most common case
        if type(node.value) is int and node.value.bit_length() > MAX_BITS:
            raise Unreadable("a number out of range")
        return "..." if node.value is Ellipsis else node.value
    if depth > MAX_DEPTH:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(node, (ast.List, ast.Tuple)):
        items = [_literal(item, depth + 1) for item in node.elts]
        return items if isinstance(node, ast.List) else tuple(items)
    return _other_literal(node, depth)


def _other_literal(node: ast.expr, depth: int) -> Any:
    if isinstance(node, ast.Dict):
        return _mapping(node, depth)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, (ast.UnaryOp, ast.BinOp)):
        return _number(node, depth)
    if isinstance(node, ast.Call):
        return {dotted(node.func): keywords(node, depth)} if node.keywords else _source(node)
    if isinstance(node, ast.Subscript):
        return _source(node)
    raise Unreadable(f"{type(node).__name__} is not a literal")


def _mapping(node: ast.Dict, depth: int) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        name = None if key is None else _literal(key, depth + 1)
        if not isinstance(name, (str, int, float, bool)) or name in found:
            raise Unreadable("a duplicate key" if name in found else "a key that is not a string")
        found[name] = _literal(value, depth + 1)
    return found


def _source(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except RecursionError:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels") from None
    except ValueError:  # a number with too many digits
        raise Unreadable("a number out of range") from None


def _number(node: ast.expr, depth: int) -> int | float:
    """The result of arithmetic on numbers within `NUMBER_BOUND`."""
    if depth > MAX_DEPTH:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels")
    value: int | float
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            value = node.value  # type: ignore[assignment]  # the pattern says which
        case ast.UnaryOp(op=ast.USub()):
            value = -_number(node.operand, depth + 1)
        case ast.UnaryOp(op=ast.UAdd()):
            value = _number(node.operand, depth + 1)
        case ast.BinOp():
            value = _binary(node.op, _number(node.left, depth + 1), _number(node.right, depth + 1))
        case _:
            raise Unreadable("arithmetic on something else than numbers")
    if not abs(value) < NUMBER_BOUND and not isinstance(node, ast.Constant):
        raise Unreadable("a number out of range")
    return value


def _binary(op: ast.operator, a: int | float, b: int | float) -> int | float:
    if max(abs(a), abs(b)) >= NUMBER_BOUND:
        raise Unreadable("a number out of range")
    calculate = _CALCULATE.get(type(op))
    if calculate is None:
        raise Unreadable(_NOT_CARRIED_OUT)
    try:
        return calculate(a, b)
    except (ZeroDivisionError, OverflowError):
        raise Unreadable(_NOT_CARRIED_OUT) from None


def _power(a: int | float, b: int | float) -> int | float:
    """A power of few digits, because one such as 9**9**9 would use up time and memory."""
    if abs(b) > 64 or not (abs(a) <= 1 or abs(b) <= 1 or abs(a) ** min(abs(b), 60) < 1e18):
        raise Unreadable(_NOT_CARRIED_OUT)
    power = a**b
    return power if isinstance(power, (int, float)) else float("nan")


_CALCULATE: dict[type[ast.operator], Callable[[int | float, int | float], int | float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
