"""pandas: data frames, series and indexes as containers of their columns."""

from __future__ import annotations

from typing import Any

from verikit.sandbox.proxies.containers import ContainerKind
from verikit.sandbox.values import MAX_ARRAY

_INDEX_TYPES = ("Index", "RangeIndex", "DatetimeIndex", "TimedeltaIndex", "MultiIndex")


def kind_of(value: Any) -> ContainerKind | None:
    """The kind of a pandas value; None if it is not transferred (categories, periods, time zones)."""
    name = type(value).__name__
    if name == "DataFrame":
        parts = [value.index, value.columns, *(value.iloc[:, at] for at in range(value.shape[1]))]
        return _FRAME if value.size <= MAX_ARRAY and all(map(_is_carried, parts)) else None
    if name == "Series":
        return _SERIES if value.size <= MAX_ARRAY and _is_carried(value) and _is_carried(value.index) else None
    return _INDEX if name in _INDEX_TYPES and value.size <= MAX_ARRAY and _is_carried(value) else None


def named(name: str) -> ContainerKind:
    """The kind of that name.

    Raises:
        ValueError: It doesn't exist.
    """
    for kind in (_FRAME, _SERIES, _INDEX):
        if kind.name == name:
            return kind
    raise ValueError(f"unknown container {name[:40]!r}")


def _is_carried(value: Any) -> bool:
    if type(value).__name__ == "MultiIndex":
        return True
    return str(value.dtype).partition("[")[0] in _DTYPES


_DTYPES = frozenset(
    """int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex128 bool object str string datetime64
    timedelta64 Int64 Float64 boolean""".split()
)


def _column(value: Any) -> list[Any]:
    """A series or index as [type, dtype, name, items], the items as Python's own."""
    kind = type(value).__name__
    if kind == "RangeIndex":
        return [kind, "", value.name, [value.start, value.stop, value.step]]
    if kind == "MultiIndex":
        return [kind, "", list(value.names), [list(row) for row in value]]
    dtype = str(value.dtype)
    if dtype.startswith(("datetime64", "timedelta64")):
        items: list[Any] = [int(item) for item in value.to_numpy().view("int64")]
    else:
        items = [_missing(item) for item in value.tolist()]
    return [kind, dtype, value.name, items]


def _missing(item: Any) -> Any:
    return None if type(item).__name__ in ("NAType", "NaTType") else item


def _new_column(cells: list[Any]) -> Any:
    import pandas

    kind, dtype, name, items = cells
    if kind == "RangeIndex":
        return pandas.RangeIndex(*items, name=name)
    if kind == "MultiIndex":
        return pandas.MultiIndex.from_tuples([tuple(row) for row in items], names=name)
    if dtype.partition("[")[0] not in _DTYPES:
        raise ValueError("not a dtype")
    if dtype.startswith(("datetime64", "timedelta64")):
        import numpy

        items = numpy.array(items, dtype="int64").view(dtype)
    if kind == "Series":
        return pandas.Series(items, dtype=dtype, name=name)
    return pandas.Index(items, dtype=dtype, name=name)


def _frame_cells(value: Any) -> list[Any]:
    columns = (value.iloc[:, at] for at in range(value.shape[1]))
    return [_column(value.index), _column(value.columns), *map(_column, columns)]


def _new_frame(cells: list[Any]) -> Any:
    import pandas

    index, names, *columns = map(_new_column, cells)
    frame = pandas.DataFrame({at: column.to_numpy() for at, column in enumerate(columns)}, index=index)
    for at, column in enumerate(columns):
        frame[at] = column.array
    frame.columns = names
    return frame


def _new_series(cells: list[Any]) -> Any:
    series, index = map(_new_column, cells)
    series.index = index
    return series


def _replace(value: Any, other: Any) -> None:
    value._mgr = other._mgr
    if hasattr(value, "_name"):
        value._name = other._name


_FRAME = ContainerKind(
    "DataFrame", lambda v: [], lambda v, cells, shape: _replace(v, _new_frame(shape)), _frame_cells, _new_frame
)
_SERIES = ContainerKind(
    "Series", lambda v: [], lambda v, cells, shape: _replace(v, _new_series(shape)),
    lambda v: [_column(v), _column(v.index)], _new_series,
)  # fmt: skip
_INDEX = ContainerKind("Index", lambda v: [], lambda v, cells, shape: None, _column, _new_column)
