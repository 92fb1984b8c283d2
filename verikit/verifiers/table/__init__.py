"""Is the table that an agent left the expected one? CSV, JSON, parquet and sqlite, compared by typed values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from verikit.errors import UsageError, WorkspaceError
from verikit.types import Sample, Score
from verikit.verifiers.reading.sqlite_file import queried
from verikit.verifiers.table.compare import TableRules, compared
from verikit.verifiers.table.readers import Format, Lax, NoTable, TypedTable, csv_rows, format_of, read_table
from verikit.workspaces.grading import WorkspaceVerifier
from verikit.workspaces.workspace import Workspace

Columns = Literal["same", "ordered", "superset"]
Order = Literal["any", "given"]


@dataclass(frozen=True, eq=False)
class LeftTable(WorkspaceVerifier):
    """1.0 if a table has the expected rows, by the types of the expected values.

    Expected is the row's answer, or `expected`: a JSON list of objects, or CSV with a header. A number matches a number
    of the same value, a string the same string, true and false only themselves, null an empty cell of CSV. CSV cells
    are strings, and are read as the expected type.
    """

    file: str
    """The table, a path or pattern."""
    expected: Any = None
    """The rows, as a list of objects. `before:PATH` is a table that the agent received. None: the row's answer."""
    format: Format = "auto"
    """`auto`: by the file's ending."""
    query: str = ""
    """For sqlite: the query that returns the table. It runs on a read-only copy in the sandbox."""
    columns: Columns = "same"
    """The `same` columns in any order, in the expected order (`ordered`), or with further ones (`superset`)."""
    key: Sequence[str] = ()
    """Columns that identify rows, used to match them."""
    order: Order = "any"
    """Whether rows may be in `any` order, or must be in the `given` one."""
    tolerance: float = 0.0
    """Allowed difference of numbers, absolute or relative."""
    allow: Sequence[Lax] = ()
    """Features that are rejected by default: `bom` a byte order mark, `nan` NaN and Infinity, `duplicates` a duplicate
    JSON key (the last is used), `semicolons` semicolons instead of commas in CSV. Numbers
    with a decimal comma stay strings."""
    max_rows: int = 100_000
    """A longer table is unscored."""
    name = "table"

    def __post_init__(self) -> None:
        if not isinstance(self.file, str) or not self.file:
            raise UsageError("table needs the path of a file", hint="table('out.csv')")
        for option, allowed in (("format", Format), ("columns", Columns), ("order", Order)):
            if getattr(self, option) not in get_args(allowed):
                told = ", ".join(get_args(allowed))
                raise UsageError(f"{option} must be one of {told}, got {getattr(self, option)!r}")
        for option in ("key", "allow"):
            value = getattr(self, option)
            object.__setattr__(self, option, (value,) if isinstance(value, str) else tuple(value))
        if wrong := next((one for one in self.allow if one not in get_args(Lax)), None):
            raise UsageError(f"allow must be one of {', '.join(get_args(Lax))}, got {wrong!r}")
        if isinstance(self.tolerance, bool) or not 0 <= self.tolerance < 1e300:
            raise UsageError(f"tolerance must be a number >= 0, got {self.tolerance!r}")
        if self.query and self.format not in ("auto", "sqlite"):
            raise UsageError("a query is for sqlite")

    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Read the table and compare it with the expected one."""
        expected = self._expected(workspace, sample)
        found = self._found(workspace)
        rules = TableRules(self.columns, tuple(self.key), self.order == "given", self.tolerance)
        problem = compared(found, expected, rules)
        return Score(0.0 if problem else 1.0, reason=problem or f"{len(expected.rows)} rows as expected")

    def _found(self, workspace: Workspace) -> TypedTable:
        blob = workspace.one(self.file)
        kind = "sqlite" if self.query else format_of(blob.path, self.format)
        if kind == "sqlite":
            if not self.query:
                raise WorkspaceError("a table of sqlite needs a query", hint="query='SELECT … FROM …'")
            columns, rows = queried(workspace, self.file, self.query, self.max_rows)
            return TypedTable(tuple(columns), tuple(map(tuple, rows)))
        return read_table(blob, kind, frozenset(self.allow), self.max_rows)

    def _expected(self, workspace: Workspace, sample: Sample) -> TypedTable:
        """The expected table.

        Raises:
            WorkspaceError: It is missing, or is not a table.
        """
        told = sample.answer if self.expected is None else self.expected
        if isinstance(told, str) and told.startswith("before:"):
            blob = workspace.one(told.removeprefix("before:"), "before")
            allow = frozenset(get_args(Lax)) - {"semicolons"} | set(self.allow)
            return read_table(blob, format_of(blob.path, "auto"), allow, self.max_rows, ours=True)
        if isinstance(told, str):
            return _parsed(told)
        if told is None:
            raise WorkspaceError("the expected table is missing", hint="the row's answer, or expected=[{…}]")
        return _of_objects(told)


def _parsed(text: str) -> TypedTable:
    """A row's answer as a table: JSON, or CSV whose cells are strings."""
    if text.lstrip()[:1] in ("[", "{"):
        try:
            return _of_objects(json.loads(text))
        except (ValueError, RecursionError):
            raise WorkspaceError("the expected table is not JSON") from None
    try:
        columns, rows = csv_rows(text)
    except NoTable as problem:
        raise WorkspaceError(f"the expected table {problem}") from None
    return TypedTable(tuple(columns), tuple(map(tuple, rows)), texts=True)


def _of_objects(told: Any) -> TypedTable:
    rows = [told] if isinstance(told, Mapping) else told
    if not isinstance(rows, list | tuple) or not all(isinstance(row, Mapping) for row in rows):
        raise WorkspaceError("an expected table is a list of objects")
    columns = tuple(dict.fromkeys(str(column) for row in rows for column in row))
    return TypedTable(columns, tuple(tuple(row.get(column) for column in columns) for row in rows))
