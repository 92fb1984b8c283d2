"""Compare what a program gave with what a test expects: values as data, outputs as text."""

from __future__ import annotations

from typing import Any

from verikit.sandbox import Array, LocalSandbox, Opaque, Symbolic, same
from verikit.verifiers.code_tests import Called, Equality


def holds(case: Called, value: Any, box: LocalSandbox, equality: Equality | None, tolerance: float) -> bool:
    """Whether a value is what the case expects.

    Args:
        case: what was called and what must come out.
        value: what came out of the sandbox.
        box: where symbolic values are compared.
        equality: instead of the case's own.
        tolerance: by which numbers may differ, absolutely or relatively.
    """
    if isinstance(value, Array) and value.shape is None:
        value = value.items[0]
    if isinstance(value, Symbolic) and type(case.expected) is int:
        return box.equivalent(value, Symbolic(f"Integer({case.expected})"))
    if case.relation in ("true", "false"):
        return not isinstance(value, Opaque) and bool(value) is (case.relation == "true")
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


def _listed(value: Any) -> Any:
    """The same value as JSON would have it: tuples are lists."""
    if isinstance(value, list | tuple):
        return [_listed(item) for item in value]
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return value


def close(a: Any, b: Any, tolerance: float, *, relative: bool = True) -> bool:
    """Whether two values are equal up to a tolerance on their numbers, absolute or (if allowed) relative."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(close(x, y, tolerance, relative=relative) for x, y in zip(a, b, strict=True))
    if isinstance(a, int | float) and isinstance(b, int | float):
        try:
            return abs(a - b) <= tolerance * (max(1.0, abs(a), abs(b)) if relative else 1.0) or a == b
        except OverflowError:
            return a == b
    return bool(a == b)


def same_output(got: str, wanted: str, tolerance: float) -> bool:
    """Compare whole outputs, trailing space aside; with a tolerance, word by word."""
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
