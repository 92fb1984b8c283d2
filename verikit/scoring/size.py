"""The number of rows in an input, for a progress line: counted if that is cheap, estimated for a large file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

COUNTED = 2**28
"""Size in bytes up to which a file's lines are counted. For a larger one, they are estimated from its first part."""
PART = 2**22


class InputSize:
    """Rows of files in JSON lines. Determined on first use, by the code that shows it."""

    def __init__(self, paths: object = None, limit: int | None = None) -> None:
        """Take one path or several. The size of any other input is unknown. Rows after `limit` are not counted."""
        several = isinstance(paths, Sequence) and not isinstance(paths, str | bytes)
        self._paths: list[object] = list(paths) if several and isinstance(paths, Sequence) else [paths]
        self._limit = limit

    @cached_property
    def rows(self) -> int | None:
        """Return the number of rows, or None if it is unknown: stdin, arrays, tables, compressed files."""
        counts = [_lines(path) if isinstance(path, str | os.PathLike) else None for path in self._paths]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            return self._limit
        total = sum(known)
        return total if self._limit is None else min(total, self._limit)


def _lines(path: str | os.PathLike[str]) -> int | None:
    try:
        if not os.path.isfile(path):
            return None
        size = os.path.getsize(path)
        with open(path, "rb") as stream:
            part = stream.read(PART)
            if not part.lstrip().startswith(b"{") or b"\n" not in part:
                return 1 if part and size == len(part) and part.lstrip().startswith(b"{") else None
            if size > COUNTED:
                return round(part.count(b"\n") * size / len(part))
            count, ends = 0, True
            while part:
                count, ends = count + part.count(b"\n"), part.endswith(b"\n")
                part = stream.read(PART)
            return count + (not ends)
    except OSError:
        return None
