"""Names of the program, as test code sees them: as if they were its own, or in a module that it imports."""

from __future__ import annotations

import builtins
import importlib
import sys
import types
from collections.abc import Sequence
from typing import Any

from verikit.sandbox.proxies.mirror import Attributes
from verikit.sandbox.proxies.tests import TestsSide

_SHORT = {"np": "numpy", "pd": "pandas", "sp": "sympy"}
"""Modules by their usual aliases in programs. Tests use their own, never the program's object of that name."""


class Borrowed(dict[str, Any]):
    """The names of test code: its own, then Python's, then the program's.

    Args:
        peer: reaches the program.
        names: that are the program's even where Python has them.
    """

    def __init__(self, peer: TestsSide, names: Sequence[str]) -> None:
        super().__init__()
        self._peer, self._names = peer, frozenset(names)

    def __missing__(self, name: str) -> Any:
        if name not in self._names:
            if hasattr(builtins, name) or (name.startswith("__") and name.endswith("__")):
                raise KeyError(name)
            if (module := _SHORT.get(name, name)) in sys.stdlib_module_names or name in _SHORT:
                return importlib.import_module(module)
        found = self._peer.lookup(name)
        if callable(found):
            self[name] = found
        return found


class ProgramModule(types.ModuleType):
    """A module that the tests import and that is the program.

    Args:
        name: of the module.
        peer: reaches the program.
        names: that `import *` takes.
    """

    def __init__(self, name: str, peer: TestsSide, names: Sequence[str]) -> None:
        super().__init__(name)
        for key, item in {"_peer": peer, "__all__": list(names)}.items():
            object.__setattr__(self, key, item)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _of_module(self, name)
        if not found:
            raise AttributeError(f"the program defines no {name!r}")
        return found[0]

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            object.__setattr__(self, name, value)
        else:
            object.__getattribute__(self, "_peer").ask("setglobal", name, value)

    def __delattr__(self, name: str) -> None:
        object.__getattribute__(self, "_peer").ask("delglobal", name)

    def __dir__(self) -> list[str]:
        return list(object.__getattribute__(self, "__all__"))

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return Attributes(self)


def _of_module(module: ProgramModule, name: str) -> tuple[Any, ...]:
    """The value of a name of the program, in a tuple. Modules are proxies, as tests patch functions in them."""
    peer: TestsSide = object.__getattribute__(module, "_peer")
    with peer.modules_stay():
        found: tuple[Any, ...] = peer.ask("global", name)
    return found
