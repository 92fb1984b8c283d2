"""Immutable values that cross the wall as copies: numbers, text, dates, and similar values."""

from __future__ import annotations

import dataclasses
import datetime as dt
import uuid
import zoneinfo
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

from verikit.sandbox import values
from verikit.sandbox.foreign import Array, Symbolic, carried
from verikit.sandbox.plain import thawed

SCALARS = frozenset({type(None), bool, int, float, complex, str, bytes, Fraction, Decimal})
"""Types that typed JSON has a form for."""
_NAMED: dict[str, Any] = {
    "Ellipsis": Ellipsis,
    "NotImplemented": NotImplemented,
    **{name: getattr(dataclasses, name) for name in ("MISSING", "_FIELD", "_FIELD_CLASSVAR", "_FIELD_INITVAR")},
}
_NAMES = {id(value): name for name, value in _NAMED.items()}
"""Singleton values. The last ones mark the fields of data classes."""


def pack(value: Any) -> list[Any] | None:
    """The JSON form of an immutable value; None for any other value."""
    kind = type(value)
    if kind in SCALARS:
        return ["value", values.encode(value)]
    writer = _WRITERS.get(kind)
    if writer is not None:
        return [kind.__name__, values.encode(writer(value))]
    if id(value) in _NAMES:
        return ["named", _NAMES[id(value)]]
    home = str(getattr(kind, "__module__", "")).partition(".")[0]
    if home == "pathlib" and isinstance(value, PurePosixPath):
        return ["path", values.encode([kind.__name__, str(value)])]
    if home not in ("numpy", "sympy") or kind.__name__ == "ndarray":
        return None
    foreign = carried(value, values.MAX_ARRAY)
    return ["value", values.encode(foreign)] if isinstance(foreign, Array | Symbolic) else None


def unpack(tag: str, node: Any) -> Any:
    """The value of a node created by `pack`."""
    if tag == "named":
        return _NAMED[node]
    content = values.decode(node)
    try:
        return _READERS[tag](content)
    except (TypeError, KeyError, OverflowError, AttributeError) as problem:
        raise ValueError(f"not a {tag}: {problem}") from None


def _zone(zone: dt.tzinfo | None) -> Any:
    if zone is None:
        return None
    if type(zone) is zoneinfo.ZoneInfo and zone.key:
        return zone.key
    if type(zone) is dt.timezone:
        offset = zone.utcoffset(None)
        return [offset.days, offset.seconds, offset.microseconds, zone.tzname(None)]
    raise ValueError(f"a time zone of the type {type(zone).__name__} does not travel")


def _read_zone(node: Any) -> dt.tzinfo | None:
    if node is None:
        return None
    if isinstance(node, str):
        return zoneinfo.ZoneInfo(node)
    days, seconds, microseconds, name = node
    offset = dt.timedelta(days, seconds, microseconds)
    return dt.UTC if not offset and name == "UTC" else dt.timezone(offset, name)


def _moment(value: dt.datetime) -> list[Any]:
    return [value.replace(tzinfo=None).isoformat(), value.fold, _zone(value.tzinfo)]


def _read_moment(content: list[Any]) -> dt.datetime:
    text, fold, zone = content
    return dt.datetime.fromisoformat(text).replace(fold=fold, tzinfo=_read_zone(zone))


def _read_time(content: list[Any]) -> dt.time:
    text, fold, zone = content
    return dt.time.fromisoformat(text).replace(fold=fold, tzinfo=_read_zone(zone))


def _read_path(content: list[Any]) -> PurePosixPath:
    import pathlib

    kind, text = content
    if kind not in ("PurePosixPath", "PosixPath"):
        raise ValueError("not a path")
    found: PurePosixPath = getattr(pathlib, kind)(text)
    return found


_WRITERS: dict[type, Callable[[Any], Any]] = {
    dt.date: lambda v: v.isoformat(),
    dt.datetime: _moment,
    dt.time: lambda v: [v.replace(tzinfo=None).isoformat(), v.fold, _zone(v.tzinfo)],
    dt.timedelta: lambda v: [v.days, v.seconds, v.microseconds],
    dt.timezone: _zone,
    zoneinfo.ZoneInfo: lambda v: v.key,
    uuid.UUID: str,
    range: lambda v: [v.start, v.stop, v.step],
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "value": thawed,
    "date": dt.date.fromisoformat,
    "datetime": _read_moment,
    "time": _read_time,
    "timedelta": lambda content: dt.timedelta(*content),
    "timezone": _read_zone,
    "ZoneInfo": _read_zone,
    "UUID": uuid.UUID,
    "range": lambda content: range(*content),
    "path": _read_path,
}
TAGS = frozenset({"named", *_READERS})
