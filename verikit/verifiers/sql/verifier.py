"""Does the query return the result of the gold query? Both run in the sandbox; their results are compared outside.

Each query runs in its own sandboxed child, on a read-only copy of the database. A candidate's query that fails, writes
or runs forever scores 0.0. If the gold query fails, the database can't be read or the sandbox fails, the sample is
unscored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from verikit.base import TextVerifier
from verikit.errors import MissingExtra, SchemaError, UsageError
from verikit.replies.text import accepted
from verikit.sandbox import ISOLATION, LocalSandbox, RunLimits, RunResult, default_sandbox
from verikit.sandbox.budget import Budget, row_seconds
from verikit.sandbox.guest import source
from verikit.types import Sample, Score
from verikit.verifiers.reading.gold import check_choice
from verikit.verifiers.sql.compare import Columns, Result, difference, in_blocks, read
from verikit.verifiers.sql.text import SortKeys, query, sort_keys, stripped

Dialect = Literal["auto", "sqlite", "duckdb"]
_GOLDS = ("sql", "SQL", "query", "gold_sql", "gold_query")
_FILES = ("db", "db_path", "database")
_SCRIPTS = ("schema", "setup", "sql_context")
_SUFFIXES = (".sqlite", ".sqlite3", ".db", ".duckdb")
_COPIES = 2
"""Maximum copies of a database in a child's memory."""
_DUCKDB_RESERVES = 1024
"""MiB of addresses, unused, that duckdb claims when it starts; with less it dies without an error message."""


@dataclass(frozen=True)
class SQL(TextVerifier):
    """1.0 if the query in the completion returns the gold query's rows on every database of the row.

    The gold is the row's answer (several: any of them), or `sql`, `SQL`, `query` of its meta. Its databases are files
    (`meta.db`, one or a list), the ones of `meta.db_id` below `root` (`root/ID/ID.sqlite`, as in Spider and BIRD), or
    created by a script (`meta.schema`, one or a list).
    """

    dialect: Dialect = "auto"
    """`sqlite` or `duckdb`. `auto`: the type of the file, and sqlite for a script."""
    root: str = ""
    """The folder of the databases. Paths of a row stay inside it. "": the working directory, absolute paths allowed."""
    suite: bool = False
    """With `db_id`: all databases of that folder instead of the one of that name (Spider's test suites)."""
    order: Literal["gold", "never", "always"] = "gold"
    """Whether the order of rows matters: if the gold's outermost ORDER BY requires one (tied rows may be in any order),
    never, or always, row by row."""
    rows: Literal["bag", "set"] = "bag"
    """Whether the number of equal rows matters. `set` with `order="never"` is BIRD's rule."""
    columns: Columns = "position"
    """Columns are matched by `position`, by `name`, or in `any` order that makes the results equal (Spider's rule)."""
    tolerance: float = 1e-9
    """Allowed difference of numbers, absolute or relative. Two integers must be equal."""
    max_rows: int = 100_000
    """A query that returns more is 0.0."""
    result_mb: int = 16
    """A query whose result is larger, as JSON, is 0.0."""
    max_db_mb: int = 1024
    """A larger database is unscored."""
    wall_s: float = 10.0
    """Time for each run of a query."""
    memory_mb: int = 512
    """Memory per run, in MiB, in addition to the database itself."""
    row_s: float | None = None
    """Seconds for all runs of the candidate's query together. None: six times `wall_s`. Unfinished runs are 0.0."""
    name = "sql"

    def __post_init__(self) -> None:
        super().__post_init__()
        row_seconds(self.wall_s, self.row_s)
        for field, value, choices in (
            ("dialect", self.dialect, ("auto", "sqlite", "duckdb")),
            ("order", self.order, ("gold", "never", "always")),
            ("rows", self.rows, ("bag", "set")),
            ("columns", self.columns, ("position", "name", "any")),
        ):
            check_choice(field, value, choices)
        if self.rows == "set" and self.order != "never":
            raise UsageError("a set of rows has no order", hint='use order="never" with rows="set"')
        if not 0 <= self.tolerance < 1:
            raise UsageError(f"tolerance must be at least 0 and less than 1, got {self.tolerance!r}")
        if min(self.max_rows, self.result_mb, self.max_db_mb, self.memory_mb) < 1:
            raise UsageError("max_rows, result_mb, max_db_mb and memory_mb are at least 1")

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately, as many in parallel as the machine has CPU cores.

        Raises:
            SandboxUnavailable: This machine can't isolate programs; the message names the missing part.
        """
        box = default_sandbox(ISOLATION)
        if len(samples) < 2:
            return [self._score_sample(sample, box) for sample in samples]
        with ThreadPoolExecutor(box.workers, thread_name_prefix="verikit-sql") as threads:
            return list(threads.map(lambda sample: self._score_sample(sample, box), samples))

    @property
    def slowest_s(self) -> float:
        """The budget of the candidate's query, plus the same for the gold query."""
        return 2 * row_seconds(self.wall_s, self.row_s)

    def environment(self) -> dict[str, Any]:
        """The properties of the sandbox, as its probes found them, and the versions of the databases."""
        return {"sandbox": default_sandbox(ISOLATION).report.as_dict(), "databases": _versions()}

    def _score_sample(self, sample: Sample, box: LocalSandbox) -> Score:
        try:
            golds = [stripped(text) for text in _golds(sample)]
            databases = [self._database(given) for given in self._given(sample.meta)]
        except (SchemaError, OSError) as problem:
            return Score.error(f"the row can't be used: {str(problem)[:300]}")
        said = query(sample.completion)
        if not said:
            verdict = self._verdict(golds[0], databases[0], RunResult("error"))
            return verdict if isinstance(verdict, Score) else Score(0.0, reason="no query in the reply")
        budget = Budget(self._limits(), row_seconds(self.wall_s, self.row_s))
        left = dict.fromkeys(golds, "")
        for number, database in enumerate(databases, 1):
            ran = budget.run(partial(_run, box, database, said, "", self))
            if ran.status == "infra_error":
                return Score.error(f"sandbox error: {ran.error}")
            for gold in list(left):
                verdict = self._verdict(gold, database, ran)
                if isinstance(verdict, Score):
                    return verdict
                if verdict:
                    del left[gold]
                    if not left:
                        where = f"database {number} of {len(databases)}: " if len(databases) > 1 else ""
                        return Score(0.0, answer=said, reason=where + verdict)
        return Score(1.0, answer=said, reason=f"the gold's rows on {len(databases)} database(s)")

    def _verdict(self, gold: str, database: _Database, ran: RunResult) -> str | Score:
        """Empty if a run returned the gold result, otherwise the difference; a score if that can't be decided."""
        try:
            expected = _gold(gold, database, self)
        except _GoldFault as fault:
            return Score.timeout(str(fault)) if fault.late else Score.error(str(fault))
        if ran.status != "ok":
            return f"{ran.status} ({_line(ran)})"
        try:
            names, rows, _ = read(ran.stdout)
            return difference(expected, Result(names, rows), self.columns, self.tolerance, distinct=self.rows == "set")
        except ValueError as problem:
            return f"gives what can't be compared ({str(problem)[:200]})"

    def _limits(self) -> RunLimits:
        return RunLimits(wall_s=self.wall_s, memory_mb=self.memory_mb, output_kb=self.result_mb << 10)

    def _given(self, meta: Mapping[str, Any]) -> list[tuple[Path | None, str]]:
        """The row's databases, each a file or a script.

        Raises:
            SchemaError: The row doesn't have any, or one can't be found.
        """
        if paths := _all_texts(meta, _FILES):
            return [(self._inside(Path(path)), "") for path in paths]
        if scripts := _all_texts(meta, _SCRIPTS):
            return [(None, script) for script in scripts]
        name = meta.get("db_id")
        if not isinstance(name, str) or not name:
            raise SchemaError(f"database not found. Set one of {', '.join((*_FILES, *_SCRIPTS, 'db_id'))} in meta")
        return [(path, "") for path in self._of_name(name)]

    def _of_name(self, name: str) -> list[Path]:
        """The files of a database: the one with its name, or all of its folder for a suite."""
        folder = self._inside(Path(name))
        files = sorted(path for path in folder.glob("*") if path.suffix in _SUFFIXES)
        chosen = files if self.suite else [path for path in files if path.stem == Path(name).name]
        if not chosen:
            raise SchemaError(f"database {name!r} not found in {folder}")
        return [self._inside(path.relative_to(self.root)) for path in chosen]

    def _inside(self, path: Path) -> Path:
        full = Path(self.root, path).resolve()
        if self.root and not full.is_relative_to(Path(self.root).resolve()):
            raise SchemaError(f"{str(path)!r} leads out of {self.root}")
        return full

    def _database(self, given: tuple[Path | None, str]) -> _Database:
        path, script = given
        if path is None:
            return _Database("duckdb" if self.dialect == "duckdb" else "sqlite", "", script)
        facts = path.stat()
        if facts.st_size > self.max_db_mb << 20:
            raise SchemaError(f"{path} has {facts.st_size >> 20} MiB, more than max_db_mb = {self.max_db_mb}")
        for log in (Path(f"{path}-wal"), Path(f"{path}.wal"), Path(f"{path}-journal")):
            if log.is_file() and log.stat().st_size:
                raise SchemaError(f"{path} is being written to: {log.name} is not empty")
        with path.open("rb") as file:
            head = file.read(16)
        dialect = "duckdb" if head[8:12] == b"DUCK" else "sqlite"
        if self.dialect not in ("auto", dialect):
            raise SchemaError(f"{path} is a database of {dialect}, not of {self.dialect}")
        return _Database(dialect, str(path), "", facts.st_mtime_ns, facts.st_size)


@dataclass(frozen=True, slots=True)
class _Database:
    """The current state of a database: a file, or the result of a script."""

    dialect: str
    path: str
    script: str
    changed: int = 0
    size: int = 0


class _GoldFault(Exception):
    """The gold has no result to compare with."""

    def __init__(self, problem: str, late: bool = False) -> None:
        super().__init__(problem[:500])
        self.late = late


@lru_cache(maxsize=64)
def _gold(gold: str, database: _Database, options: SQL) -> Result:
    """The gold query's result; cached, since the candidates of a row share it.

    Raises:
        _GoldFault: the gold query, the database or the sandbox failed.
    """
    keys = sort_keys(gold) if options.order == "gold" else None
    box = default_sandbox(ISOLATION)
    ran = _run(box, database, gold, keys.sql if keys else "", options, options._limits())
    if ran.status != "ok":
        problem = " ".join(str(ran.error).split()) if ran.error else ran.status
        raise _GoldFault(
            f"the gold query fails on {database.path or 'its database'}: {problem}", ran.status == "timeout"
        )
    try:
        names, rows, keyed = read(ran.stdout)
    except ValueError as problem:
        raise _GoldFault(f"the gold's result can't be read: {problem}") from None
    if options.order == "always":
        return Result(names, rows, (1,) * len(rows))
    return Result(names, rows, _blocks(rows, keyed, keys) if keys else ())


def _blocks(rows: Sequence[Any], keyed: Sequence[Any] | None, keys: SortKeys) -> tuple[int, ...]:
    return in_blocks(rows, keyed if keys.sql else rows, keys.columns, keys.collations)


def _run(box: LocalSandbox, database: _Database, sql: str, keyed: str, options: SQL, limits: RunLimits) -> RunResult:
    """Run one query on a copy of a database."""
    if database.dialect == "duckdb" and find_spec("duckdb") is None:
        raise MissingExtra("sql on duckdb", "sql")
    data = Path(database.path).read_bytes() if database.path else b""
    copies = (len(data) >> 20) + 1
    order = {
        "dialect": database.dialect, "sql": sql, "keyed": keyed, "setup": database.script,
        "max_rows": options.max_rows, "memory_mb": options.memory_mb,
    }  # fmt: skip
    reserved = _DUCKDB_RESERVES if database.dialect == "duckdb" else 0
    roomy = RunLimits(
        wall_s=limits.wall_s,
        memory_mb=limits.memory_mb + _COPIES * copies + reserved,
        output_kb=limits.output_kb,
        disk_mb=limits.disk_mb + copies,
    )
    ran = box.run(source("query"), data, call=("run", [order], {}), limits=roomy)
    if ran.status == "error" and ran.error and ran.error.type == "Setup":
        return RunResult("infra_error", error=ran.error, seconds=ran.seconds)
    return ran


def _line(ran: RunResult) -> str:
    return " ".join(str(ran.error or ran.status).split())[:200]


def _golds(sample: Sample) -> list[str]:
    given = (text for key in _GOLDS if key in sample.meta for text in _texts(sample.meta[key], key))
    golds = [gold for gold in accepted(sample.answer) or given if gold.strip()]
    if not golds:
        raise SchemaError("the row has no gold query")
    return golds


def _all_texts(meta: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    return [text for key in keys if key in meta for text in _texts(meta[key], key)]


def _texts(value: object, key: str) -> list[str]:
    if isinstance(value, str):
        texts = [value]
    else:
        texts = list(value) if isinstance(value, Iterable) else []
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise SchemaError("must be a string or a list of strings", field=key)
    return texts


def _versions() -> dict[str, str]:
    import sqlite3
    from importlib.metadata import PackageNotFoundError, version

    try:
        duckdb = version("duckdb")
    except PackageNotFoundError:
        duckdb = "not installed"
    return {"sqlite": sqlite3.sqlite_version, "duckdb": duckdb}
