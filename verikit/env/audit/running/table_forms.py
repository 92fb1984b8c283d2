"""Runs in the box: forms of each database in the folder `in`, as files in the folder `out`.

A form without a file does not exist for the database: it has no rows, too many, the form is too large, or
SQLite refuses the change.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

MAX_ROWS = 2000
"""Rows of a table that a view can show."""
MAX_BYTES = 5 << 20
"""Bytes of a form. The six forms of a database are the output of one run, which returns at most 32 MiB."""
GIVEN = "-given"
"""The end of the name of a database that the agent starts with."""
_NAMES = "select name from sqlite_master where type = 'table' and substr(name, 1, 7) <> 'sqlite_'"


class NoSuchForm(Exception):
    """A database without this form."""


def quoted(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def tables(db: sqlite3.Connection) -> Mapping[str, list[str]]:
    """The tables with their columns, as identifiers."""
    names = [quoted(name) for (name,) in db.execute(_NAMES).fetchall()]
    return {name: [quoted(row[1]) for row in db.execute(f"pragma table_info({name})")] for name in names}


def views(db: sqlite3.Connection, given: bool) -> None:
    """Views with the rows of the tables. A given table stays, under another name."""
    for name, columns in tables(db).items():
        told = ", ".join(f"quote({column})" for column in columns)
        rows = db.execute(f"select {told} from {name} limit {MAX_ROWS + 1}").fetchall()
        if len(rows) > MAX_ROWS:
            raise NoSuchForm
        db.execute(f"alter table {name} rename to {quoted('old ' + name)}" if given else f"drop table {name}")
        values = ", ".join(f"({', '.join(row)})" for row in rows)
        shown = f"values {values}" if rows else _no_rows(columns)
        db.execute(f"create view {name} ({', '.join(columns)}) as {shown}")


def without_rows(db: sqlite3.Connection, given: bool) -> None:
    """Views with the columns of the tables, and no rows."""
    if not any(db.execute(f"select 1 from {name} limit 1").fetchone() for name in tables(db)):
        raise NoSuchForm
    for name, columns in tables(db).items():
        db.execute(f"drop table {name}")
        db.execute(f"create view {name} ({', '.join(columns)}) as {_no_rows(columns)}")


def _no_rows(columns: list[str]) -> str:
    return f"select {', '.join(['null'] * len(columns))} where 0"


def types(db: sqlite3.Connection, given: bool) -> None:
    """Columns without types, and numbers as text."""
    changed = 0
    for name, columns in tables(db).items():
        numbers = " or ".join(f"typeof({column}) in ('integer', 'real')" for column in columns)
        changed += db.execute(f"select count(*) from {name} where {numbers}").fetchone()[0]
        texts = ", ".join(f"iif(typeof({c}) in ('integer', 'real'), cast({c} as text), {c}) as {c}" for c in columns)
        db.execute(f"create table verikit_forged as select {texts} from {name}")
        db.execute(f"drop table {name}")
        db.execute(f"alter table verikit_forged rename to {name}")
    if not changed:
        raise NoSuchForm


def trigger(db: sqlite3.Connection, given: bool) -> None:
    """A trigger that empties a table at the next insert."""
    for name in tables(db):
        db.execute(f"create trigger {quoted(f'forged {name}')} after insert on {name} begin delete from {name}; end")


def index(db: sqlite3.Connection, given: bool) -> None:
    """An index of each table. The tables are the same."""
    for name, columns in tables(db).items():
        db.execute(f"create index {quoted(f'index {name}')} on {name} ({columns[0]})")


def rebuilt(db: sqlite3.Connection, given: bool) -> None:
    """The same tables in another layout of the file."""


FORMS: Mapping[str, Callable[[sqlite3.Connection, bool], None]] = {
    one.__name__: one for one in (views, without_rows, types, trigger, index, rebuilt)
}


def main() -> None:
    """Write each form of each database."""
    for path in sorted(Path("in").iterdir()):
        for name, form in FORMS.items():
            target = Path("forged.db")  # renamed when it is whole, because the time limit can end this program
            shutil.copy(path, target)
            db = sqlite3.connect(target, isolation_level=None)
            try:
                if not tables(db):
                    raise NoSuchForm
                form(db, path.name.endswith(GIVEN))
                db.execute("vacuum")
            except (sqlite3.Error, NoSuchForm):
                continue
            finally:
                db.close()
            if target.stat().st_size <= MAX_BYTES:
                target.rename(Path("out") / f"{path.name.removesuffix(GIVEN)}-{name}")


if __name__ == "__main__":
    main()
