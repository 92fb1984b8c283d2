"""`read`: turns files of any supported format into a stream of groups, in constant memory.

A bad row is yielded as a `SchemaError`, not raised, and reading continues. Errors of a whole file are raised when
iteration starts. Consecutive rows with one completion each and the same id become one group. Without ids, rows need the
same prompt and answer. A group is therefore yielded once the row after it has been read.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from os import PathLike
from types import MappingProxyType
from typing import Any

from verikit.errors import SchemaError, UsageError, nearest
from verikit.readers.files import Files, Places, RowSource
from verikit.readers.formats import FORMATS, Format, detect
from verikit.readers.gathered import Gathered
from verikit.readers.golds import Golds, split_mapping
from verikit.readers.ids import IdIndex
from verikit.readers.layout import OWN, BuiltGroup, Layout, check_mapping
from verikit.readers.mappings import check_files, mapping_of, split_files
from verikit.readers.parse import parse
from verikit.readers.paths import Paths
from verikit.readers.source import RawRow
from verikit.types import WORKSPACE, Group

MAX_HELD_ERRORS = 1000
"""A group ends after this many bad rows inside it, because they wait in memory for its last row."""
NO_MAPPING: Mapping[str, str] = MappingProxyType({})
TABLES: Mapping[str, str] = MappingProxyType({"csv": ",", "tsv": "\t"})
"""Formats that only define how rows are split, for tables whose name doesn't show it, such as stdin."""


def read(
    source: Paths | RowSource,
    *,
    format: str | None = None,
    mapping: Mapping[str, str] = NO_MAPPING,
    gold: Paths | None = None,
) -> Reader:
    """Read rows as groups.

    Args:
        source: A file (JSON lines, a JSON array, CSV, TSV, parquet or Arrow; plain or compressed), `"-"` for stdin, a
            pattern, a folder, or several of these, read as one. Or rows in memory (`HeldRows`).
        format: A name in `FORMATS`. None detects it from the keys of the first recognised row. `csv` or `tsv` marks the
            file as such a table if its name doesn't.
        mapping: Maps verikit's fields (prompt, completions, completion, answer, id) to the row's keys, if they differ
            from the format's. `FILE:prompt` applies to one of several files, given by name or pattern. Dotted paths
            reach into objects. Map `prompt` to "" if there is none. `text` is an alias of completion.
            `completions.NAME` maps a list parallel to the completions, whose items are stored with them as NAME.
            `gold.id`, `gold.answer` and `gold.prompt` are keys of the rows of `gold`.
        gold: Location of the gold answers, if they are not in the rows: rows with the same ids.

    Returns:
        An iterator of groups, and of errors in the positions of bad rows.

    Raises:
        UsageError: Unknown format or field. On the first step of iteration: a file is missing, unreadable, empty or
            damaged from the start.
        MissingExtra: On the first step, a file needs a package that is not installed.
    """
    return Reader(source, format, mapping, gold)


class RowParser:
    """Parses the rows of files one by one. Picklable for worker processes, except for the gold answers."""

    def __init__(
        self,
        places: Places,
        form: Format,
        mapping: Mapping[str, str],
        notes: list[str],
        golds: Golds | None = None,
    ) -> None:
        self._arguments = (form.name, dict(mapping))
        self.places, self._layout, self._golds = places, Layout(form, mapping, notes, several=places.several), golds

    def __reduce__(self) -> tuple[Any, ...]:
        return (_parser, (self.places, *self._arguments))

    def parse(self, line: int, row: RawRow) -> Group | SchemaError | None:
        """Parse one row. Return None if the format skips it."""
        try:
            built = self.build(line, row)
        except SchemaError as error:
            return error
        return None if built is None else built.group

    def build(self, line: int, row: RawRow) -> BuiltGroup | None:
        """Parse one row. Return None if the format skips it.

        Raises:
            SchemaError: The row can't be used. The error names file and line.
        """
        try:
            built = self._layout.group(parse(row) if isinstance(row, bytes) else row, line)
            if built is not None and _has_workspace(built.group):
                folder = os.path.dirname(self.places.at(line)[0]) or "."
                built = replace(built, group=replace(built.group, folder=folder))
            return built if built is None or self._golds is None else self._golds.joined(built)
        except SchemaError as error:
            raise self.places.placed(error, line) from None


class FileParsers:
    """Parses the rows of several files, each with its own parser. Picklable like these."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.by_file: dict[str, RowParser] = {}

    def parse(self, line: int, row: RawRow) -> Group | SchemaError | None:
        """Parse one row. Return None if the format skips it."""
        return self._of(line).parse(line, row)

    def build(self, line: int, row: RawRow) -> BuiltGroup | None:
        """Parse one row. Return None if the format skips it.

        Raises:
            SchemaError: The row can't be used. The error names file and line.
        """
        return self._of(line).build(line, row)

    def _of(self, line: int) -> RowParser:
        return self.by_file[self.places.at(line)[0]]


def _parser(places: Places, form: str, mapping: Mapping[str, str]) -> RowParser:
    return RowParser(places, FORMATS[form], mapping, [])


def _check_format(format: str | None) -> None:
    if format is not None and format not in FORMATS and format not in TABLES:
        raise UsageError(f"format {format!r} not found", hint=nearest(format, (*FORMATS, *TABLES)))


class Reader(Iterator[Group | SchemaError]):
    """The iterator that `read` returns. `format` and `notes` are filled while it runs."""

    def __init__(
        self,
        source: Paths | RowSource,
        format: str | None = None,
        mapping: Mapping[str, str] = NO_MAPPING,
        gold: Paths | None = None,
    ) -> None:
        _check_format(format)
        mapping, self._by_file = split_files(mapping)
        mapping, gold_mapping = split_mapping(mapping)
        if gold_mapping and gold is None:
            raise UsageError(
                f"gold.{min(gold_mapping)} is mapped, but no file of gold answers is given", hint="--gold FILE"
            )
        self._mapping = check_mapping(mapping)
        if self._by_file and not isinstance(source, str | PathLike | Sequence):
            raise UsageError(f"--map {min(self._by_file)}:…: rows in memory have no file", hint="leave the file out")
        delimiter = TABLES.get(format or "", "")
        self._source = source if isinstance(source, RowSource) else Files(source, self._lists(), delimiter)
        self.name: str = self._source.name
        self._given = self.format = None if delimiter else format
        """The format's name, that of the first file if there are several. None until a row has determined it."""
        self.notes: list[str] = []
        """Notes for the user on how the file was read, without duplicates."""
        self.parser: RowParser | FileParsers | None = None
        """Parses the rows. None until a row has determined the format."""
        self._parsers: dict[tuple[str, tuple[tuple[str, str], ...]], RowParser] = {}
        """Parsers by format and mapping. Files with the same ones share a parser."""
        self._begun = 0
        """Number of files whose rows have started."""
        self._learnt = self._gathers = self._stateless = False
        """State of the current file: its format is known, its rows are gathered, its rows can be read separately."""
        self._golds = None if gold is None else Golds(gold, gold_mapping)
        self._groups = self._read()

    @property
    def places(self) -> Places:
        """The file and line of each row number."""
        return self._source.places

    @property
    def gold_digest(self) -> str | None:
        """A digest of the gold answers of `gold`, once the first row is read, or None without `gold`."""
        return None if self._golds is None else self._golds.digest

    def _lists(self) -> list[str]:
        """Columns that contain lists according to the mapping."""
        pairs = [pair for part in (self._mapping, *self._by_file.values()) for pair in part.items()]
        return [path for field, path in pairs if field == "completions" or field.startswith(OWN)]

    def __iter__(self) -> Iterator[Group | SchemaError]:
        return self._groups

    def __next__(self) -> Group | SchemaError:
        return next(self._groups)

    def close(self) -> None:
        """Close the file. Only needed if reading stops before the end."""
        self._groups.close()

    def _read(self) -> Generator[Group | SchemaError]:
        with closing(IdIndex()) as ids:
            for line, item in self.items(self.rows()):
                if isinstance(item, Group) and (seen := ids.add(item.id, line)):
                    yield self.places.placed(repeated(item.id, seen, self.places), line)
                elif isinstance(item, (Group, SchemaError)):
                    yield item

    def rows(self) -> Iterator[tuple[int, RawRow | SchemaError]]:
        """Yield the rows as they appear in the file, numbered from 1.

        `parser` is set once a row has determined the format.

        Each of several files determines its own format.

        Raises:
            UsageError: The file can't be read, or has no rows.
        """
        if self._golds is not None:
            self._golds.load(self.notes)
        if isinstance(self._source, Files) and self._by_file:
            check_files(self._by_file, self._source.files())
        for line, row in self._source.rows():
            if len(self.places.names) != self._begun:
                self._begun = len(self.places.names)
                self._learnt = self._gathers = self._stateless = False
            yield line, row if self._learnt or isinstance(row, SchemaError) else self._learn(line, row)

    def _learn(self, line: int, row: RawRow) -> RawRow | SchemaError:
        """Detect a file's format from a row. A row that can't be read becomes its error and determines nothing."""
        file = self.places.at(line)[0]
        try:
            data = parse(row) if isinstance(row, bytes) else deepcopy(row)
            form = FORMATS[self._given] if self._given else detect(data) or FORMATS[self.format or "verikit"]
            mapping = mapping_of(file, self._mapping, self._by_file)
            alike = form.name, tuple(sorted(mapping.items()))
            parser = self._parsers.get(alike) or RowParser(self.places, form, mapping, self.notes, self._golds)
            built = parser.build(line, data)
        except SchemaError as error:
            return self.places.placed(error, line)
        self._parsers[alike] = parser
        self.format, self._learnt = self.format or form.name, True
        if self.places.several:
            self.parser = self.parser if isinstance(self.parser, FileParsers) else FileParsers(self.places)
            self.parser.by_file[file] = parser
        else:
            self.parser = parser
        self._gathers = built is not None and built.single
        self._stateless = form.prepare is None and self._golds is None
        return row

    def items(
        self, rows: Iterable[tuple[int, RawRow | SchemaError]], *, raw: bool = False
    ) -> Iterator[tuple[int, Group | SchemaError | RawRow]]:
        """Turn rows into groups and errors, each with the number of its last row. Ids are not compared.

        If the file's first readable row is a single candidate, consecutive rows of one prompt are gathered into a
        group. A bad row between them comes after the group, under the same number. With `raw`, rows that `parser` can
        read one by one in any process are passed on unparsed.
        """
        held = Gathered(self.places)
        last = 0
        for line, row in rows:
            if raw and self._stateless and not self._gathers and not isinstance(row, SchemaError):
                yield from held.take(last)
                yield line, row
                last = line
                continue
            built = self._build(line, row)
            if isinstance(built, SchemaError) and held.first and len(held.bad) < MAX_HELD_ERRORS:
                held.bad.append(built)
            elif isinstance(built, SchemaError):
                yield from held.take(line)
                yield line, built
            elif built is not None:
                if held.first and built.single and _continues(held.first, built):
                    held.add(line, built)
                else:
                    yield from held.take(last)
                    if built.single and self._gathers:
                        held.add(line, built)
                    else:
                        yield line, built.group
            last = line
        yield from held.take(last)

    def _build(self, line: int, row: RawRow | SchemaError) -> BuiltGroup | SchemaError | None:
        if isinstance(row, SchemaError):
            return row
        assert self.parser is not None, "a row before the format is known is an error"
        try:
            return self.parser.build(line, row)
        except SchemaError as error:
            return error


def _has_workspace(group: Group) -> bool:
    """Whether a row, or one of its candidates, names files that an agent left."""
    return WORKSPACE in group.meta or any(WORKSPACE in own for own in group.candidate_meta)


def _continues(first: BuiltGroup, after: BuiltGroup) -> bool:
    """Whether a row is another candidate of the same prompt. Rows with neither id nor prompt are never merged."""
    held, group = first.group, after.group
    if after.named != first.named or (after.named and group.id != held.id):
        return False
    return bool(after.named or group.prompt) and group.prompt == held.prompt and group.answer == held.answer


def repeated(id: str, seen: int, places: Places) -> SchemaError:
    """Return the error for a group whose id already appeared in row `seen`."""
    name, line = places.at(seen)
    return SchemaError(
        f"the id {id!r} repeats line {line}" + (f" of {name}" if places.several else ""),
        field="id",
        hint="give each prompt a unique id. Rows with the same id must be adjacent and have one completion each",
    )
