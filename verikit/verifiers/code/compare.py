"""Compare a program's results with a test's expectations: values as data, outputs as text."""

from __future__ import annotations

import math
from typing import Any

from verikit.sandbox import Array, OpaqueValue, Symbolic, same
from verikit.sandbox.plain import plain
from verikit.verifiers.code.cases import Called, Equality


def holds(case: Called, value: Any, equality: Equality | None, tolerance: float) -> bool:
    """Whether a value is the one the case expects; numpy and sympy numbers are treated as the plain numbers they equal.

    Args:
        case: the call and its expected value.
        value: the value that the sandbox returned.
        equality: instead of the case's own.
        tolerance: how far numbers may differ, absolutely or relative to the expected value.

    Raises:
        ValueError: The value was made to be hard to compare.
    """
    value = plain(value)
    if case.relation in ("true", "false"):
        return _truth(value) is (case.relation == "true")
    if case.relation == "close":
        return close(value, case.expected, case.tolerance, relative=False)
    if tolerance and close(value, case.expected, tolerance):
        return True
    equality = equality or case.equality
    if equality == "exact":
        return same(value, case.expected)
    if equality == "json":
        got, wanted = _listed(value), _listed(case.expected)
        return bool(got == wanted or (case.wrapped and got == wanted[0]))
    return bool(value == case.expected)


def _truth(value: Any) -> bool | None:
    """The truth value of a value; None if it is not known or Python would raise."""
    if isinstance(value, OpaqueValue | Symbolic):
        return None
    if isinstance(value, Array):
        return bool(value.items[0]) if len(value.items) == 1 else None
    return bool(value)


def _listed(value: Any) -> Any:
    """The same value as in JSON: tuples become lists."""
    if isinstance(value, list | tuple):
        return [_listed(item) for item in value]
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return value


def close(value: Any, expected: Any, tolerance: float, *, relative: bool = True) -> bool:
    """Whether a value equals the expected one up to a tolerance on its numbers, absolute or (if allowed) relative.

    Infinity is close to itself only. The size of the value does not widen the tolerance.
    """
    if isinstance(value, list | tuple) and isinstance(expected, list | tuple):
        return len(value) == len(expected) and all(
            close(a, b, tolerance, relative=relative) for a, b in zip(value, expected, strict=True)
        )
    if isinstance(value, int | float) and isinstance(expected, int | float):
        try:
            if math.isfinite(value) and math.isfinite(expected):
                return abs(value - expected) <= tolerance * (max(1.0, abs(expected)) if relative else 1.0)
        except OverflowError:  # an integer beyond every float
            pass
    return bool(value == expected)


def same_output(got: str, wanted: str, tolerance: float) -> bool:
    """Compare whole outputs, ignoring trailing spaces; with a tolerance, compare word by word."""
    a, b = ([line.rstrip() for line in text.rstrip().split("\n")] for text in (got, wanted))
    if a == b or not tolerance:
        return a == b
    return len(a) == len(b) and all(
        len(x.split()) == len(y.split())
        and all(_same_word(v, w, tolerance) for v, w in zip(x.split(), y.split(), strict=True))
        for x, y in zip(a, b, strict=True)
    )


def _same_word(a: str, b: str, tolerance: float) -> bool:
    if a == b:
        return True
    try:
        return close(float(a), float(b), tolerance)
    except ValueError:
        return False


def show(value: Any) -> str:
    """A short form of a value for a reason."""
    try:
        return repr(value)[:100]
    except ValueError:  # an integer too long to be written in decimal
        return f"an integer of {value.bit_length()} bits" if isinstance(value, int) else "a very large value"
