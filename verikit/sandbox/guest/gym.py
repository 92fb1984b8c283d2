"""Set-up of the reasoning_gym tier before it forks: loads the package for all children.

matplotlib, which a dependency imports only to plot, is skipped. It takes longer to load than everything else.
"""

import importlib.util
import sys
import types
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

PLOTTERS = ("matplotlib", "mpl_toolkits")


class Absent(types.ModuleType):
    """A module that nothing here uses, or anything in it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(name)


class Plotting(MetaPathFinder, Loader):
    """A substitute for matplotlib."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find what belongs to matplotlib."""
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in PLOTTERS else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """Make an empty module."""
        return Absent(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run."""


if importlib.util.find_spec("reasoning_gym"):
    sys.meta_path.insert(0, Plotting())
    importlib.import_module("reasoning_gym")
    import sympy

    _x = sympy.Symbol("x")
    sympy.simplify(sympy.diff(sympy.parse_expr("2*x**3 + sin(x)"), _x) - _x)
