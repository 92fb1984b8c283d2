"""What the science tier does before it forks: loads sympy, and numpy if it is there, and uses sympy once.

The first solve or integral imports and caches much that every child then shares.
"""

import importlib.util

import sympy

if importlib.util.find_spec("numpy"):
    importlib.import_module("numpy.random")

x = sympy.Symbol("x")
sympy.solve(x**2 - 2)
sympy.integrate(sympy.sin(x) ** 2, (x, 0, sympy.pi))
sympy.simplify((x + 1) ** 2 - x**2)
str(sympy.expand((x + 1) ** 3))
