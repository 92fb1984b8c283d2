"""Values that a test spells out: literals, and arithmetic on numbers and strings such as `3 * 19` or `'a' * 100`."""

from __future__ import annotations

import ast
import operator
from typing import Any

_MOST_BITS, _MOST_CHARS, _MOST_POWER = 1000, 10_000, 100
_NUMBERS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip


def literal(node: ast.expr) -> Any:
    """The value of a literal, which may contain arithmetic.

    Raises:
        ValueError: The expression is something else.
    """
    try:
        if any(isinstance(part, ast.BinOp) for part in ast.walk(node)):
            node = _Arithmetic().visit(node)
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise ValueError("must be a literal") from None


class _Arithmetic(ast.NodeTransformer):
    """Replaces arithmetic of a small result by the result."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Operands first, so that each is a constant or stays."""
        self.generic_visit(node)
        try:
            return ast.Constant(_result(node.op, ast.literal_eval(node.left), ast.literal_eval(node.right)))
        except (ValueError, TypeError, KeyError, ArithmeticError):
            return node


def _result(how: ast.operator, left: Any, right: Any) -> Any:
    """A result, if it is small and its type has this operation; otherwise ValueError."""
    match how, left, right:
        case ast.Add(), str(), str() if len(left) + len(right) <= _MOST_CHARS:
            return left + right
        case ast.Mult(), str(), int() if len(left) * right <= _MOST_CHARS:
            return left * right
    if not _is_small(left) or not _is_small(right) or (isinstance(how, ast.Pow) and abs(right) > _MOST_POWER):
        raise ValueError("the result must be a small number")
    return _NUMBERS[type(how)](left, right)


def _is_small(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= _MOST_BITS)
