"""Turns text tables into rows: CSV and TSV with a header, as written by spreadsheets and data frames.

Cells are strings. In columns of lists (`completions`, `rewards`, …, and those that the caller names), JSON lists are
parsed, and so are prompts that are messages. Quoting follows RFC 4180. A field with delimiters, quotes or line ends is
quoted, quotes within it are doubled, and a backslash has no special meaning. A bad row is an error at its first line,
and reading continues with the next line, so an unclosed quote hides nothing. A table that causes too much rereading is
abandoned.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from verikit.errors import SchemaError
from verikit.readers.array import CHUNK, too_long
from verikit.readers.compressed import ENDINGS, Stream
from verikit.readers.parse import JsonRow, parse

LISTS = frozenset(
    ("completions", "samples", "responses", "candidates", "outputs", "generations", "rewards", "scores", "labels")
)
"""Columns whose cells are lists."""
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
MAX_REREAD = 2**28
"""Maximum number of characters to reread after unreadable rows.

Quotes can be placed such that each row starts one that only the end of the file closes.
"""
_QUOTING = "quote a field that contains the delimiter, quotes or line ends, and double the quotes within it"


def delimiter_of(name: str) -> str:
    """Return the column separator of a file with this name, or "" if it is not a table."""
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return next((delimiter for ending, delimiter in _DELIMITERS.items() if name.lower().endswith(ending)), "")


def rows(
    source: Stream, name: str, delimiter: str, cap: int, lists: Collection[str] = ()
) -> Iterator[tuple[int, JsonRow | SchemaError]]:
    """Yield the rows of a table, each with the line on which it starts. The header is line 1.

    Args:
        source: Its bytes.
        name: Name of the file, for messages.
        delimiter: Column separator. If the header doesn't contain it, semicolons and tabs are tried.
        cap: Longest row in bytes.
        lists: Columns whose cells are lists, in addition to `LISTS`.

    Raises:
        SchemaError: The header can't be used.
    """
    # Applies to the whole process, and is only raised: the default of 131,072 is less than a long completion.
    csv.field_size_limit(max(cap, csv.field_size_limit()))
    lines = _Lines(source, cap)
    columns, delimiter = _header(lines, name, delimiter)
    decoded = [column for column in columns if column in LISTS or column in lists or column == "prompt"]
    for line, cells in _cells(lines, delimiter):
        if isinstance(cells, SchemaError):
            yield line, cells
        elif len(cells) == len(columns):
            yield line, _row(columns, cells, decoded)
        elif cells:
            problem = f"the row has {len(cells)} columns, the header has {len(columns)}"
            yield line, SchemaError(problem, hint=_QUOTING)


def _cells(lines: _Lines, delimiter: str) -> Iterator[tuple[int, list[str] | SchemaError]]:
    """The cells of each row. After a row that can't be read, reading goes on at the line after its first."""
    table = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.begin()
        try:
            cells = next(table)
        except StopIteration:
            return
        except (csv.Error, SchemaError) as error:
            yield lines.first, _no_row(error)
            if not lines.back():
                told = "the quotes don't match: the rows from here on are not read"
                yield lines.first + 1, SchemaError(told, hint=_QUOTING)
                return
        else:
            yield lines.first, cells


def _no_row(error: csv.Error | SchemaError) -> SchemaError:
    if isinstance(error, SchemaError):
        return error
    return SchemaError(f"the line is not a table row: {error}", hint=_QUOTING)


def _header(lines: _Lines, name: str, delimiter: str) -> tuple[list[str], str]:
    lines.begin()
    try:
        text = next(lines)
        if delimiter not in text:
            delimiter = next((other for other in ";\t" if other in text), delimiter)
        lines.push(text)
        columns = next(csv.reader(lines, delimiter=delimiter, strict=True))
    except StopIteration:
        columns = []
    except (csv.Error, SchemaError) as error:
        raise SchemaError(f"the header can't be read: {error}", file=name, hint=_QUOTING) from None
    if not any(column.strip() for column in columns):
        raise SchemaError("a table without a header", file=name, line=1, hint="the first line names the columns")
    if any("\0" in column or not _is_utf8(column) for column in columns):
        raise SchemaError("the header must be UTF-8 text", file=name, line=1, hint="write it as UTF-8")
    named = [column.strip() or f"column_{number}" for number, column in enumerate(columns, 1)]
    if twice := [column for column in named if named.count(column) > 1][:1]:
        raise SchemaError(f"two columns are called {twice[0]!r}", file=name, line=1, hint="rename one of them")
    return named, delimiter


def _is_utf8(text: str) -> bool:
    return text.isascii() or not any("\udc80" <= character <= "\udcff" for character in text)


def _row(columns: Sequence[str], cells: Sequence[str], decoded: Sequence[str]) -> JsonRow | SchemaError:
    row: dict[str, Any] = dict(zip(columns, cells, strict=True))
    if bad := [column for column, cell in row.items() if not _is_utf8(cell)][:1]:
        return SchemaError("invalid UTF-8", field=bad[0], hint="write it as UTF-8")
    try:
        for column in decoded:
            row[column] = _listed(row[column], column)
    except SchemaError as error:
        return error
    return row


def _listed(cell: str, column: str) -> Any:
    """Parse a cell's list.

    Return the string itself if it isn't one, or if messages are expected and it isn't a list of them.

    Raises:
        SchemaError: It is a list in Python's format.
    """
    text = cell.strip()
    if text[:1] != "[" or text[-1:] != "]":
        return cell
    try:
        found = parse(b'{"cell": [%b]}' % text.encode())["cell"]
    except SchemaError:
        if column != "prompt" and text.startswith(("['", '["')):
            hint = "write lists as JSON: json.dumps(list)"
            raise SchemaError("a list that is not JSON", field=column, hint=hint) from None
        return cell
    if len(found) != 1 or (column == "prompt" and not _are_messages(found[0])):
        return cell
    return found[0]


def _are_messages(items: Sequence[Any]) -> bool:
    return bool(items) and all(isinstance(item, dict) and "role" in item for item in items)


class _Lines(Iterator[str]):
    """Lines of text. Those since `begin` can be read again. Bytes that are not UTF-8 become lone surrogates."""

    def __init__(self, source: Stream, cap: int) -> None:
        self._readline, self._cap = source.readline, cap
        self._ahead: deque[str | SchemaError] = deque()  # an error replaces a line that is too long
        self._taken: list[str | SchemaError] = []
        self._size = self._reread = 0
        self.first = 1
        """The line on which the current row starts."""

    def begin(self) -> None:
        """Mark the next line as the start of a row."""
        self.first += len(self._taken)
        self._taken, self._size = [], 0

    def push(self, line: str) -> None:
        """Push back the last line."""
        self._taken.pop()
        self._size -= len(line)
        self._ahead.append(line)

    def back(self) -> bool:
        """Return to the line after the one on which the current row starts. False if that happened too many times."""
        self._ahead.extendleft(reversed(self._taken[1:]))
        del self._taken[1:]
        self._reread += self._size
        return self._reread <= MAX_REREAD

    def __next__(self) -> str:
        line = self._ahead.popleft() if self._ahead else self._read()
        if not line:
            raise StopIteration
        self._taken.append(line)
        if isinstance(line, SchemaError):
            raise line
        self._size += len(line)
        if self._size > self._cap:
            raise SchemaError(
                f"the row has more than {self._cap:,} characters: a quote may not be closed", hint=_QUOTING
            )
        return line

    def _read(self) -> str | SchemaError:
        data = self._readline(self._cap + 1)
        if len(data) <= self._cap or data.endswith(b"\n"):
            return data.decode(errors="surrogateescape")
        size = len(data)
        while data and not data.endswith(b"\n"):
            data = self._readline(CHUNK)
            size += len(data)
        return too_long(size, self._cap)
