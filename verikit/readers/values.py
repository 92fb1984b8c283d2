"""Converts values of tables and data frames to JSON values: strings, numbers, lists and objects."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from verikit.readers.parse import JsonRow

_PLAIN = (str, int, bool, type(None))
_NULLS = ("NAType", "NaTType")
"""Types of pandas' own nulls."""


def plain(value: Any, other: Callable[[Any], Any] = str) -> Any:
    """Return a value as JSON represents it.

    Dates become ISO 8601 strings, decimals strings, durations seconds, bytes their UTF-8 text (or a note of their size)
    and NaN null. Dataclasses become objects. Arrays and numbers of numpy, torch and similar libraries become lists and
    numbers. `other` converts anything else.
    """
    if type(value) in _PLAIN:
        return value
    if type(value) is float:
        return None if math.isnan(value) else value
    if type(value).__name__ in _NULLS:
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(item, other) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, other) for item in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return _text(bytes(value))
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), other) for field in fields(value)}
    return _foreign(value, other)


def plain_row(row: Mapping[Any, Any]) -> JsonRow:
    """Return a row with string keys and plain values."""
    return {str(key): plain(value) for key, value in row.items()}


def _foreign(value: Any, other: Callable[[Any], Any]) -> Any:
    """Convert a number, string or array of another library: they all have `tolist` or `item`."""
    for name in ("tolist", "to_pylist", "item"):
        method = getattr(value, name, None)
        if callable(method):
            told = method()
            return plain(told, other) if type(told) is not type(value) else other(value)
    if isinstance(value, str):  # their subclasses, which may be enums
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    return plain(float(value)) if isinstance(value, float) else other(value)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"<{len(data)} bytes>"
