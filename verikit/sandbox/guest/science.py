"""Set-up of the science tier before it forks: loads sympy, and numpy if it exists, and uses sympy once.

The first solve or integral imports and caches much data that every child then shares.
"""

import importlib.util

import sympy

if importlib.util.find_spec("numpy"):
    importlib.import_module("numpy.random")

_x = sympy.Symbol("x")
sympy.solve(_x**2 - 2)
sympy.integrate(sympy.sin(_x) ** 2, (_x, 0, sympy.pi))
sympy.simplify((_x + 1) ** 2 - _x**2)
str(sympy.expand((_x + 1) ** 3))
