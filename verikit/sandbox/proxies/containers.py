"""Values that can change in place: both children have a copy, and each sends its changes to the other.

Only one child runs at a time, so the copies are equal when code reads them. `cells` of a container are the objects in
it, which are packed one by one. `shape` is the rest of its state, as plain data.
"""

from __future__ import annotations

import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from verikit.sandbox.foreign import is_plain_data
from verikit.sandbox.values import MAX_ARRAY


@dataclass(frozen=True, slots=True)
class ContainerKind:
    """How containers of one type are split into parts and rebuilt."""

    name: str
    cells: Callable[[Any], list[Any]]
    fill: Callable[[Any, list[Any], Any], None]
    """Give an existing container new cells and a new shape."""
    shape: Callable[[Any], Any] = lambda value: None
    empty: Callable[[Any], Any] = lambda shape: None
    """A new container of that shape."""


def _fill_list(value: Any, cells: list[Any], shape: Any) -> None:
    list.__setitem__(value, slice(None), cells)


def _fill_set(value: Any, cells: list[Any], shape: Any) -> None:
    set.clear(value)
    set.update(value, cells)


def _pairs(value: Any) -> list[Any]:
    return [part for pair in dict.items(value) for part in pair]


def _fill_dict(value: Any, cells: list[Any], shape: Any) -> None:
    dict.clear(value)
    for key, item in zip(cells[::2], cells[1::2], strict=True):
        dict.__setitem__(value, key, item)


def _fill_ordered(value: Any, cells: list[Any], shape: Any) -> None:
    OrderedDict.clear(value)
    for key, item in zip(cells[::2], cells[1::2], strict=True):
        OrderedDict.__setitem__(value, key, item)


def _fill_default(value: Any, cells: list[Any], shape: Any) -> None:
    value.default_factory = cells[0]
    _fill_dict(value, cells[1:], shape)


def _fill_deque(value: Any, cells: list[Any], shape: Any) -> None:
    deque.clear(value)
    deque.extend(value, cells)


def _fill_bytes(value: Any, cells: list[Any], shape: Any) -> None:
    value[:] = shape


def _fill_typed(value: Any, cells: list[Any], shape: Any) -> None:
    value[:] = array.array(*shape)


def _array_shape(value: Any) -> Any:
    return [value.dtype.str, list(value.shape), value.ravel().tolist()]


def _fill_array(value: Any, cells: list[Any], shape: Any) -> None:
    value[...] = _new_array(shape)


def _new_array(shape: Any) -> Any:
    import numpy

    dtype, sizes, items = shape
    if len(items) > MAX_ARRAY or not all(isinstance(size, int) and size >= 0 for size in sizes):
        raise ValueError("not an array")
    return numpy.array(items, dtype=numpy.dtype(dtype)).reshape(sizes)


_KINDS: dict[type, ContainerKind] = {
    list: ContainerKind("list", lambda v: list.__getitem__(v, slice(None)), _fill_list, empty=lambda shape: []),
    dict: ContainerKind("dict", _pairs, _fill_dict, empty=lambda shape: {}),
    set: ContainerKind("set", lambda v: list(set.__iter__(v)), _fill_set, empty=lambda shape: set()),
    OrderedDict: ContainerKind("OrderedDict", _pairs, _fill_ordered, empty=lambda shape: OrderedDict()),
    Counter: ContainerKind("Counter", _pairs, _fill_dict, empty=lambda shape: Counter()),
    defaultdict: ContainerKind(
        "defaultdict", lambda v: [v.default_factory, *_pairs(v)], _fill_default, empty=lambda shape: defaultdict()
    ),
    deque: ContainerKind(
        "deque", lambda v: list(deque.__iter__(v)), _fill_deque, lambda v: v.maxlen, lambda shape: deque(maxlen=shape)
    ),
    bytearray: ContainerKind("bytearray", lambda v: [], _fill_bytes, bytes, bytearray),
    memoryview: ContainerKind(
        "memoryview", lambda v: [], _fill_bytes, bytes, lambda shape: memoryview(bytearray(shape))
    ),
    array.array: ContainerKind(
        "array", lambda v: [], _fill_typed, lambda v: [v.typecode, v.tolist()], lambda shape: array.array(*shape)
    ),
}
_ARRAY = ContainerKind("ndarray", lambda v: [], _fill_array, _array_shape, _new_array)
MUTABLE_BASES: dict[type, ContainerKind] = {
    base: _KINDS[base] for base in (list, dict, set, OrderedDict, Counter, deque)
}
"""Types whose subclasses store a copy of their content next to the object."""


def kind_of(value: Any) -> ContainerKind | None:
    """The kind of exactly this container; None for other values, and for arrays of objects."""
    found = _KINDS.get(type(value))
    if found is not None:
        return found
    kind = type(value)
    home = str(getattr(kind, "__module__", "")).partition(".")[0]
    if home == "numpy" and kind.__name__ == "ndarray" and is_plain_data(value) and value.size <= MAX_ARRAY:
        return _ARRAY
    if home == "pandas":
        from verikit.sandbox.proxies import frames

        return frames.kind_of(value)
    return None


def named(name: str) -> ContainerKind:
    """The kind of that name.

    Raises:
        ValueError: It doesn't exist.
    """
    if name == _ARRAY.name:
        return _ARRAY
    for kind in _KINDS.values():
        if kind.name == name:
            return kind
    from verikit.sandbox.proxies import frames

    return frames.named(name)


class Shared:
    """A container with a copy on both sides, and its content at the last exchange."""

    __slots__ = ("cells", "kept", "kind", "shape", "value")

    def __init__(self, value: Any, kind: ContainerKind, *, kept: bool) -> None:
        self.value, self.kind, self.kept = value, kind, kept
        """`kept`: it belongs to an object and is shared as long as that is lent or borrowed."""
        self.look()

    def look(self) -> None:
        """Record its current content as known to the other side."""
        self.cells, self.shape = self.kind.cells(self.value), self.kind.shape(self.value)

    @property
    def has_changed(self) -> bool:
        """Whether its objects differ from those known to the other side."""
        cells = self.kind.cells(self.value)
        if len(cells) != len(self.cells) or any(a is not b for a, b in zip(cells, self.cells, strict=True)):
            return True
        return bool(self.kind.shape(self.value) != self.shape)
