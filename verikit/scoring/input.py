"""The input of a run: rows of a file split into chunks, starting after the last finished row.

A running checksum of the rows detects whether the rows before that have changed since they were scored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from zlib import crc32

from verikit.errors import SchemaError, UsageError
from verikit.readers import Paths, RawRow, Reader, RowSource
from verikit.scoring.chunk import Chunk
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.sums import Commit
from verikit.types import Group

MAX_ROWS = 4096
MAX_BYTES = 4 * 2**20
GIVE_UP = 1000
"""A file is rejected if none of its first rows, up to this number, can be read: it is not the right file."""
Numbered = tuple[int, RawRow | Group | SchemaError]


class OtherRowsError(UsageError):
    """The rows have changed since they were scored."""


class Input:
    """Splits files, read as one, into chunks of about equal work, each of at least `batch` rows.

    The first is no longer than that, so an interrupt loses little even with a slow verifier.

    Raises:
        UsageError: The file can't be read, or has no rows.
    """

    def __init__(self, source: Paths | RowSource, plan: ScoringPlan, limit: int | None = None, batch: int = 1) -> None:
        self._reader = Reader(source, plan.format, plan.mapping, plan.gold)
        self._limit = limit
        self._read = self._last_read = 0
        """Rows read so far, and the line of the last within the limit: a table's first row is on line 2."""
        self._skipped = 0
        self._size = self._batch = min(batch, MAX_ROWS)
        rows = self._reader.rows()
        self._rows = chain([next(rows)], rows)
        self._checksum = 0
        self._checksums: deque[tuple[int, int]] = deque()

    @property
    def gold_digest(self) -> str | None:
        """A digest of the gold answers in another file, or None if there is none."""
        return self._reader.gold_digest

    @property
    def notes(self) -> list[str]:
        """Notes for the user on how the file was read. Grows during reading."""
        return self._reader.notes

    def pace(self, rows: int, seconds: float, target: float) -> None:
        """Adapt the number of rows in the next chunks, from a scored one, so each takes `target` seconds."""
        wanted = int(rows * target / max(seconds, 1e-6))
        self._size = max(self._batch, min(MAX_ROWS, wanted, 2 * self._size))

    def skip(self, commit: Commit) -> None:
        """Skip the rows that are done.

        Raises:
            OtherRowsError: They are not the rows of this file.
        """
        last = 0
        while last < commit.line:
            last, row = next(self._rows, (commit.line + 1, b""))
            self._count(last)
            self._checksum = _add(row, self._checksum)
        self._skipped = commit.line
        if last != commit.line or self._checksum != commit.checksum:
            raise OtherRowsError(
                f"the first {commit.line} rows of {self._reader.name} changed since the last run",
                hint="pass --restart to rescore everything, or choose another folder with -o",
            )

    def checksum(self, line: int) -> int:
        """Return the checksum of the rows up to one that ended a chunk. Call it in the order of the chunks."""
        while self._checksums[0][0] < line:
            self._checksums.popleft()
        return self._checksums[0][1]

    def chunks(self) -> Iterator[Chunk]:
        """Chunks of the rows that were not skipped, up to the limit.

        Raises:
            UsageError: None of the first rows can be read.
        """
        items = self._reader.items(self._summed(), raw=True)
        return self._chunks(items if self._limit is None else self._until(items))

    def chosen(self, lines: Iterable[int]) -> Iterator[Chunk]:
        """Yield chunks with only the rows of these lines, which are in ascending order."""
        return self._chunks(_only(self._reader.items(self._rows, raw=True), iter(lines)))

    def _chunks(self, items: Iterable[Numbered]) -> Iterator[Chunk]:
        for cut in self._cut(items):
            yield Chunk(cut, self._reader.parser, self._reader.places)

    def _summed(self) -> Iterator[tuple[int, RawRow | SchemaError]]:
        """Yield the rows. Record the checksum after each, and give up if none can be read."""
        unread: list[SchemaError] = []
        for line, row in self._rows:
            self._count(line)
            self._checksum = _add(row, self._checksum)
            self._checksums.append((line, self._checksum))
            if isinstance(row, SchemaError) and self._reader.parser is None:
                unread.append(row)
                if len(unread) == GIVE_UP:
                    first = unread[0]
                    raise UsageError(f"the first {GIVE_UP} rows can't be read. First error: {first}", hint=first.hint)
            yield line, row

    @property
    def beyond_limit(self) -> bool:
        """Whether more rows were skipped than the limit allows."""
        return self._limit is not None and self._skipped > self._last_read

    def _count(self, line: int) -> None:
        """Count a row."""
        self._read += 1
        if self._limit is None or self._read <= self._limit:
            self._last_read = line

    def _until(self, items: Iterable[Numbered]) -> Iterator[Numbered]:
        """Yield items up to the one with the last row within the limit, and all with the same number."""
        last = self._skipped
        for line, item in items:
            if last >= self._last_read and line != last:
                return
            yield line, item
            last = line

    def _cut(self, items: Iterable[Numbered]) -> Iterator[list[Numbered]]:
        """Split by rows and by bytes. Items with one number stay together, so every chunk can be committed."""
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


def _add(row: RawRow | SchemaError, checksum: int) -> int:
    if isinstance(row, bytes):
        return crc32(row, checksum)
    told = row.problem if isinstance(row, SchemaError) else repr(row)
    return crc32(told.encode(errors="replace"), checksum)


def _weight(item: RawRow | Group | SchemaError) -> int:
    if isinstance(item, bytes):
        return len(item)
    return sum(map(len, item.completions)) if isinstance(item, Group) else 1000


def _only(items: Iterable[Numbered], lines: Iterator[int]) -> Iterator[Numbered]:
    wanted = next(lines, None)
    for line, item in items:
        while wanted is not None and wanted < line:
            wanted = next(lines, None)
        if wanted is None:
            return
        if line == wanted:
            yield line, item
