"""A sqlite file that an agent left, read in the sandbox: its tables and schema, or the result of verikit's query.

The child receives the file and its log, and never an expected value. Its output is untrusted, so its form is checked
before use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from verikit.errors import AgentFault, WorkspaceError
from verikit.sandbox import ISOLATION, RunLimits, RunResult, default_sandbox
from verikit.sandbox.guest import source
from verikit.workspaces.names import shown
from verikit.workspaces.tree import Blob
from verikit.workspaces.workspace import Side, Workspace

BESIDE = ("-wal", "-journal")
"""Endings of the files that belong to a database and contain a part of its state."""
MAX_ROWS = 100_000
MAGIC = b"SQLite format 3\0"
_OUTPUT_KB = 64 * 1024
Found = TypeVar("Found")
Cell = tuple[str, Any]
"""A value with sqlite's own name of its type."""


@dataclass(frozen=True)
class StoredTable:
    """A base table of a database."""

    columns: tuple[str, ...]
    declared: tuple[str, ...]
    """The declared types."""
    key: tuple[str, ...]
    """The columns of the primary key, in its order; empty if the table doesn't have one."""
    rows: tuple[tuple[Cell, ...], ...]

    @cached_property
    def by_key(self) -> Mapping[tuple[Cell, ...], tuple[Cell, ...]]:
        """The rows by their primary keys."""
        places = [self.columns.index(column) for column in self.key]
        return {tuple(row[place] for place in places): row for row in self.rows}


@dataclass(frozen=True, slots=True)
class Database:
    """The content of a database."""

    tables: Mapping[str, StoredTable] = field(default_factory=dict)
    schema: frozenset[tuple[str, str, str, str]] = frozenset()
    """Kind, name, table and text of all its declarations."""


def database(workspace: Workspace, path: str, side: Side = "after", max_rows: int = MAX_ROWS) -> Database:
    """All base tables of a database of a workspace.

    Raises:
        AgentFault: The agent's file is not a valid database.
        WorkspaceError: It is missing through no action of the agent, has too many rows, or the sandbox failed.
    """
    return _checked(_database, _observed(workspace, path, side, "", max_rows))


def queried(workspace: Workspace, path: str, sql: str, max_rows: int = MAX_ROWS) -> tuple[list[str], list[list[Any]]]:
    """The columns and rows of verikit's query on a database that the agent left.

    Raises:
        AgentFault: It is not a valid database, or the query can't be run on it.
        WorkspaceError: See `database`.
    """
    return _checked(_table, _observed(workspace, path, "after", sql, max_rows))


def _observed(workspace: Workspace, path: str, side: Side, sql: str, max_rows: int) -> Mapping[str, Any]:
    blob = workspace.one(path, side)
    fault = AgentFault if side == "after" else WorkspaceError
    data = blob.data()
    if not data.startswith(MAGIC):
        raise fault(f"{shown(blob.path)} is not a SQLite database")
    beside = [(ending, found.data()) for ending in BESIDE if (found := _beside(workspace, blob, ending, side))]
    contents = [data, *(content for _, content in beside)]
    order = {
        "sql": sql, "max_rows": max_rows, "beside": [ending for ending, _ in beside],
        "sizes": [len(content) for content in contents],
    }  # fmt: skip
    size_mb = sum(map(len, contents)) >> 20
    limits = RunLimits(wall_s=10, memory_mb=512 + 2 * size_mb, output_kb=_OUTPUT_KB, disk_mb=64 + 3 * size_mb)
    ran = default_sandbox(ISOLATION).run(
        source("sqlite_rows"), b"".join(contents), call=("run", [order], {}), limits=limits
    )
    return _read(ran, shown(blob.path), fault)


def _beside(workspace: Workspace, blob: Blob, ending: str, side: Side) -> Blob | None:
    entry = blob.tree.manifest.get(blob.path + ending)
    return None if entry is None or (entry.kind == "file" and not entry.size) else workspace.blob(entry, side)


def _read(ran: RunResult, name: str, fault: type[AgentFault | WorkspaceError]) -> Mapping[str, Any]:
    if ran.status == "infra_error":
        raise WorkspaceError(f"the sandbox failed: {ran.error}")
    if ran.status != "ok":
        raise WorkspaceError(
            f"{name} could not be read within the limits of the reader: {ran.status} {ran.error or ''}"
        )
    try:
        told = json.loads(ran.stdout)
    except (ValueError, RecursionError):
        raise WorkspaceError("the reader of the database printed no observation") from None
    if not isinstance(told, Mapping):
        raise WorkspaceError("the reader of the database printed no observation")
    if "too_many" in told:
        raise WorkspaceError(f"{name} gives more rows than are read", hint="max_rows=… of the verifier")
    if "refused" in told:
        raise fault(f"{name} is not a valid database: {shown(str(told['refused']))}")
    return told


def _checked(read: Callable[[Mapping[str, Any]], Found], told: Mapping[str, Any]) -> Found:
    """The value read from an observation.

    Raises:
        WorkspaceError: It does not have the form of one.
    """
    try:
        return read(told)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        raise WorkspaceError("the reader of the database printed no observation") from None


def _table(told: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """The columns and rows of a query."""
    columns = [str(column) for column in told["columns"]]
    rows = [[_value(cell) for cell in row] for row in told["rows"]]
    if any(len(row) != len(columns) for row in rows):
        raise ValueError("rows of another width")
    return columns, rows


def _database(told: Mapping[str, Any]) -> Database:
    tables = {name: _stored_table(table) for name, table in told["tables"].items()}
    schema = frozenset((str(a), str(b), str(c), " ".join(str(d or "").split())) for a, b, c, d in told["schema"])
    return Database(tables, schema)


def _stored_table(told: Mapping[str, Any]) -> StoredTable:
    columns = [(str(column), str(declared or ""), int(rank)) for column, declared, rank in told["columns"]]
    key = sorted((rank, column) for column, _, rank in columns if rank)
    return StoredTable(
        tuple(column for column, _, _ in columns), tuple(declared for _, declared, _ in columns),
        tuple(column for _, column in key), _rows(told["rows"], len(columns)),
    )  # fmt: skip


def _rows(told: Sequence[Any], width: int) -> tuple[tuple[tuple[str, Any], ...], ...]:
    rows = tuple(tuple((str(kind), _value(value)) for kind, value in row) for row in told)
    if any(len(row) != width for row in rows):
        raise ValueError("rows of another width")
    return rows


def _value(value: Any) -> Any:
    """A value as a plain Python value."""
    if isinstance(value, Mapping):
        return bytes.fromhex(value["blob"]) if "blob" in value else float(value["float"])
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError("the value must be a string or a number")
    return value
