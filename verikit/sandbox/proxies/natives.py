"""Classes and functions of Python itself cross the wall as names, and only from a list of modules."""

from __future__ import annotations

import abc
import builtins
import importlib
import sys
import types
from functools import partial
from typing import Any

_MODULES = frozenset(
    """builtins collections collections.abc _collections datetime decimal fractions math cmath itertools functools
    _functools operator _operator statistics string copy json heapq _heapq bisect _bisect uuid io _io pathlib re numbers
    textwrap dataclasses random""".split()
)
"""Modules whose public classes and functions exist on both sides."""
_HARMLESS = frozenset(
    """abs all any ascii bin callable chr divmod format hash hex isinstance issubclass iter len max min next oct ord pow
    repr round sorted sum""".split()
)
"""Built-in functions that a program may pass to tests."""
_REACHING = frozenset({"io", "_io", "pathlib"})
"""Modules that open files."""
_READING = frozenset({"attrgetter", "methodcaller", "call", "Formatter"})
"""What reads attributes by their names."""
_NOT_LENT = frozenset({"pytest", "unittest", "doctest", "bdb", "pdb", "antigravity", "this", "idlelib", "test"})
"""Modules whose exceptions have a meaning for test runners."""
_RUNNERS = _NOT_LENT | {"_pytest", "pluggy", "verikit"}
_FUNCTIONS = types.FunctionType | types.BuiltinFunctionType | type


def name_of(value: Any, *, trusted: bool = True) -> list[str] | None:
    """The module and name of this class or function on the other side; None if the other side lacks it.

    Args:
        value: anything.
        trusted: whether the other side accepts any built-in function.
    """
    if not isinstance(value, _FUNCTIONS):
        return None
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if not isinstance(module, str) or not isinstance(name, str) or not _is_public(module, name, value):
        return None
    if not trusted and not _is_harmless(module, name, value):
        return None
    home = sys.modules.get(module)
    return [module, name] if home is not None and home.__dict__.get(name) is value else None


def _is_public(module: str, name: str, value: Any) -> bool:
    if isinstance(value, type) and issubclass(value, BaseException):
        return module.partition(".")[0] in sys.stdlib_module_names
    return module in _MODULES and not name.startswith("_")


def _is_harmless(module: str, name: str, found: Any) -> bool:
    """Whether a program may pass it to tests, which may call it."""
    if isinstance(found, type) and issubclass(found, BaseException):
        return True
    if module == "builtins":
        return isinstance(found, type) or name in _HARMLESS
    return module not in _REACHING and name not in _READING


def find(module: str, name: str, *, trusted: bool) -> Any:
    """The class or function of that name.

    Args:
        module: a module's name.
        name: of a class or function in it.
        trusted: whether the other side may name any built-in function.

    Raises:
        ValueError: It is not on the list.
    """
    if module not in _MODULES:
        return _exception(module, name)
    found = importlib.import_module(module).__dict__.get(name)
    if name.startswith("_") or not isinstance(found, _FUNCTIONS):
        raise ValueError(f"{module}.{name} is not carried over")
    if not trusted and not _is_harmless(module, name, found):
        raise ValueError(f"{module}.{name} is not carried over")
    return found


def exception(module: str, name: str) -> Any:
    """The class of that name of an exception; RuntimeError if it is not on the list."""
    try:
        return find(module, name, trusted=True)
    except ValueError:
        return RuntimeError


def register(bases: Any, mirrored: type) -> None:
    """Register a mirrored class with those of its bases that are Python's abstract classes (`Mapping`, `UserDict`).

    Args:
        bases: of the class, packed.
        mirrored: the class of this side.
    """
    for found in _listed(bases):
        if isinstance(found, abc.ABCMeta):
            found.register(mirrored)


def looks(bases: Any) -> dict[str, Any]:
    """What lets instances of a class pass `isinstance` with a base that is a class of Python (`date`).

    Args:
        bases: of the class, packed.
    """
    for found in _listed(bases):
        is_content = found.__module__ in ("builtins", "collections")  # such a base is the mirrored class's, too
        if not is_content and not issubclass(found, BaseException) and not isinstance(found, abc.ABCMeta):
            return {"__class__": property(partial(_known_as, found))}
    return {}


def _known_as(kind: type, instance: object) -> type:
    return kind


def _listed(bases: Any) -> list[type]:
    named = [node[1:] for node in bases if node[0] == "native" and node[1] in _MODULES]
    return [found for name in named if isinstance(found := find(*name, trusted=True), type)]


def installed_class(module: str, name: str) -> type | None:
    """The class of that name in Python's or an installed module that is loaded here, or None.

    It is for `isinstance`. So no object can pose as an exception, as a class of a test runner (which could turn a
    failure into a skip), or as a class that the tests define themselves.
    """
    top = module.partition(".")[0]
    home = sys.modules.get(module)
    if top in _RUNNERS or module == "builtins" or not issubclass(type(home), types.ModuleType):
        return None
    names = vars(home)
    origin = str(getattr(names.get("__spec__"), "origin", None))
    if top not in sys.stdlib_module_names and "site-packages" not in origin and "dist-packages" not in origin:
        return None
    found = names.get(name)
    return found if isinstance(found, type) and not issubclass(found, BaseException) else None


def _exception(module: str, name: str) -> type[BaseException]:
    top = module.partition(".")[0]
    if top not in sys.stdlib_module_names or top in _NOT_LENT:
        raise ValueError(f"{module}.{name} is not carried over")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError:
        found = None
    if not isinstance(found, type) or not issubclass(found, BaseException):
        raise ValueError(f"{module}.{name} is not carried over")
    return found


def is_builtin(name: str) -> bool:
    """Whether Python itself has this name everywhere."""
    return hasattr(builtins, name)
