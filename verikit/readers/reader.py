"""`read`: a file of any known format to a stream of groups, in constant memory.

A bad row comes out as a `SchemaError` (yielded, not raised) and reading goes on; what is wrong with the file as a whole
is raised when iteration starts. Consecutive rows with one completion each and the same id (without ids: the same prompt
and answer) become one group, so a group comes out when the row after it has been read.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from io import BufferedReader
from os import PathLike, fspath
from types import MappingProxyType

from verikit.errors import SchemaError, UsageError
from verikit.readers import parquet, source
from verikit.readers.formats import FORMATS, detect
from verikit.readers.ids import IdIndex
from verikit.readers.layout import Layout, check_mapping
from verikit.readers.parse import Row, parse
from verikit.types import Group

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


class Reader(Iterator[Group | SchemaError]):
    """The iterator `read` returns; `format` and `notes` fill while it runs."""

    def __init__(self, path: str, format: str | None = None, mapping: Mapping[str, str] = NO_MAPPING) -> None:
        if format is not None and format not in FORMATS:
            raise UsageError(f"there is no format {format!r}", hint=f"one of {', '.join(FORMATS)}")
        check_mapping(mapping)
        self.path = path
        self.name = "<stdin>" if path == "-" else path
        self.format = format
        """The format's name; None until a row has told it."""
        self.notes: list[str] = []
        """What a person should know about how the file was read; each said once."""
        self._mapping = mapping
        self._groups = self._read()

    def __iter__(self) -> Iterator[Group | SchemaError]:
        return self._groups

    def __next__(self) -> Group | SchemaError:
        return next(self._groups)

    def close(self) -> None:
        """Close the file; needed only where reading stops before the end."""
        self._groups.close()

    def _read(self) -> Generator[Group | SchemaError, None, None]:
        line = 0
        held: list[Group] = []  # rows of one candidate each that make up a group; its last row is not known yet
        held_named = False
        layout: Layout | None = None
        with source.opened(self.path) as stream, closing(IdIndex()) as ids:
            for line, item in self._rows(stream):
                try:
                    row = _row(item)
                    trying = layout or self._layout(row)
                    built = trying.group(row, line)
                except SchemaError as error:
                    yield self._error(error, line)
                    continue
                layout, self.format = trying, trying.name
                if built is None:
                    continue
                group, single, named = built
                if held:
                    if single and named == held_named and _continues(held[0], group, named):
                        held.append(group)
                        continue
                    yield _merged(held)
                    held = []
                if seen := ids.add(group.id, line):
                    yield self._error(_repeated(group.id, seen), line)
                elif single:
                    held, held_named = [group], named
                else:
                    yield group
            if held:
                yield _merged(held)
        if not line:
            raise SchemaError("the file has no rows", file=self.name, hint="one JSON object a line is expected")

    def _rows(self, stream: BufferedReader) -> Iterator[tuple[int, bytes | Row | SchemaError]]:
        if stream.peek(4)[:4] == parquet.MAGIC:
            return parquet.rows(stream, self.name)
        return source.cut(stream, self.name)

    def _layout(self, row: Row) -> Layout:
        form = FORMATS[self.format] if self.format else detect(row) or FORMATS["verikit"]
        return Layout(form, self._mapping, self.notes)

    def _error(self, error: SchemaError, line: int) -> SchemaError:
        return SchemaError(error.problem, file=self.name, line=line, field=error.field, hint=error.hint)


def _row(item: bytes | Row | SchemaError) -> Row:
    if isinstance(item, SchemaError):
        raise item
    return parse(item) if isinstance(item, bytes) else item


def _continues(first: Group, group: Group, named: bool) -> bool:
    """Whether a row is another candidate of the same prompt; rows with neither id nor prompt stand alone."""
    if named and group.id != first.id:
        return False
    return bool(named or group.prompt) and group.prompt == first.prompt and group.answer == first.answer


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


def _repeated(id: str, seen: int) -> SchemaError:
    return SchemaError(
        f"the id {id!r} is that of line {seen}",
        field="id",
        hint="give each prompt its own id; rows that share one hold one completion each and follow each other",
    )
