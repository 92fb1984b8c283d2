"""Did an agent change exactly the expected rows of a database, and no others?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

from verikit.errors import UsageError, WorkspaceError
from verikit.types import Sample, Score
from verikit.verifiers.reading.sqlite_file import Cell, Database, StoredTable, database
from verikit.workspaces.grading import WorkspaceVerifier, all_hold, part
from verikit.workspaces.names import shown
from verikit.workspaces.workspace import Workspace

Allowed = Literal["table", "index", "view", "trigger"]
"""What may be added to a schema."""
KEYS = ("table", "key", "set", "deleted")
_TYPES = {type(None): "null", bool: "integer", int: "integer", float: "real", str: "text", bytes: "blob"}
_REAL = ("REAL", "FLOA", "DOUB")
Row = tuple[Cell, ...]
Key = tuple[Cell, ...]


@dataclass(frozen=True, eq=False)
class State(WorkspaceVerifier):
    """1.0 if the expected rows of a sqlite database have changed as expected, and all others are unchanged.

    Rows are identified by their primary key, or by all of their values if the table doesn't have one. Only base tables
    are compared, by the types of the stored values. The log and the journal next to the database belong to it. The
    sandbox reads a copy, and code in the database never runs.
    """

    file: str
    """The database, a path or pattern, which also applies to `before`."""
    changed: Sequence[Mapping[str, Any]] | None = None
    """The expected changes: `{"table": …, "key": …, "set": {column: value}}` (a new key is a new row), or
    `{"table": …, "key": …, "deleted": true}`. A key of several columns is an object, or a list in the
    order of the primary key. None: the row's `changed`."""
    nothing_else: bool = True
    """Whether all other rows, columns, tables and the schema (views, triggers, indexes) must be unchanged."""
    allow: Sequence[Allowed] = ()
    """Allowed additions to the schema."""
    max_rows: int = 100_000
    """A database with more rows is unscored."""
    name = "state"

    def __post_init__(self) -> None:
        if not isinstance(self.file, str) or not self.file:
            raise UsageError("state needs the path of a database", hint="state('app.db')")
        allowed = (self.allow,) if isinstance(self.allow, str) else tuple(self.allow)
        if wrong := next((kind for kind in allowed if kind not in get_args(Allowed)), None):
            raise UsageError(f"allow must be one of {', '.join(get_args(Allowed))}, got {wrong!r}")
        object.__setattr__(self, "allow", allowed)
        for change in self.changed or ():
            if problem := _problem(change):
                raise UsageError(problem)

    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Read both databases in the sandbox and compare them outside."""
        expected = sample.meta.get("changed") if self.changed is None else self.changed
        if not isinstance(expected, list | tuple):
            raise WorkspaceError(
                "expected changes are missing", hint='state(…, changed=[…]), or "changed": […] in the row'
            )
        if problem := next(filter(None, map(_problem, expected)), ""):
            raise WorkspaceError(problem)
        before = database(workspace, self.file, "before", self.max_rows)
        after = database(workspace, self.file, "after", self.max_rows)
        wanted = [(change, _table(before, change)) for change in expected]
        keys = [_key(before.tables[name], change) for change, name in wanted]
        checks = {
            f"{name} {_told(key)}": part(partial(_as_expected, before, after, name, key, change))
            for (change, name), key in zip(wanted, keys, strict=True)
        }
        if self.nothing_else:
            expected_keys = {(name, key) for (_, name), key in zip(wanted, keys, strict=True)}
            checks["schema"] = _schema(before, after, frozenset(self.allow))
            checks["nothing else"] = _nothing_else(before, after, expected_keys)
        return all_hold(checks)


def _problem(change: object) -> str:
    """The problem with an expected change."""
    if not isinstance(change, Mapping) or not isinstance(change.get("table"), str) or "key" not in change:
        return "an expected change has a table, a key, and set or deleted"
    if unknown := next((key for key in change if key not in KEYS), None):
        return f"an expected change has no {unknown!r}"
    if change.get("deleted") is True:
        return "" if "set" not in change else "an expected change is either set or deleted"
    told = change.get("set")
    return "" if isinstance(told, Mapping) and told else "set is an object of columns and values"


def _table(before: Database, change: Mapping[str, Any]) -> str:
    """The table of a change, matched without case, as in sqlite."""
    found = next((name for name in before.tables if name.lower() == change["table"].lower()), None)
    if found is None:
        raise WorkspaceError(f"the database that the agent was given has no table {change['table']!r}")
    table = before.tables[found]
    if unknown := next((column for column in change.get("set", ()) if column not in table.columns), None):
        raise WorkspaceError(f"the table {found} has no column {unknown!r}")
    return found


def _key(table: StoredTable, change: Mapping[str, Any]) -> Key:
    told = change["key"]
    if not table.key:
        raise WorkspaceError(f"the table {change['table']} has no primary key, which is needed to identify rows")
    if isinstance(told, list | tuple):
        if len(told) != len(table.key):
            names = ", ".join(table.key)
            raise WorkspaceError(f"the key {told!r:.80} has {len(told)} values, the primary key is {names}")
        told = dict(zip(table.key, told, strict=True))
    values = told if isinstance(told, Mapping) else {table.key[0]: told}
    if set(values) != set(table.key):
        raise WorkspaceError(f"the primary key of {change['table']} is {', '.join(table.key)}")
    return tuple(_cell(values[column], _declared(table, column)) for column in table.key)


def _declared(table: StoredTable, column: str) -> str:
    return table.declared[table.columns.index(column)].upper()


def _cell(value: Any, declared: str) -> Cell:
    """An expected value as sqlite stores it in a column of a declared type."""
    kind = _TYPES.get(type(value))
    if kind is None:
        raise WorkspaceError(f"{value!r} is not a database value")
    if kind == "integer" and any(part in declared for part in _REAL):
        return "real", float(value)
    return kind, int(value) if isinstance(value, bool) else value


def _as_expected(before: Database, after: Database, name: str, key: Key, change: Mapping[str, Any]) -> Score:
    """Whether one row changed as expected."""
    table = after.tables.get(name)
    if table is None:
        return Score(0.0, reason="the table is missing")
    row, old = table.by_key.get(key), before.tables[name].by_key.get(key)
    if change.get("deleted"):
        if old is None:
            raise WorkspaceError(f"the row of {name} that is to be deleted was not there")
        return Score(float(row is None), reason="deleted" if row is None else "the row is still there")
    if row is None:
        return Score(0.0, reason="there is no such row")
    wanted = {column: _cell(value, _declared(before.tables[name], column)) for column, value in change["set"].items()}
    for column, cell in _cells(before.tables[name], old).items():
        wanted.setdefault(column, cell)
    found = _cells(table, row)
    wrong = [column for column, cell in wanted.items() if found.get(column) != cell]
    if not wrong:
        return Score(1.0, reason="as expected")
    return Score(0.0, reason=f"{shown(wrong[0])} is {_told((found.get(wrong[0], ('no column', None)),))}")


def _cells(table: StoredTable, row: Row | None) -> dict[str, Cell]:
    return {} if row is None else dict(zip(table.columns, row, strict=True))


def _schema(before: Database, after: Database, allowed: frozenset[str]) -> Score:
    lost = sorted(before.schema - after.schema)
    added = sorted(entry for entry in after.schema - before.schema if entry[0] not in allowed)
    for told, found in (("gone or changed", lost), ("new or changed", added)):
        if found:
            return Score(0.0, reason=f"{told}: {found[0][0]} {shown(found[0][1])}")
    return Score(1.0, reason="the schema is unchanged")


def _nothing_else(before: Database, after: Database, expected: set[tuple[str, Key]]) -> Score:
    """Whether all rows that no change names are unchanged."""
    for name, table in before.tables.items():
        rest = after.tables.get(name)
        if rest is None:
            return Score(0.0, reason=f"the table {shown(name)} is gone")
        old, new = _others(name, table, expected), _others(name, rest, expected)
        for told, found in (("gone or changed", old - new), ("new or changed", new - old)):
            if found:
                return Score(0.0, reason=f"{shown(name)}: a row is {told}: {_told(next(iter(found)))}")
    return Score(1.0, reason="no other row differs")


def _others(name: str, table: StoredTable, expected: set[tuple[str, Key]]) -> Counter[Row]:
    """The rows that no change names, and how often each is there."""
    places = [table.columns.index(column) for column in table.key]
    return Counter(
        row for row in table.rows if not places or (name, tuple(row[place] for place in places)) not in expected
    )


def _told(cells: Sequence[Cell]) -> str:
    """Values for a reason."""
    return shown(", ".join(f"{value!r} ({kind})" for kind, value in cells[:6]))
