"""Values of other types than Python's plain ones, as plain data: what of them can cross the sandbox's wall.

Neither numpy nor sympy is needed to read `Array` and `Symbolic`.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False, slots=True)
class OpaqueValue:
    """A value of a type that does not travel; equal to nothing."""

    type: str
    repr: str = ""

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return object.__hash__(self)


@dataclass(frozen=True, slots=True)
class Array:
    """A numpy array or scalar (`shape` is None): plain data, `items` in C order."""

    dtype: str
    shape: tuple[int, ...] | None
    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Symbolic:
    """A sympy expression as its `srepr`; `LocalSandbox.equivalent` compares two."""

    srepr: str


def carried(value: Any, max_array: int) -> Any:
    """The replacement of a value of another than a plain type: an array, a symbol, a plain container, or `OpaqueValue`.

    Runs in the candidate's process.

    Args:
        value: of any type.
        max_array: maximum number of items in an array.
    """
    kind = type(value)
    home = str(getattr(kind, "__module__", "")).partition(".")[0]
    try:
        if (container := _container(value)) is not None:
            return container
        if home == "numpy" and is_plain_data(value) and value.size <= max_array:
            is_array = kind.__name__ == "ndarray"
            items = value.ravel().tolist() if is_array else [value.item()]
            return Array(value.dtype.str, value.shape if is_array else None, tuple(items))
        if home == "sympy":
            from sympy import Basic, MatrixBase, srepr

            if isinstance(value, Basic | MatrixBase):
                return Symbolic(srepr(value))
        shown = repr(value)[:2000]
    except Exception:  # noqa: BLE001 - the candidate's own code may run here
        shown = ""
    return OpaqueValue(f"{kind.__module__}.{kind.__qualname__}"[:200], shown if well_formed(shown) else ascii(shown))


def _container(value: Any) -> Any:
    """A container derived from a plain one as the plain one, if both are equal to the same values; otherwise None.

    A named tuple and a `defaultdict` inherit `__eq__`; `Counter` and `OrderedDict` have their own for each other only.
    """
    kind = type(value)
    if kind in (Counter, OrderedDict):
        return dict(value)
    for known in (dict, list, tuple, set, frozenset):
        if issubclass(kind, known) and kind.__eq__ is known.__eq__:
            return known(value)
    return None


def is_plain_data(value: Any) -> bool:
    """Whether a numpy value contains numbers or text that Python's own types represent exactly (no `longdouble`)."""
    return bool(hasattr(value, "dtype") and value.dtype.kind in "biufcSU" and value.dtype.char not in "gG")


def well_formed(text: str) -> bool:
    """Whether a string is valid Unicode, without lone surrogates."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)
