"""Rows of one candidate each, gathered into the group of their prompt, in bounded memory.

A small file may unpack to endless rows of one prompt. So the memory of a group has a cap. A group beyond it becomes one
error instead of its rows, and the rest of it is discarded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from verikit.errors import SchemaError, UsageError
from verikit.readers.files import Places
from verikit.readers.layout import BuiltGroup
from verikit.types import Group

MAX_GROUP_MB = 256
"""MiB in memory that the rows of a group may take. `VERIKIT_GROUP_MB` overrides it."""
_ROW = 1000
"""Bytes of a row in addition to its strings."""


def group_cap() -> int:
    """Return the bytes that the rows of a group may take.

    Raises:
        UsageError: `VERIKIT_GROUP_MB` is not a positive number.
    """
    given = os.environ.get("VERIKIT_GROUP_MB", str(MAX_GROUP_MB))
    if not given.isdecimal() or not int(given):
        raise UsageError(
            f"VERIKIT_GROUP_MB must be a positive number of MiB, got {given!r}", hint="VERIKIT_GROUP_MB=1024"
        )
    return int(given) << 20


class Gathered:
    """The rows of one prompt, and the bad rows between them.

    Args:
        places: Locations of the rows, for the error of a group that is too large.
    """

    def __init__(self, places: Places) -> None:
        self._places, self._cap = places, group_cap()
        self.bad: list[SchemaError] = []
        self._rows: list[BuiltGroup] = []
        self._size = self._begin = self._count = 0

    @property
    def first(self) -> BuiltGroup | None:
        """The first of the rows, or None if there are none."""
        return self._rows[0] if self._rows else None

    def add(self, line: int, built: BuiltGroup) -> None:
        """Add a row with this number. Beyond the cap it is only counted."""
        self._begin = self._begin or line
        self._count += 1
        if self._size > self._cap:
            return
        self._size += size(built.group)
        self._rows.append(built)
        if self._size > self._cap:
            del self._rows[1:]

    def take(self, line: int) -> Iterator[tuple[int, Group | SchemaError]]:
        """Yield the group and the bad rows, all under the number of the last row, and start again."""
        rows, bad, begin, count, over = self._rows, self.bad, self._begin, self._count, self._size > self._cap
        self._rows, self.bad = [], []
        self._size = self._begin = self._count = 0
        if rows and over and count > 1:
            told = f"a group of {count} rows, which take over {self._cap >> 20:,} MiB in memory"
            hint = "give the rows ids, so that they are several groups, or raise VERIKIT_GROUP_MB (MiB a group)"
            yield line, self._places.placed(SchemaError(told, field="id", hint=hint), begin)
        elif rows:
            yield line, _merged([built.group for built in rows])
        for error in bad:
            yield line, error


def size(group: Group) -> int:
    """Return the approximate bytes of a row's group in memory: its strings, plus an allowance for the rest."""
    total = _ROW
    left: list[Any] = [group.prompt, group.completions, group.answer, group.meta, group.candidate_meta]
    while left:
        node = left.pop()
        if isinstance(node, Mapping):
            left += [*node, *node.values()]
        elif isinstance(node, list | tuple):
            left += node
        else:
            total += sys.getsizeof(node)
    return total


def _merged(rows: list[Group]) -> Group:
    """Merge rows with one candidate each into one group.

    Values that differ between the rows become the candidates' own.
    """
    first, *others = rows
    if not others:
        return first
    metas = [row.meta for row in others]
    shared = {key: value for key, value in first.meta.items() if _in_all(metas, key, value)}
    own = [_own_meta(row, shared) for row in rows]
    texts = [row.completions[0] for row in rows]
    return replace(first, completions=texts, meta=shared, candidate_meta=own if any(own) else ())


def _in_all(metas: Sequence[Mapping[str, Any]], key: str, value: Any) -> bool:
    return all(key in meta and meta[key] == value for meta in metas)


def _own_meta(row: Group, shared: Mapping[str, Any]) -> dict[str, Any]:
    """What a candidate's row has beyond the values that all rows share."""
    own = {key: value for key, value in row.meta.items() if key not in shared}
    return own | dict(row.candidate_meta[0]) if row.candidate_meta else own
