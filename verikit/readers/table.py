"""Tables of text to rows: CSV and TSV under a header, as spreadsheets and data frames write them.

Cells are text; those of columns that hold lists (`completions`, `rewards`, …, and what the caller names) are read as
JSON where they are a JSON list, and so are prompts that are messages. Quoting is that of RFC 4180: a field with
delimiters, quotes or line ends stands in quotes, quotes within it are doubled, a backslash means nothing. A bad row is
an error at the line it begins on, and reading goes on with the next line, so that a quote that is never closed hides
nothing. A table that makes too much be read twice in this way is given up.
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
"""Characters that may be read again behind rows that can't be read: quotes may lie so that each row begins one which
only the end of the file closes."""
_QUOTING = "quote a field that holds the delimiter, quotes or line ends, and double the quotes within it"


def delimiter_of(name: str) -> str:
    """What separates the columns of a file of this name; "" if it is no table."""
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return next((delimiter for ending, delimiter in _DELIMITERS.items() if name.lower().endswith(ending)), "")


def rows(
    source: Stream, name: str, delimiter: str, cap: int, lists: Collection[str] = ()
) -> Iterator[tuple[int, JsonRow | SchemaError]]:
    """The rows of a table, each with the line it begins on, the header's being the first.

    Args:
        source: Its bytes.
        name: Of the file, for messages.
        delimiter: What separates columns; a header without it may have semicolons or tabs instead.
        cap: Longest row in bytes.
        lists: Columns whose cells are lists, beside `LISTS`.

    Raises:
        SchemaError: the header can't be used.
    """
    # Of the whole process, and only ever raised: the module's own limit of 131,072 is less than a long completion.
    csv.field_size_limit(max(cap, csv.field_size_limit()))
    lines = _Lines(source, cap)
    columns, delimiter = _header(lines, name, delimiter)
    decoded = [column for column in columns if column in LISTS or column in lists or column == "prompt"]
    table = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.begin()
        try:
            cells = next(table)
        except StopIteration:
            return
        except (csv.Error, SchemaError) as error:
            problem = (
                error
                if isinstance(error, SchemaError)
                else SchemaError(f"the line is not a table row: {error}", hint=_QUOTING)
            )
            yield lines.first, problem
            if not lines.back():
                told = "the quotes don't match: the rows from here on are not read"
                yield lines.first + 1, SchemaError(told, hint=_QUOTING)
                return
            continue
        if not cells:
            continue
        if len(cells) != len(columns):
            problem = SchemaError(f"the row has {len(cells)} columns, the header has {len(columns)}", hint=_QUOTING)
            yield lines.first, problem
        else:
            yield lines.first, _row(columns, cells, decoded)


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
        return SchemaError("not UTF-8", field=bad[0], hint="write it as UTF-8")
    try:
        for column in decoded:
            row[column] = _listed(row[column], column)
    except SchemaError as error:
        return error
    return row


def _listed(cell: str, column: str) -> Any:
    """A cell's list; the text itself where it is none, or where messages are expected and it is no list of them.

    Raises:
        SchemaError: it is a list as Python prints one.
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
    """Lines of text; those since `begin` can be gone back to. Bytes that are no UTF-8 become lone surrogates."""

    def __init__(self, source: Stream, cap: int) -> None:
        self._readline, self._cap = source.readline, cap
        self._ahead: deque[str | SchemaError] = deque()  # an error stands for a line that is too long
        self._taken: list[str | SchemaError] = []
        self._size = self._reread = 0
        self.first = 1
        """The line that the present row begins on."""

    def begin(self) -> None:
        """The next line begins a row."""
        self.first += len(self._taken)
        self._taken, self._size = [], 0

    def push(self, line: str) -> None:
        """Give the last line back."""
        self._taken.pop()
        self._size -= len(line)
        self._ahead.append(line)

    def back(self) -> bool:
        """Go back to the line after the one on which the present row begins; False where that was done too often."""
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
