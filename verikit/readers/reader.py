"""`read`: a file of any known format to a stream of groups, in constant memory.

A bad row comes out as a `SchemaError` (yielded, not raised) and reading goes on; what is wrong with the file as a whole
is raised when iteration starts. Consecutive rows with one completion each and the same id (without ids: the same prompt
and answer) become one group, so a group comes out when the row after it has been read.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from os import PathLike, fspath
from types import MappingProxyType
from typing import Any

from verikit.errors import SchemaError, UsageError
from verikit.readers import parquet, source
from verikit.readers.formats import FORMATS, Format, detect
from verikit.readers.ids import IdIndex
from verikit.readers.layout import BuiltGroup, Layout, check_mapping
from verikit.readers.parse import JsonRow, parse
from verikit.types import Group

RawRow = bytes | JsonRow
"""A row as it lies in the file: bytes of JSON, or a row of a table."""
MAX_HELD_ERRORS = 1000
"""This many bad rows amid one group end it: they wait in memory for its last row."""
NO_MAPPING: Mapping[str, str] = MappingProxyType({})


def read(path: str | PathLike[str], *, format: str | None = None, mapping: Mapping[str, str] = NO_MAPPING) -> Reader:
    """Read the rows of a file as groups.

    Args:
        path: JSON lines, a JSON array, or parquet; plain or gzip; `"-"` is stdin.
        format: A name of `FORMATS`; None tells it by the keys of the first row that is recognised.
        mapping: From our fields (prompt, completions, completion, answer, id) to the row's keys, where they differ
            from the format's; dotted paths reach into objects. `prompt` may be mapped to "": there is none.

    Returns:
        An iterator of groups and, in the place of bad rows, of errors.

    Raises:
        UsageError: unknown format or field; and, on the first step of iteration, a file that is absent, unreadable,
            empty or damaged from the start.
        MissingExtra: on the first step, a parquet file without pyarrow.
    """
    return Reader(fspath(path), format, mapping)


class RowParser:
    """Reads the rows of one file, each by itself; picklable, so that worker processes can."""

    def __init__(self, name: str, form: Format, mapping: Mapping[str, str], notes: list[str]) -> None:
        self._arguments = (name, form.name, dict(mapping))
        self._name, self._layout = name, Layout(form, mapping, notes)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_parser, self._arguments)

    def parse(self, line: int, row: RawRow) -> Group | SchemaError | None:
        """Read one row; None if the format leaves it out."""
        try:
            built = self.build(line, row)
        except SchemaError as error:
            return error
        return None if built is None else built.group

    def build(self, line: int, row: RawRow) -> BuiltGroup | None:
        """Read one row; None if the format leaves it out.

        Raises:
            SchemaError: the row can't be used; names file and line.
        """
        try:
            return self._layout.group(parse(row) if isinstance(row, bytes) else row, line)
        except SchemaError as error:
            raise placed(error, self._name, line) from None


def _parser(name: str, form: str, mapping: Mapping[str, str]) -> RowParser:
    return RowParser(name, FORMATS[form], mapping, [])


class Reader(Iterator[Group | SchemaError]):
    """The iterator `read` returns; `format` and `notes` fill while it runs."""

    def __init__(self, path: str, format: str | None = None, mapping: Mapping[str, str] = NO_MAPPING) -> None:
        if format is not None and format not in FORMATS:
            raise UsageError(f"there is no format {format!r}", hint=f"one of {', '.join(FORMATS)}")
        check_mapping(mapping)
        self.path = path
        self.name: str = "<stdin>" if path == "-" else path
        self.format = format
        """The format's name; None until a row has told it."""
        self.notes: list[str] = []
        """What a person should know about how the file was read; each said once."""
        self.parser: RowParser | None = None
        """Reads this file's rows; None until a row has told the format."""
        self._gathers = self._stateless = False
        self._mapping = mapping
        self._groups = self._read()

    def __iter__(self) -> Iterator[Group | SchemaError]:
        return self._groups

    def __next__(self) -> Group | SchemaError:
        return next(self._groups)

    def close(self) -> None:
        """Close the file; needed only where reading stops before the end."""
        self._groups.close()

    def _read(self) -> Generator[Group | SchemaError]:
        with closing(IdIndex()) as ids:
            for line, item in self.items(self.rows()):
                if isinstance(item, Group) and (seen := ids.add(item.id, line)):
                    yield placed(repeated(item.id, seen), self.name, line)
                elif isinstance(item, (Group, SchemaError)):
                    yield item

    def rows(self) -> Iterator[tuple[int, RawRow | SchemaError]]:
        """The rows as they lie in the file, numbered from 1; `parser` is set once one of them has told the format.

        Raises:
            UsageError: the file can't be read, or has no rows.
        """
        line = 0
        with source.opened(self.path) as stream:
            cut = parquet.rows if stream.peek(4)[:4] == parquet.MAGIC else source.cut
            for line, row in cut(stream, self.name):
                if isinstance(row, SchemaError):
                    yield line, placed(row, self.name, line)
                else:
                    yield line, row if self.parser else self._learn(line, row)
        if not line:
            raise SchemaError("the file has no rows", file=self.name, hint="one JSON object a line is expected")

    def _learn(self, line: int, row: RawRow) -> RawRow | SchemaError:
        """Tell the format by a row; one that can't be read becomes its error and tells nothing."""
        try:
            data = parse(row) if isinstance(row, bytes) else deepcopy(row)
            form = FORMATS[self.format] if self.format else detect(data) or FORMATS["verikit"]
            parser = RowParser(self.name, form, self._mapping, self.notes)
            built = parser.build(line, data)
        except SchemaError as error:
            return placed(error, self.name, line)
        self.format, self.parser = form.name, parser
        self._gathers, self._stateless = built is not None and built.single, form.prepare is None
        return row

    def items(
        self, rows: Iterable[tuple[int, RawRow | SchemaError]], *, raw: bool = False
    ) -> Iterator[tuple[int, Group | SchemaError | RawRow]]:
        """Turn rows into groups and errors, each with the number of the last row it took; ids are not compared.

        Where the file's first readable row is a single candidate, consecutive rows of one prompt are gathered into a
        group; a bad row between them comes after the group, under the same number. With `raw`, rows that can be read
        one by one by `parser`, in any process, are passed on unread.
        """
        held: list[BuiltGroup] = []
        bad: list[SchemaError] = []
        last = 0
        for line, row in rows:
            if raw and self._stateless and not self._gathers and not isinstance(row, SchemaError):
                yield line, row
                continue
            built = self._build(line, row)
            if isinstance(built, SchemaError) and held and len(bad) < MAX_HELD_ERRORS:
                bad.append(built)
            elif isinstance(built, SchemaError) and held:
                yield from _flushed(line, held, [*bad, built])
                held, bad = [], []
            elif isinstance(built, SchemaError):
                yield line, built
            elif built is not None:
                if held and built.single and _continues(held[0], built):
                    held.append(built)
                else:
                    yield from _flushed(last, held, bad)
                    held, bad = [], []
                    if built.single and self._gathers:
                        held = [built]
                    else:
                        yield line, built.group
            last = line
        yield from _flushed(last, held, bad)

    def _build(self, line: int, row: RawRow | SchemaError) -> BuiltGroup | SchemaError | None:
        if isinstance(row, SchemaError):
            return row
        assert self.parser is not None, "a row before the format is known is an error"
        try:
            return self.parser.build(line, row)
        except SchemaError as error:
            return error


def _continues(first: BuiltGroup, after: BuiltGroup) -> bool:
    """Whether a row is another candidate of the same prompt; rows with neither id nor prompt stand alone."""
    held, group = first.group, after.group
    if after.named != first.named or (after.named and group.id != held.id):
        return False
    return bool(after.named or group.prompt) and group.prompt == held.prompt and group.answer == held.answer


def _flushed(
    line: int, held: Sequence[BuiltGroup], bad: Sequence[SchemaError]
) -> Iterator[tuple[int, Group | SchemaError]]:
    if held:
        yield line, _merged([built.group for built in held])
    for error in bad:
        yield line, error


def _merged(rows: list[Group]) -> Group:
    """One group of rows with one candidate each: what differs between the rows is the candidates' own."""
    first, *others = rows
    if not others:
        return first
    shared = {
        key: value
        for key, value in first.meta.items()
        if all(key in row.meta and row.meta[key] == value for row in others)
    }
    own = [
        {key: value for key, value in row.meta.items() if key not in shared}
        | dict(row.candidate_meta[0] if row.candidate_meta else {})
        for row in rows
    ]
    texts = [row.completions[0] for row in rows]
    return replace(first, completions=texts, meta=shared, candidate_meta=own if any(own) else ())


def repeated(id: str, seen: int) -> SchemaError:
    """The error of a group whose id is that of line `seen`."""
    return SchemaError(
        f"the id {id!r} is that of line {seen}",
        field="id",
        hint="give each prompt its own id; rows that share one hold one completion each and follow each other",
    )


def placed(error: SchemaError, name: str, line: int) -> SchemaError:
    """The same error, at its place in a file."""
    return SchemaError(error.problem, file=name, line=line, field=error.field, hint=error.hint)
