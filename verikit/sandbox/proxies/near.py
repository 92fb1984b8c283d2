"""Values that differ a little from others: a program can't recognize the one that a test expects."""

from __future__ import annotations

import copy
import datetime as dt
import math
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from verikit.sandbox.guest.strict import Unchanged

VARIANTS = 2
_MOST_ROUND = 10**40
"""Maximum power of ten whose roundness is computed, because this takes quadratic time."""


def near(value: Any, variant: int) -> Any:
    """Another value of the same type, sign, length and roundness, as far as that is possible.

    Args:
        value: plain data.
        variant: which one, from 0 to `VARIANTS` - 1.

    Raises:
        Unchanged: There is no other one.
    """
    writer = _OTHER.get(type(value))
    if writer is not None:
        try:
            return writer(value, variant)
        except ArithmeticError:  # at the end of a type's range
            raise Unchanged(f"{value!r:.80} has no neighbour") from None
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        import numpy

        return numpy.array(near(value.tolist(), variant), dtype=value.dtype)
    raise Unchanged(f"{type(value).__name__} can't be changed")


def _int(value: int, variant: int) -> int:
    step = 1
    while value and step < _MOST_ROUND and value % (10 * step) == 0:
        step *= 10
    return value + (step if value >= 0 else -step) * (1 + variant)


def _float(value: float, variant: int) -> float:
    if not math.isfinite(value):
        return 1.5 + variant
    if value == int(value):
        return float(_int(int(value), variant)) if abs(value) < 1e15 else value * (2 + variant)
    decimals = len(repr(value).partition("e")[0].partition(".")[2])
    return round(value + math.copysign(0.1 ** min(decimals, 2), value) * (1 + variant), max(decimals, 2))


def _text(value: str, variant: int) -> str:
    places = [at for at, letter in enumerate(value) if letter.isalnum() and letter.isascii()]
    if not places:
        return value + (value[-1:] or "a") * (1 + variant)
    at = places[0 if variant else -1]
    letter = value[at]
    if letter.isdigit():
        first, many = "0", 10
    else:
        first, many = "a" if letter.islower() else "A", 26
    other = chr(ord(first) + (ord(letter) - ord(first) + 1 + variant) % many)
    return value[:at] + other + value[at + 1 :]


def _bytes(value: Any, variant: int) -> Any:
    return value[:-1] + bytes([value[-1] ^ (1 + variant)]) if value else value + b"a" * (1 + variant)


def _items(items: list[Any], variant: int) -> list[Any]:
    """The items with one changed: the last that can be, or the first."""
    if not items:
        return [variant]
    places = range(len(items))
    for at in places if variant else reversed(places):
        try:
            return [*items[:at], near(items[at], variant), *items[at + 1 :]]
        except Unchanged:
            continue
    raise Unchanged("nothing in it can be changed")


def _dict(value: Any, variant: int) -> Any:
    found = copy.copy(value)
    for key, item in zip(list(value) or [variant], _items(list(value.values()), variant), strict=True):
        found[key] = item
    return found


def _set(value: set[Any], variant: int) -> set[Any]:
    found = set(_items(list(value), variant))
    return found if found != value else {*value, variant}


def _clock(value: dt.time, variant: int) -> dt.time:
    return value.replace(minute=(value.minute + 1 + variant) % 60)


_OTHER: dict[type, Callable[[Any, int], Any]] = {
    bool: lambda v, n: not v,
    type(None): lambda v, n: n,
    int: _int,
    float: _float,
    complex: lambda v, n: v + 1 + n,
    Decimal: lambda v, n: v + 1 + n if v.is_finite() else Decimal(1 + n),
    Fraction: lambda v, n: v + 1 + n,
    str: _text,
    bytes: _bytes,
    bytearray: _bytes,
    list: _items,
    tuple: lambda v, n: tuple(_items(list(v), n)),
    deque: lambda v, n: deque(_items(list(v), n), v.maxlen),
    set: _set,
    frozenset: lambda v, n: frozenset(_set(set(v), n)),
    dict: _dict,
    OrderedDict: _dict,
    defaultdict: _dict,
    Counter: _dict,
    dt.date: lambda v, n: v + dt.timedelta(1 + n) if v.year < dt.MAXYEAR else v - dt.timedelta(1 + n),
    dt.datetime: lambda v, n: v + dt.timedelta(1 + n) if v.year < dt.MAXYEAR else v - dt.timedelta(1 + n),
    dt.timedelta: lambda v, n: v * (2 + n) if v else dt.timedelta(1 + n),
    dt.time: _clock,
    uuid.UUID: lambda v, n: uuid.UUID(int=v.int ^ (1 + n)),
    range: lambda v, n: range(v.start, v.stop + v.step * (1 + n), v.step),
}


def far_values(value: Any) -> list[Any]:
    """Values far from a plain one, and one of another type; empty for strings of several letters.

    A program can distinguish them from a value that a test uses. So they show only that an object does not contain
    everything, which a plain list of all numbers or letters does not do either. A list can't contain all longer
    strings.
    """
    distant = [found for sign in (1, -1) if (found := _distant(value, sign)) is not None]
    if len(distant) < 2:
        return []
    return [*distant, "?!" if isinstance(value, int | float | tuple) else -7]


def _distant(value: Any, sign: int) -> Any:
    if isinstance(value, str):
        if len(value) != 1:
            return None
        return "\u2603" * 40 if sign > 0 else ""
    if isinstance(value, tuple):
        parts = [_distant(part, sign) for part in value]
        return None if None in parts else tuple(parts)
    writer = _DISTANT.get(type(value))
    return writer(value, sign) if writer is not None else None


_DISTANT: dict[type, Callable[[Any, int], Any]] = {
    int: lambda v, sign: sign * (10**15 + 7),
    float: lambda v, sign: sign * 1e15,
    complex: lambda v, sign: sign * complex(1e15, 1e15),
    Fraction: lambda v, sign: sign * Fraction(10**15 + 7, 2),
    Decimal: lambda v, sign: sign * Decimal(10**15 + 7),
    dt.date: lambda v, sign: dt.date.max if sign > 0 else dt.date.min,
    dt.datetime: lambda v, sign: v.replace(year=9999 if sign > 0 else 1, day=1),
}
