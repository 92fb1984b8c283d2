"""Tests that can't be answered for a program in another process: they read its source or the interpreter itself."""

from __future__ import annotations

import ast

_ATTRIBUTES = frozenset(
    """__code__ __closure__ __globals__ f_back f_locals f_globals gi_frame cr_frame co_code co_consts co_names
    co_varnames co_argcount""".split()
)
_FUNCTIONS = {
    "inspect": frozenset(
        "getsource getsourcelines getsourcefile getfile getmodule currentframe stack getclosurevars".split()
    ),
    "gc": frozenset("get_objects get_referrers get_referents".split()),
    "sys": frozenset("getrefcount getsizeof settrace setprofile _getframe".split()),
    "dis": None,
    "tracemalloc": None,
}
"""Functions by module; None: all of it."""


def out_of_reach(tests: str) -> str:
    """What of the interpreter the tests look at; empty if nothing, and for tests that are not Python."""
    try:
        tree = ast.parse(tests)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    modules = {
        alias.asname or alias.name: alias.name for node in ast.walk(tree) if isinstance(node, ast.Import)
        for alias in node.names
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (found := _attribute(node, modules)):
            return found
        if isinstance(node, ast.ImportFrom) and (found := _imported(node)):
            return found
    return ""


def _attribute(node: ast.Attribute, modules: dict[str, str]) -> str:
    if node.attr in _ATTRIBUTES:
        return node.attr
    module = modules.get(node.value.id, "") if isinstance(node.value, ast.Name) else ""
    return f"{module}.{node.attr}" if _is_listed(module, node.attr) else ""


def _imported(node: ast.ImportFrom) -> str:
    module = node.module or ""
    return next((f"{module}.{alias.name}" for alias in node.names if _is_listed(module, alias.name)), "")


def _is_listed(module: str, name: str) -> bool:
    if module not in _FUNCTIONS:
        return False
    names = _FUNCTIONS[module]
    return names is None or name in names
