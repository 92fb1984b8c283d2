"""The input of a run: rows of a file cut into chunks, from the row after the last one done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import chain, islice

from verikit.errors import SchemaError, UsageError
from verikit.readers import RawRow, Reader
from verikit.scoring.chunk import Chunk
from verikit.scoring.plan import Plan
from verikit.types import Group

MAX_ROWS = 4096
MAX_BYTES = 4 * 2**20
Numbered = tuple[int, RawRow | Group | SchemaError]


class Input:
    """Cuts a file into chunks of about equal work."""

    def __init__(self, path: str, plan: Plan, limit: int | None = None) -> None:
        self._reader = Reader(path, plan.format, plan.mapping)
        self._limit = limit
        self._size = 16

    @property
    def notes(self) -> list[str]:
        """What a person should know about how the file was read; fills while it is."""
        return self._reader.notes

    def pace(self, rows: int, seconds: float, target: float) -> None:
        """Learn from a scored chunk how many rows the next ones should have to take `target` seconds."""
        wanted = int(rows * target / max(seconds, 1e-6))
        self._size = max(1, min(MAX_ROWS, wanted, 2 * self._size))

    def chunks(self, after: int = 0, id: str = "", only: AbstractSet[int] | None = None) -> Iterator[Chunk]:
        """Chunks of the rows after line `after`, whose row must have `id` (if not ""); if given, of lines in `only`.

        Raises:
            UsageError: the file can't be read, or that row is another.
        """
        rows = iter(islice(self._reader.rows(), self._limit))
        ahead = self._skip(rows, after, id) if after else []
        items = self._reader.items(chain(ahead, rows), raw=True)
        for cut in self._cut(items if only is None else (item for item in items if item[0] in only)):
            yield Chunk(cut, self._reader.parser)

    def _skip(
        self, rows: Iterator[tuple[int, RawRow | SchemaError]], after: int, id: str
    ) -> list[tuple[int, RawRow | SchemaError]]:
        for line, row in rows:
            if line > after:
                break
            if line == after and id and not self._has_id(line, row, id):
                raise UsageError(
                    f"line {line} of {self._reader.name} is not the row {id!r} that the folder was made from",
                    hint="--restart scores everything anew; -o chooses another folder",
                )
        else:
            return []
        return [(line, row)]

    def _has_id(self, line: int, row: RawRow | SchemaError, id: str) -> bool:
        if isinstance(row, SchemaError) or self._reader.parser is None:
            return False
        group = self._reader.parser.parse(line, row)
        return isinstance(group, Group) and (group.id == id or id.startswith("line:"))

    def _cut(self, items: Iterable[Numbered]) -> Iterator[list[Numbered]]:
        """Cut by rows and by bytes; items of one number stay together, so that every chunk can be committed."""
        chunk: list[Numbered] = []
        held = 0
        for line, item in items:
            if chunk and line != chunk[-1][0] and (len(chunk) >= self._size or held >= MAX_BYTES):
                yield chunk
                chunk, held = [], 0
            chunk.append((line, item))
            held += _weight(item)
        if chunk:
            yield chunk


def _weight(item: RawRow | Group | SchemaError) -> int:
    if isinstance(item, bytes):
        return len(item)
    return sum(map(len, item.completions)) if isinstance(item, Group) else 1000
