"""Run one query on one database and print its result: runs inside the sandbox, on a copy of the database.

A model wrote the query. It may read the database and do nothing else. sqlite3 calls an authorizer for each step of the
compiled statement, and duckdb's configuration is locked without files, extensions and network. The sandbox limits
time, memory and the size of the output.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

_PLAIN = frozenset({type(None), bool, int, float, str})
_CHUNK = 1 << 20
_FILE = "database"
_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_FUNCTIONS_DENIED = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})


class Setup(Exception):
    """The database itself can't be created or opened. The query is not the cause."""


class Forbidden(Exception):
    """The query tries to do more than read."""


class TooMany(Exception):
    """The query returns more rows than the limit."""


def run(order: Mapping[str, Any]) -> int:
    """Print `[columns, rows, rows with their sort keys or null]` as JSON. Returns the number of rows.

    Args:
        order: `dialect`, `sql`, `keyed` (the same query with its sort keys as further columns, or ""), `setup` (a
            script that creates the database; without one it is read from standard input), `max_rows`, `memory_mb`.
    """
    connect = _duckdb if order["dialect"] == "duckdb" else _sqlite
    query = connect(order)
    names, rows = _fetched(query, order["sql"], order["max_rows"])
    keyed = None
    if order["keyed"]:
        with suppress(*_errors()):  # the keys are a help: without them the order counts to the row
            keyed = _fetched(query, order["keyed"], order["max_rows"])[1]
    print(json.dumps([names, rows, keyed]))
    return len(rows)


def _errors() -> tuple[type[Exception], ...]:
    """Exceptions of a query that can't be run."""
    loaded = sys.modules.get("duckdb")
    return (sqlite3.Error, Forbidden, TooMany, *((loaded.Error,) if loaded else ()))


def _fetched(query: Callable[[str], Any], sql: str, most: int) -> tuple[list[str], list[list[Any]]]:
    cursor = query(sql)
    rows = cursor.fetchmany(most + 1)
    if len(rows) > most:
        raise TooMany(f"more than {most} rows")
    names = [str(column[0]) for column in cursor.description or ()]
    return names, [[value if type(value) in _PLAIN else _tagged(value) for value in row] for row in rows]


def _tagged(value: Any) -> Any:
    """A value that JSON does not support, as an object with its kind."""
    kind = type(value).__name__
    if type(value) in _PLAIN:
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return {"kind": "blob", "value": bytes(value).hex()}
    if kind == "Decimal":
        return {"kind": "decimal", "value": str(value)}
    if isinstance(value, list | tuple):
        return {"kind": "list", "value": [_tagged(part) for part in value]}
    if isinstance(value, Mapping):
        return {"kind": "list", "value": [[_tagged(key), _tagged(part)] for key, part in value.items()]}
    return {"kind": "text", "value": value.isoformat() if hasattr(value, "isoformat") else str(value)}


def _copied() -> None:
    """Write the database from standard input to the work directory."""
    with open(_FILE, "wb", buffering=0) as file:
        while data := os.read(0, _CHUNK):
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]


def _sqlite(order: Mapping[str, Any]) -> Callable[[str], Any]:
    try:
        if order["setup"]:
            connection = sqlite3.connect(":memory:", isolation_level=None)
            connection.executescript(order["setup"])
        else:
            _copied()
            connection = sqlite3.connect(f"file:{_FILE}?mode=ro&immutable=1", uri=True, isolation_level=None)
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        raise Setup(f"{type(error).__name__}: {error}") from None
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    refused: list[str] = []

    def allow(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        denied = action == sqlite3.SQLITE_FUNCTION and str(second).lower() in _FUNCTIONS_DENIED
        if action in _READS and not denied:
            return sqlite3.SQLITE_OK
        refused.append(f"{first or ''} {second or ''}".strip())
        return sqlite3.SQLITE_DENY

    connection.set_authorizer(allow)

    def query(sql: str) -> Any:
        try:
            return connection.execute(sql)
        except sqlite3.DatabaseError as error:
            if refused:
                raise Forbidden(f"only reading is allowed ({error}: {refused[0][:100]})") from None
            raise

    return query


def _duckdb(order: Mapping[str, Any]) -> Callable[[str], Any]:
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": 1,
        "memory_limit": f"{order['memory_mb']}MB",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
    }
    try:
        if order["setup"]:
            connection = duckdb.connect(":memory:", config=config)
            connection.execute(order["setup"])
        else:
            _copied()
            connection = duckdb.connect(_FILE, read_only=True, config=config)
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except duckdb.Error as error:
        raise Setup(f"{type(error).__name__}: {error}") from None

    def query(sql: str) -> Any:
        statements = connection.extract_statements(sql)
        if len(statements) != 1:
            raise Forbidden(f"one statement is expected, not {len(statements)}")
        if statements[0].type != duckdb.StatementType.SELECT:
            raise Forbidden(f"only reading is allowed, not {statements[0].type}")
        return connection.execute(statements[0])

    return query
