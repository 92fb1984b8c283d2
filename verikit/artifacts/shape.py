"""Checks of observations: a child under a file's control may return any data at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Observed = dict[str, Any]
"""An observation that has been checked."""
Shape = Callable[[Any], Any]
"""Returns a value that has the shape; raises ValueError."""

_MOST_TEXT = 1 << 20
MOST_SIDE = 4096
"""Pixels of a side of a picture."""


def text(value: Any) -> str:
    """A string of at most a million characters."""
    if type(value) is not str or len(value) > _MOST_TEXT:
        raise ValueError("the observation must contain a string here")
    return value


def truth(value: Any) -> bool:
    """True or False."""
    if type(value) is not bool:
        raise ValueError("the observation must contain a truth value here")
    return value


def whole(value: Any) -> int:
    """An integer of at most 15 digits."""
    if type(value) is not int or abs(value) > 10**15:
        raise ValueError("the observation must contain an integer here")
    return value


def number(value: Any) -> float:
    """A finite number."""
    if type(value) not in (int, float) or abs(value) > 1e308 or not math.isfinite(value):
        raise ValueError("the observation must contain a number here")
    return float(value)


def scalar(value: Any) -> str | bool | float | None:
    """The content of a cell: nothing, a string, a truth value or a finite number."""
    if value is None or type(value) is bool:
        return value
    return text(value) if type(value) is str else number(value)


def raw(value: Any) -> bytes:
    """Bytes."""
    if type(value) is not bytes:
        raise ValueError("the observation must contain bytes here")
    return value


def each(item: Shape, most: int) -> Shape:
    """A list of at most `most` items."""

    def check(value: Any) -> list[Any]:
        if type(value) is not list or len(value) > most:
            raise ValueError("an observation without a list, or with too long a one")
        return [item(each_item) for each_item in value]

    return check


def mapping(item: Shape, most: int) -> Shape:
    """A dict with string keys and at most `most` items."""

    def check(value: Any) -> dict[str, Any]:
        if type(value) is not dict or len(value) > most:
            raise ValueError("an observation without a mapping, or with too large a one")
        return {text(key): item(content) for key, content in value.items()}

    return check


def record(fields: Mapping[str, Shape]) -> Shape:
    """A dict with exactly these keys."""

    def check(value: Any) -> dict[str, Any]:
        if type(value) is not dict or set(value) != set(fields):
            raise ValueError("an observation with other keys than its reader's")
        return {name: item(value[name]) for name, item in fields.items()}

    return check


def with_pixels(found: Observed) -> Observed:
    """An observation whose `pixels`, 3 bytes each, have the size that `wide` and `high` give."""
    sides = found["wide"], found["high"]
    if min(sides) < 1 or max(sides) > MOST_SIDE or len(found["pixels"]) != 3 * sides[0] * sides[1]:
        raise ValueError("an observation with other pixels than it gives the size of")
    return found
