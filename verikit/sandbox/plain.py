"""Numbers of numpy and sympy, as the plain Python values they are equal to.

Data that crosses the sandbox's wall was written in the candidate's process, so it is never evaluated here. Numbers are
read from their digits by one closed grammar. All other sympy objects stay `Symbolic`, which equals no plain value.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from verikit.sandbox.foreign import Array, Symbolic
from verikit.sandbox.values import hashable

_INTEGER = re.compile(r"Integer\((-?[0-9]{1,4000})\)")
_RATIONAL = re.compile(r"Rational\((-?[0-9]{1,4000}), ([1-9][0-9]{0,3999})\)")
_DOUBLE = re.compile(r"Float\('(-?[0-9]{1,25}(?:\.[0-9]{0,25})?(?:e[+-]?[0-9]{1,4})?)', precision=53\)")
"""Of a double's precision and no other: a float of a few bits equals numbers that it is not."""


def plain(value: Any) -> Any:
    """The same value with numpy scalars and sympy's numbers and truth values as Python's, at any depth.

    Raises:
        ValueError: Keys or items of a set that collide on purpose.
    """
    if isinstance(value, Array):
        return value.items[0] if not value.shape and len(value.items) == 1 else value
    if isinstance(value, Symbolic):
        return _number(value)
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    if isinstance(value, set | frozenset):
        return type(value)(hashable([plain(item) for item in value]))
    if isinstance(value, dict):
        keys = hashable([plain(key) for key in value])
        return dict(zip(keys, map(plain, value.values()), strict=True))
    return value


def _number(value: Symbolic) -> Any:
    text = value.srepr
    if text in ("true", "false"):
        return text == "true"
    if found := _INTEGER.fullmatch(text):
        return int(found[1])
    if found := _RATIONAL.fullmatch(text):
        return Fraction(int(found[1]), int(found[2]))
    if found := _DOUBLE.fullmatch(text):
        return float(found[1])
    return value


def thawed(value: Any) -> Any:
    """A value with its numpy data as numpy has it, and sympy's numbers as Python's, at any depth."""
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(map(thawed, value))
    if isinstance(value, dict):
        return {thawed(key): thawed(item) for key, item in value.items()}
    if isinstance(value, Symbolic):
        return plain(value)
    if not isinstance(value, Array):
        return value
    import numpy

    array = numpy.array(value.items, dtype=value.dtype)
    return array[0] if value.shape is None else array.reshape(value.shape)
