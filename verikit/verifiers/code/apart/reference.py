"""The row's own solution, which is run once against its tests."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

_KEYS = ("reference_solution", "canonical_solution", "solution", "code")


def reference_reply(meta: Mapping[str, Any], prompt: str) -> str:
    """A reply that is the row's own solution; empty if the row doesn't have one in Python.

    Args:
        meta: the row's meta.
        prompt: the row's prompt; HumanEval's solutions continue it.
    """
    for key in _KEYS:
        text = meta.get(key)
        if isinstance(text, str) and text.strip():
            whole = next((program for program in (text, prompt + text) if _defines(program)), "")
            return f"```python\n{whole}\n```" if whole else ""
    return ""


def _defines(program: str) -> bool:
    """Whether a string is Python that defines a function or class."""
    try:
        body = ast.parse(program).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in body)
