"""Turns files of any kind into numbered rows. All rows read from files come from here.

rows('a.jsonl')                 one file: JSON lines, a JSON array, CSV, TSV, parquet, Arrow; plain or compressed
rows(['a.jsonl', 'b.csv.zst'])  several, one after the other
rows('out/*.jsonl')             a pattern
rows('saved_dataset/')          a folder, see paths.py
rows('-')                       stdin
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any

from verikit.errors import SchemaError, UsageError, with_hint
from verikit.readers import source
from verikit.readers.parse import JsonRow, parse
from verikit.readers.paths import Paths, expand
from verikit.readers.source import RawRow
from verikit.readers.trials import trial_rows
from verikit.readers.values import plain_row

NO_ROWS = "one JSON object a line is expected"
BAD_ROWS = 10
"""Bad rows of a file that are reported together."""


@dataclass(slots=True)
class Places:
    """Locations of rows that are numbered across several files. Grows while they are read."""

    names: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    """Number of rows before each file."""
    several: bool = False
    """Whether there are or will be several files."""

    def begin(self, name: str, start: int) -> None:
        """Register a file: the rows after number `start` belong to it."""
        self.names.append(name)
        self.starts.append(start)

    def clear(self, *, several: bool) -> None:
        """Remove all files, before they are read again."""
        self.names.clear()
        self.starts.clear()
        self.several = several

    def at(self, number: int) -> tuple[str, int]:
        """The file and line of a row."""
        index = max(0, bisect_left(self.starts, number) - 1)
        return (self.names[index], number - self.starts[index]) if self.names else ("", number)

    def number(self, error: SchemaError) -> int:
        """Return the number of the row that an error identifies by file and line."""
        start = self.starts[self.names.index(error.file)] if error.file in self.names else 0
        return start + error.line

    def placed(self, error: SchemaError, number: int) -> SchemaError:
        """Return the same error, at the file and line of a row."""
        return placed(error, *self.at(number))


def _check_that_all_open(files: Sequence[str]) -> None:
    """Raise for a missing file, before the first is read."""
    for path in files:
        if not os.path.isdir(path):
            with source.opened(path):
                pass


class Files:
    """The rows of files that are read as one, numbered across all of them. Each call of `rows` reads them again.

    Args:
        paths: One path or several, as accepted by `rows`.
        lists: Columns of text tables whose cells are lists, in addition to the usual ones.
        delimiter: Column separator of text tables whose name doesn't identify them.
    """

    def __init__(self, paths: Paths, lists: Collection[str] = (), delimiter: str = "") -> None:
        self._paths, self._lists, self._delimiter = paths, lists, delimiter
        given = [fspath(paths)] if isinstance(paths, str | PathLike) else [fspath(path) for path in paths]
        shown = "<stdin>" if given[:1] == ["-"] else "".join(given[:1])
        self.name: str = shown + (f" and {len(given) - 1} more" if len(given) > 1 else "")
        """Name of all of them in messages."""
        self.places = Places()

    def files(self) -> list[str]:
        """The files that the paths refer to, in order.

        Raises:
            UsageError: A pattern matches nothing, or a folder is not a dataset.
        """
        return expand(self._paths)

    def rows(self) -> Iterator[tuple[int, RawRow | SchemaError]]:
        """Yield the rows as they appear in the files. An unreadable row becomes an error that names file and line.

        If one of several files can't be read as a whole, it becomes an error with its own number.

        Raises:
            UsageError: A file is missing, the only file can't be read, or there are no rows at all.
            MissingExtra: The package that reads such a file is not installed.
        """
        files = self.files()
        several = len(files) > 1
        if several:
            _check_that_all_open(files)
        self.places.clear(several=several)
        last = found = 0
        for path in files:
            name, start = "<stdin>" if path == "-" else path, last
            self.places.begin(name, start)
            try:
                for line, row in self._cut(path, name):
                    last = start + line
                    found += 1
                    yield last, placed(row, name, line) if isinstance(row, SchemaError) else row
                if last == start:
                    raise SchemaError("the file has no rows", file=name, hint=NO_ROWS)
            except UsageError as error:
                if not several:
                    raise
                last += 1
                problem = error.problem if isinstance(error, SchemaError) else str(error)
                yield last, SchemaError(problem, file=name, line=last - start, hint=error.hint)
        if not found:
            raise SchemaError("the files have no rows", file=self.name, hint=NO_ROWS)

    def _cut(self, path: str, name: str) -> Iterator[tuple[int, RawRow | SchemaError]]:
        """Yield the rows of one file, or of a folder of trials."""
        if os.path.isdir(path):
            yield from enumerate(trial_rows(path), 1)
            return
        with source.opened(path) as stream:
            yield from source.cut(stream, name, lists=self._lists, delimiter=self._delimiter)


class HeldRows:
    """Rows that are already in memory, used instead of files.

    Args:
        rows: Mappings. Values of numpy, pandas and similar libraries become plain ones. Each call of `rows` iterates
            over them again, so pass a collection, not an iterator.
        name: Name in messages.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]], name: str = "<rows>") -> None:
        self._rows, self.name = rows, name
        self.places = Places([name], [0])

    def rows(self) -> Iterator[tuple[int, RawRow | SchemaError]]:
        """Yield the rows, numbered from 1.

        Raises:
            UsageError: There are none.
        """
        number = 0
        for number, row in enumerate(self._rows, 1):
            if isinstance(row, Mapping):
                yield number, plain_row(row)
            else:
                problem = SchemaError(f"a row is a mapping, this is a {type(row).__name__}", hint='{"prompt": …}')
                yield number, placed(problem, self.name, number)
        if not number:
            raise SchemaError("there are no rows", file=self.name)


RowSource = Files | HeldRows
"""The source that a `Reader` reads from."""


def rows(paths: Paths, lists: Collection[str] = ()) -> Iterator[tuple[str, int, JsonRow | SchemaError]]:
    """Yield the rows of files as (file, line, row). A bad row becomes its error, which names file and line.

    Args:
        paths: A file, a pattern, a folder, "-" for stdin, or several of these, read one after the other.
        lists: Columns of text tables whose cells are lists, in addition to the usual ones.

    Raises:
        UsageError: A file is missing, the only file can't be read, or there are no rows at all.
        MissingExtra: The package that reads such a file is not installed.
    """
    files = Files(paths, lists)
    for number, row in files.rows():
        name, line = files.places.at(number)
        if isinstance(row, bytes):
            try:
                row = parse(row)
            except SchemaError as error:
                row = placed(error, name, line)
        yield name, line, row


def placed(error: SchemaError, name: str, line: int) -> SchemaError:
    """Return the same error, with its location in a file."""
    return SchemaError(error.problem, file=name, line=line, field=error.field, hint=error.hint)


def check_rows(bad: Sequence[SchemaError]) -> None:
    """Raise for all bad rows together, so that they can be mended in one go. Callers collect up to `BAD_ROWS`."""
    if len(bad) == 1:
        raise bad[0]
    if bad:
        told = "\n".join(with_hint(str(error), error.hint) for error in bad)
        raise UsageError(f"{len(bad)} rows can't be read:\n{told}", hint="Mend or delete these rows.")
