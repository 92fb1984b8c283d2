"""Rows in HumanEval's format: the function that is tested, and helpers of the prompt that the tests use."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from verikit.verifiers.code.cases import Case, Driven
from verikit.verifiers.code.rows import checked_name, free_functions, module_of


def with_entry_point(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row in HumanEval's format with its `entry_point`: HumanEval-X names it only in `check(f)` at the test's end."""
    test = meta.get("test", meta.get("tests"))
    if "entry_point" in meta or not isinstance(test, str) or "def check(" not in test:
        return meta
    names = [name for node in module_of(test).body if (name := checked_name(node))]
    return {**meta, "entry_point": names[-1]} if names else meta


def _whole_functions(nodes: Sequence[ast.stmt]) -> set[str]:
    """The names of the functions that are more than a stub."""
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    return {node.name for node in functions if not all(map(_is_stub, node.body))}


def with_helpers(case: Case, prompt: str) -> Case:
    """A test program after the code of the prompt, if it calls functions that are whole there (HumanEval's `poly`).

    They come from the prompt and not from the program, so tests that use them do not rely on the program.
    """
    if not isinstance(case, Driven) or "def " not in prompt:
        return case
    try:
        given = ast.parse(prompt).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return case
    needed = set(free_functions(module_of(case.code))) - set(case.functions)
    whole = _whole_functions(given)
    if not needed & whole:
        return case
    helpers = [node for node in given if not isinstance(node, ast.FunctionDef) or node.name in whole]
    kept = [node for node in helpers if getattr(node, "name", "") not in case.functions]
    return replace(case, code=f"{ast.unparse(ast.Module(kept, []))}\n{case.code}")


def _is_stub(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
