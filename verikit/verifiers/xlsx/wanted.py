"""Whether the options of a row have the right types. A wrong type is the data's fault, not the workbook's.

All checks raise a `UsageError` that names the option.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

from verikit.errors import UsageError

_LARGEST = 1.797e308
"""A little less than the largest number of a cell."""

_HELD = (str, Real, Decimal, date, time, timedelta)


def check_list(option: str, value: Any) -> None:
    """The option must be a list. Tables add nulls."""
    if value is None:
        return
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Collection):
        raise UsageError(f"{option} must be a list, got {_called(value)}")


def check_values(option: str, values: Any) -> None:
    """The option must map cells to values that a cell can hold."""
    for name, value in _cells(option, values):
        if isinstance(value, Real) and not _fits(value):
            raise UsageError(f"{option}[{name!r}] must be a number that a cell can hold")
        if value is not None and not isinstance(value, _HELD) and not hasattr(value, "dtype"):
            raise UsageError(f"{option}[{name!r}] must be a number, string, truth value or null, got {_called(value)}")


def check_strings(option: str, values: Any) -> None:
    """The option must map cells to strings."""
    for name, value in _cells(option, values):
        if not isinstance(value, str):
            raise UsageError(f"{option}[{name!r}] must be a string, got {_called(value)}")


def check_cases(cases: Any) -> None:
    """Cases must have the cells to set, and the values that others then have."""
    check_list("then", cases)
    for case in cases:
        if not isinstance(case, Mapping) or set(case) != {"set", "values"}:
            raise UsageError("a case of `then` has `set` and `values`")
        for key, values in case.items():
            check_values(f"{key} of `then`", values)


def _fits(value: Any) -> bool:
    return bool(-_LARGEST < value < _LARGEST)  # not so for NaN


def _cells(option: str, values: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(values, Mapping):
        raise UsageError(f"{option} must map cells to values, got {_called(values)}", hint='{"D6": 422}')
    return values.items()


def _called(value: Any) -> str:
    return f"a value of type {type(value).__name__}"
