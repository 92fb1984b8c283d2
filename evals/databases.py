"""Documents of text-to-SQL benchmarks with their databases: BIRD and Spider, from local files.

The databases are next to the file of questions, laid out as in the benchmarks (`dev_databases/ID/ID.sqlite`,
`database/ID/ID.sqlite`), or in a folder that `databases` names. They are opened read-only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import datasets

from verikit.errors import UsageError
from verikit.evals import data as files
from verikit.evals.docs import Doc

FOLDERS = ("dev_databases", "database", "databases", "test_database", "train_databases", "test_suite_database", ".")
"""Possible folders of databases, relative to the file of questions."""
_SUFFIXES = (".sqlite", ".sqlite3", ".db")


def load(
    *,
    task: str,
    data: files.Files = None,
    shots: files.Files = None,
    databases: files.Files = None,
    suite: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """Return a task's splits. Each document has the paths of its databases in `db` and their tables in `ddl`.

    Args:
        task: The task's name.
        data: Local file(s) of questions.
        shots: Local file(s) of examples.
        databases: Folder(s) of the databases. None searches next to the questions.
        suite: Use all databases of an id's folder (Spider's test suites), not only the one with its name.
        more: Arguments of `verikit.evals.data.load`.

    Raises:
        UsageError: A file or database can't be read.
        SchemaError: A row lacks a column.
    """
    loaded = files.load(task=task, data=data, shots=shots, **more)
    given = data if isinstance(data, str) else files.of_task(data or {}, task)
    folder = databases if isinstance(databases, str) else files.of_task(databases or {}, task)
    roots = [Path(folder)] if folder else [Path(given or ".").parent / name for name in FOLDERS]
    test = [_with_database(doc, roots, suite) for doc in loaded["test"]]
    examples = [_with_database(doc, roots, suite) for doc in loaded["shots"]]
    return loaded | {"test": datasets.Dataset.from_list(test), "shots": examples}


def _files(folder: Path, name: str) -> tuple[list[str], list[str]]:
    """Return the file of a database, and the other files of its folder if it is a test suite."""
    paths = sorted(str(path) for path in folder.glob("*") if path.suffix in _SUFFIXES)
    own = [path for path in paths if Path(path).stem == name]
    return own, [path for path in paths if path not in own]


def _with_database(doc: Doc, roots: Sequence[Path], suite: bool) -> Doc:
    name = str(doc["db_id"])
    if Path(name).name != name:
        raise UsageError(f"{name!r} is not a database name")
    for root in roots:
        own, others = _files(root / name, name)
        if own:
            return doc | {"db": [*own, *(others if suite else ())], "ddl": _tables(own[0])}
    shown = ", ".join(str(root) for root in roots)
    raise UsageError(
        f"database {name!r} not found below {shown[:200]}", hint="put the benchmark's databases next to the file"
    )


@lru_cache(maxsize=512)
def _tables(path: str) -> str:
    """Return the statements that created a database's tables."""
    try:
        connection = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            rows = connection.execute(
                "SELECT sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL"
            ).fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise UsageError(f"can't read the database {path}: {error}") from None
    return ";\n\n".join(" ".join(str(sql).split()) for (sql,) in rows)


def prompt(doc: Mapping[str, Any]) -> str:
    """The prompt: the tables, the question, its evidence, and the answer's format."""
    evidence = f"\nKnown: {doc['evidence']}" if doc.get("evidence") else ""
    return (
        f"Database (SQLite):\n\n{doc['ddl']};\n\nQuestion: {doc['question']}{evidence}\n\n"
        "Answer with one SQLite query that reads the database, in a ```sql block.\n"
    )
