"""Tests that can't be run against a program in another process.

They read its source or the interpreter, replace functions of modules that both have, or pass open files.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
from importlib.machinery import PathFinder

from verikit.sandbox import paths

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
    "tempfile": None,
}
"""Functions by module; None: the whole module."""
_FILES = frozenset({"tmp_path", "tmpdir", "tmp_path_factory"})
"""Fixtures of pytest that make files."""
_CARRIED = (
    "builtins.print", "builtins.input", "sys.stdout", "sys.stderr", "sys.stdin", "sys.argv", "os.environ",
)  # fmt: skip
"""Targets that tests may replace, since the replacement is carried over."""
_PATCHES = frozenset({"patch", "setattr", "object", "dict", "multiple", "delattr", "setitem"})


def out_of_reach(tests: str, own: Collection[str] = ()) -> str:
    """The operation of the tests that can't be carried over; empty if there isn't one or the tests are not Python.

    Args:
        tests: their text.
        own: names of modules that are the program.
    """
    try:
        tree = ast.parse(tests)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    modules = {
        alias.asname or alias.name: alias.name for node in ast.walk(tree) if isinstance(node, ast.Import)
        for alias in node.names
    }  # fmt: skip
    return next(_found(tree, modules, own), "")


def _found(tree: ast.Module, modules: dict[str, str], own: Collection[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg in _FILES:
            yield f"make files ({node.arg})"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            yield "open files"
        elif isinstance(node, ast.Call) and (name := _patched(node, modules, own)):
            yield f"replace {name}"
        elif name := _read(node, modules):
            yield f"read {name}"


def _read(node: ast.AST, modules: dict[str, str]) -> str:
    """The attribute or function that exposes source code or the interpreter."""
    if isinstance(node, ast.Attribute):
        return _attribute(node, modules)
    return _imported(node) if isinstance(node, ast.ImportFrom) else ""


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


def _patched(node: ast.Call, modules: dict[str, str], own: Collection[str]) -> str:
    """The target that a call of `patch` or `monkeypatch` replaces, if it belongs to a module other than the program."""
    if ast.unparse(node.func).rpartition(".")[2] not in _PATCHES or not node.args:
        return ""
    target = _target(node, modules)
    root = target.partition(".")[0]
    if root in own or target.startswith(_CARRIED) or not is_installed(root):
        return ""
    return target


def is_installed(module: str) -> bool:
    """Whether a module of this name, without dots, belongs to Python or is installed."""
    if module in sys.stdlib_module_names:
        return True
    return bool(module) and PathFinder.find_spec(module, paths.readable()) is not None


def _target(node: ast.Call, modules: dict[str, str]) -> str:
    """The name of the replaced object, with its module: `"time.sleep"`, or `time, "sleep"`."""
    first = node.args[0]
    if isinstance(first, ast.Constant):
        return str(first.value)
    holder, _, rest = ast.unparse(first).partition(".")
    if holder not in modules:
        return ""
    second = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else ""
    return ".".join(filter(None, [modules[holder], rest, str(second)]))
