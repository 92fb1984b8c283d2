"""Print the content of a sqlite database, or the result of a query by verikit: runs inside the sandbox, on a copy.

An agent left the database, so its own code is never executed: triggers don't fire on reading, views are not read, and
the schema is not trusted with functions. Its write-ahead log or journal is next to it, unmodified.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from typing import Any

_FILE = "left.db"
_OWN = "sqlite_"
"""How names of sqlite's own tables and indexes begin."""
_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_DENIED = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})


class TooManyRows(Exception):
    """There are more rows than are taken."""


def run(order: Mapping[str, Any]) -> int:
    """Print an object as JSON. Returns the number of rows that were read.

    `sizes` are the sizes of the database and of the files next to it, which standard input contains one after the
    other. `beside` are the endings of these files. `sql`: the query; "": all base tables and the schema. `max_rows`:
    the maximum.
    """
    _copied([_FILE, *(_FILE + ending for ending in order["beside"])], order["sizes"])
    connection = sqlite3.connect(_FILE, isolation_level=None)
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    try:
        for pragma in (
            "locking_mode=EXCLUSIVE",
            "trusted_schema=OFF",
            "cell_size_check=ON",
            "mmap_size=0",
            "query_only=ON",
        ):
            connection.execute(f"PRAGMA {pragma}")
        sound = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if sound != ("ok",):
            return _refused(str(sound[0]) if sound else "no check")
        found = _asked(connection, order) if order["sql"] else _dumped(connection, order["max_rows"])
    except TooManyRows:
        print(json.dumps({"too_many": order["max_rows"]}))
        return 0
    except (sqlite3.Error, OverflowError, ValueError, RecursionError) as error:
        return _refused(f"{type(error).__name__}: {error}")
    print(json.dumps(found))
    return 1


def _refused(problem: str) -> int:
    print(json.dumps({"refused": problem[:300]}))
    return 0


def _copied(names: list[str], sizes: list[int]) -> None:
    """Write the files from standard input to the work directory."""
    stream = sys.stdin.buffer
    for name, size in zip(names, sizes, strict=True):
        with open(name, "wb") as file:
            left = size
            while left and (data := stream.read(min(left, 1 << 20))):
                file.write(data)
                left -= len(data)


def _dumped(connection: sqlite3.Connection, most: int) -> dict[str, Any]:
    """The schema, and of each base table its columns and rows."""
    schema = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    connection.set_authorizer(_may_read)
    tables: dict[str, Any] = {}
    left = most
    for kind, name, _, sql in schema:
        if kind != "table" or name.lower().startswith(_OWN) or str(sql).upper().startswith("CREATE VIRTUAL"):
            continue
        connection.set_authorizer(None)
        columns = connection.execute("SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)", (name,)).fetchall()
        connection.set_authorizer(_may_read)
        shown = [column for column in columns if not column[3]]
        rows = list(_rows(connection, name, [column[0] for column in shown], left))
        left -= len(rows)
        tables[name] = {"columns": [list(column[:3]) for column in shown], "rows": rows}
    return {"schema": [list(entry) for entry in schema], "tables": tables}


def _rows(connection: sqlite3.Connection, table: str, columns: list[str], most: int) -> Iterator[list[Any]]:
    """The rows of a table; of a column its type and its value."""
    if not columns:
        return
    quoted = ", ".join(f"typeof({_name(column)}), {_name(column)}" for column in columns)
    for number, row in enumerate(connection.execute(f"SELECT {quoted} FROM main.{_name(table)}")):
        if number >= most:
            raise TooManyRows
        yield [[row[at], _plain(row[at + 1])] for at in range(0, len(row), 2)]


def _asked(connection: sqlite3.Connection, order: Mapping[str, Any]) -> dict[str, Any]:
    connection.set_authorizer(_may_read)
    cursor = connection.execute(order["sql"])
    rows = cursor.fetchmany(order["max_rows"] + 1)
    if len(rows) > order["max_rows"]:
        raise TooManyRows
    return {
        "columns": [column[0] for column in cursor.description or ()],
        "rows": [list(map(_plain, row)) for row in rows],
    }


def _may_read(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    denied = action == sqlite3.SQLITE_FUNCTION and str(second).lower() in _DENIED
    return sqlite3.SQLITE_OK if action in _READS and not denied else sqlite3.SQLITE_DENY


def _plain(value: Any) -> Any:
    """A value as JSON has it: blobs as their digits, numbers that JSON lacks as their names."""
    if isinstance(value, bytes):
        return {"blob": value.hex()}
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"float": repr(value)}
    return value


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
