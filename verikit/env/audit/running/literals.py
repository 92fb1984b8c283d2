"""Strings and numbers that a grader compares with. They are tried as outputs."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from itertools import islice

from verikit.env.audit.scripts import placed
from verikit.env.audit.task import AuditedTask

MAX_NODES = 50_000
_COMPARERS = ("[", "[[", "test", "grep", "egrep", "fgrep")


def grader_literals(task: AuditedTask, folders: tuple[str, ...]) -> dict[str, str]:
    """Strings and numbers that the tests compare with, each with its place, and words of a shell script's tests."""
    found: dict[str, str] = {}
    for path in (path for folder in folders for path in task.files(folder)):
        reader = _LITERALS.get(path.rpartition(".")[2])
        for line, literal in reader(task.text(path) or "") if reader else ():
            found.setdefault(literal, f"{path}:{line}")
    return found


def _python_literals(text: str) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in islice(ast.walk(tree), MAX_NODES):
        yield from _pairs(node)
        holder = node if isinstance(node, ast.Compare) or _called(node) in ("startswith", "endswith") else None
        for one in islice(ast.walk(holder), 60) if holder else ():
            told = constant_text(one)
            if told is not None and isinstance(one, ast.Constant):
                yield one.lineno, told


def _pairs(node: ast.AST) -> Iterator[tuple[int, str]]:
    """A key with the value that it is compared with, as JSON: `data.get("status") == "done"`."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.Is):
        return
    key, right = _key(node.left), node.comparators[0]
    if key and isinstance(right, ast.Constant) and constant_text(right) is not None:
        yield node.lineno, json.dumps({key: right.value})


def _key(node: ast.expr) -> str:
    """The key of `data["key"]` or `data.get("key")`; empty for anything else."""
    held = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Call) and _called(node) == "get" and node.args:
        held = node.args[0]
    return (constant_text(held) or "") if isinstance(held, ast.Constant) and isinstance(held.value, str) else ""


def _called(node: ast.AST) -> str:
    """The name of a called method."""
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def _shell_literals(text: str) -> Iterator[tuple[int, str]]:
    """Words of `[ … ]`, `[[ … ]]` and `grep`, except options, operators and files."""
    for one in placed(text):
        if one.program in _COMPARERS:
            words = (word.text for word in one.arguments if word.known)
            yield from ((one.line, word) for word in words if word[:1] not in ("-", "=", "!", "]", ""))


_LITERALS: dict[str, Callable[[str], Iterator[tuple[int, str]]]] = {"py": _python_literals, "sh": _shell_literals}


def constant_text(node: ast.AST | None) -> str | None:
    """A string or number of Python code as text. None for other nodes, and for integers that Python doesn't print."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str | int | float):
        return None
    try:
        return str(node.value)
    except ValueError:
        return None
