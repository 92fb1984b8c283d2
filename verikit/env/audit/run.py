"""Audits a folder of tasks, task after task: records that survive an interrupted run, and the sums."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from verikit.env.audit.alike import AlikeTasks
from verikit.env.audit.checks import ENV_CHECKS, EVERY_CHECK, RUNNING_CHECKS
from verikit.env.audit.formats import FoundEnv, found_environments, looks_of, rows_file
from verikit.env.audit.formats.row_specs import spec_of_row
from verikit.env.audit.formats.spec_looks import NO_SPEC
from verikit.env.audit.records import STATUSES, CheckRecord, CheckStatus, TaskRecord
from verikit.env.audit.task import AuditedTask
from verikit.errors import SchemaError, UsageError, WorkspaceError
from verikit.platform.raised import describe
from verikit.platform.secrets import strike
from verikit.platform.terminal import quantity
from verikit.scoring.folder import Folder
from verikit.workspaces.names import as_bytes, shown

if TYPE_CHECKING:
    from verikit.env.audit.running.row_runs import RowTask
    from verikit.env.audit.running.run import RunningChecks

KEPT, _TASKS = ".tasks", "tasks.jsonl"


def audit_tasks(
    folder: str | Path,
    *,
    keep: str | Path | None = None,
    resume: bool = True,
    only: str = "",
    run: bool = False,
    seconds: float = 60.0,
    spec: str = "",
    limit: int | None = None,
    begun: Callable[[int], None] = lambda tasks: None,
) -> Iterator[TaskRecord]:
    """Audit the environments of a folder. Without `run`, their files are never imported or run.

    Args:
        folder: An environment, a folder with environments at any depth up to six, or a file of rows with workspaces.
        keep: A folder for each task's record, written immediately. A later audit reuses the records of unchanged tasks.
        resume: Use the records in `keep`. False starts from scratch.
        only: The one format to look for. Empty: each of them.
        run: Also run each task's solution and tests in the sandbox.
        seconds: Of each running check on each task.
        spec: Grades rows with workspaces. Empty: each row's own `checks`.
        limit: Only the first tasks, by path. None audits all.
        begun: Called with the number of tasks before the first is audited; 0 if rows have to be counted.

    Yields:
        One record per task, in the order of their paths. With `run`, a record for each row follows that of its file.

    Raises:
        SpecError: The spec can't be loaded.
        UsageError: There is no environment, its format is ambiguous, or a folder can't be read or written.
    """
    root, found = _found(str(folder), only)
    if spec:
        found = _graded_by(spec, found, str(folder))
    found = found[:limit]
    begun(0 if run and any(one.format == "rows" for one in found) else len(found))
    index = AlikeTasks(lambda within: AuditedTask.open(root, within))
    with ExitStack() as stack:
        kept = stack.enter_context(KeptRecords(Path(keep) if keep else None, restart=not resume))
        running = stack.enter_context(_running(seconds)) if run else None
        for one in found:
            yield _audited(root, one, index, kept, running)
            if running and one.format == "rows":
                yield from islice(_audited_rows(root, one, kept, running), limit)
        kept.finish()


def _graded_by(spec: str, found: Sequence[FoundEnv], folder: str) -> list[FoundEnv]:
    """The environments, of which those with rows are graded by a spec."""
    spec_of_row({}, spec)
    if all(one.format != "rows" for one in found):
        raise UsageError(f"{folder} has no rows that a spec could grade", hint="omit --spec")
    return [replace(one, spec=spec) if one.format == "rows" else one for one in found]


def _running(seconds: float) -> RunningChecks:
    from verikit.env.audit.running.run import RunningChecks  # the sandbox is loaded for these checks only

    return RunningChecks(seconds)


def _found(path: str, only: str) -> tuple[str, list[FoundEnv]]:
    """The folder that paths are relative to, and its environments."""
    if Path(path).is_file():
        root, one = rows_file(path)
        return root, [one]
    try:
        found = found_environments(path, only)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from None
    if not found:
        known = "task.toml, openenv.yaml, a package with load_environment, app.py and configs/, rows with workspace"
        raise UsageError(f"{path} has no {only or 'environment'}", hint=f"it would have one of {known}")
    if len(found) == 1 and found[0].doubt:
        raise UsageError(f"{path}: {found[0].doubt}", hint="--format NAME decides")
    return path, found


def _audited(
    root: str, found: FoundEnv, index: AlikeTasks, kept: KeptRecords, running: RunningChecks | None = None
) -> TaskRecord:
    start = time.perf_counter()
    within = found.within
    name = shown("/".join((*within, found.file) if found.file else within)) or "."
    key = _key(found, running)
    try:
        if found.doubt:
            raise WorkspaceError(found.doubt)
        task = AuditedTask.open(root, within)
        record = kept.get(key, task.tree.manifest.digest)
        if record is None:
            record = TaskRecord(name, task.tree.manifest.digest, found.format)
            for check, look in _looks(found).items():
                record.checks[check] = _checked(look, task)
            record.checks.update(_ran(running, found, task))
            record.seconds = time.perf_counter() - start
            kept.add(key, record)
        if found.format == "harbor":
            record.checks["alike"] = _checked(index.check, task)
    except (WorkspaceError, OSError) as error:
        record = TaskRecord(name, format=found.format)
        needs = str(error) if isinstance(error, WorkspaceError) else f"{error.strerror}"
        record.checks = dict.fromkeys(EVERY_CHECK if running else ENV_CHECKS, CheckRecord("error", needs=needs))
        record.seconds = time.perf_counter() - start
    return record


def _audited_rows(root: str, found: FoundEnv, kept: KeptRecords, running: RunningChecks) -> Iterator[TaskRecord]:
    """A record of the running checks for each row that has a spec, each task once."""
    from verikit.env.audit.running.row_runs import row_tasks

    seen: set[str] = set()
    try:
        env = AuditedTask.open(root, found.within)
        for row in row_tasks(env, found.file, found.spec):
            name = shown("/".join((*found.within, row.where)))
            try:
                digest = row.digest
            except Exception as error:  # noqa: BLE001 - as for checks of files
                needs = f"the row can't be prepared: {describe(error)}"
                checks = dict.fromkeys(RUNNING_CHECKS, CheckRecord("error", needs=needs))
                yield TaskRecord(name, format="rows", checks=checks)
                continue
            if digest not in seen:
                seen.add(digest)
                yield _audited_row(
                    row, TaskRecord(name, digest, "rows"), f"{_key(found, running)} {row.where}", kept, running
                )
    except (WorkspaceError, OSError) as error:
        needs = str(error) if isinstance(error, WorkspaceError) else f"{error.strerror}"
        name = shown("/".join((*found.within, found.file or "rows")))
        yield TaskRecord(name, format="rows", checks=dict.fromkeys(RUNNING_CHECKS, CheckRecord("error", needs=needs)))


def _audited_row(row: RowTask, record: TaskRecord, key: str, kept: KeptRecords, running: RunningChecks) -> TaskRecord:
    """The stored record of a row, or this one with the running checks."""
    start = time.perf_counter()
    stored = kept.get(key, record.digest)
    if stored is not None:
        return stored
    record.checks.update(running.check_row(row))
    record.seconds = time.perf_counter() - start
    kept.add(key, record)
    return record


def _key(found: FoundEnv, running: RunningChecks | None) -> str:
    """The key of an environment's stored record. Records with running checks have separate keys."""
    spec = spec_of_row({}, found.spec).identity
    path = b"/".join(map(as_bytes, (*found.within, found.format, found.file, spec)))
    return hashlib.sha256(path).hexdigest() + (running.key if running else "")


def _ran(running: RunningChecks | None, found: FoundEnv, task: AuditedTask) -> Mapping[str, CheckRecord]:
    """The records of the running checks. Rows have records of their own."""
    if running is None:
        return {}
    if found.format == "rows":
        from verikit.env.audit.running.row_runs import row_tasks

        if next(row_tasks(task, found.file, found.spec), None):
            return {}
        return dict.fromkeys(RUNNING_CHECKS, CheckRecord("not_run", needs=NO_SPEC))
    if found.format == "harbor":
        return dict(running.check(task))
    return dict(running.check_package(task, found.format))


def _looks(found: FoundEnv) -> Mapping[str, Callable[[AuditedTask], CheckRecord]]:
    """The checks of a single environment, in the order of the report."""
    if found.format == "harbor":
        return {check: told.look for check, told in ENV_CHECKS.items() if told.look is not None}
    return looks_of(found)


def _checked(look: Callable[[AuditedTask], CheckRecord], task: AuditedTask) -> CheckRecord:
    try:
        return look(task)
    except WorkspaceError as error:
        return CheckRecord("error", needs=str(error))
    except Exception as error:  # noqa: BLE001 - a task's files may break any reader; the other tasks are audited
        return CheckRecord("error", needs=f"the check failed: {describe(error)}")


@dataclass(slots=True)
class AuditSums:
    """Counts over tasks."""

    tasks: int = 0
    files: int = 0
    """Of them, files of rows."""
    rows: int = 0
    """Of them, single rows, which have records of their own if their solutions ran."""
    failing: int = 0
    """Tasks with a check that fails."""
    unsettled: dict[str, int] = field(default_factory=lambda: {"error": 0, "not_run": 0})
    """Tasks with a check that has this status."""
    statuses: dict[str, Counter[CheckStatus]] = field(default_factory=lambda: {name: Counter() for name in EVERY_CHECK})
    seconds: float = 0.0
    """Of all tasks, those of an earlier command included if their records were reused."""
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Tasks with a finding, by check and kind."""
    _digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def add(self, record: TaskRecord) -> None:
        """Count one task."""
        self.tasks += 1
        if record.format == "rows":
            whole = not record.checks.keys() <= RUNNING_CHECKS.keys()
            self.files += whole
            self.rows += not whole
        self.seconds += record.seconds
        self._digest.update(f"{record.task}\0{record.digest}\n".encode("utf-8", "surrogateescape"))
        found = {result.status for result in record.checks.values()}
        self.failing += "fail" in found
        for status in self.unsettled:
            self.unsettled[status] += status in found
        for name, result in record.checks.items():
            self.statuses[name][result.status] += 1
            self.kinds.update({(name, finding.kind) for finding in result.findings})

    @property
    def audited(self) -> str:
        """The numbers of tasks, of files with rows, and of single rows."""
        others = self.tasks - self.files - self.rows
        counts = ((others, "task"), (self.files, "file"), (self.rows, "row"))
        return ", ".join(quantity(count, noun) for count, noun in counts if count) or quantity(0, "task")

    @property
    def digest(self) -> str:
        """SHA-256 of all tasks' names and digests."""
        return self._digest.hexdigest()

    def by_check(self) -> dict[str, dict[str, int]]:
        """The counts of each check, as JSON has them. Running checks are there if they were made."""
        return {
            name: {status: counts[status] for status in STATUSES}
            for name, counts in self.statuses.items()
            if counts.total() or name not in RUNNING_CHECKS
        }

    @property
    def ran(self) -> bool:
        """Whether running checks were made."""
        return any(self.statuses[name].total() for name in RUNNING_CHECKS)


class KeptRecords:
    """Records of tasks on disk, by key and digest; a context manager. Without a folder it stores nothing.

    Raises:
        UsageError: The folder can't be written, another run has it open, or its files are damaged.
    """

    def __init__(self, out: Path | None, *, restart: bool = False) -> None:
        self._folder: Folder | None = Folder(out / KEPT, (_TASKS,)) if out else None
        self._restart = restart
        self._places: dict[str, tuple[int, int]] = {}
        self._stream: BinaryIO | None = None
        self._version = version("verikit")

    def __enter__(self) -> Self:
        if self._folder:
            self._folder.__enter__()
            try:
                if self._restart:
                    self._folder.clear()
                self._folder.recover()
                self._find(self._folder.path / _TASKS)
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *exception: object) -> None:
        if self._stream:
            self._stream.close()
        if self._folder:
            self._folder.__exit__()

    def get(self, key: str, digest: str) -> TaskRecord | None:
        """The record of a task that has not changed since."""
        place = self._places.get(f"{key} {digest}")
        if place is None or self._stream is None:
            return None
        self._stream.seek(place[0])
        try:
            return TaskRecord.of(json.loads(self._stream.read(place[1]))["record"])
        except (ValueError, KeyError, TypeError):
            return None

    def add(self, key: str, record: TaskRecord) -> None:
        """Store a record.

        Raises:
            VerikitError: The disk is full or no longer available. Earlier records remain.
        """
        if self._folder:
            told = {"key": f"{key} {record.digest}", "verikit": self._version, "record": record.as_dict()}
            line = strike(json.dumps(told, ensure_ascii=True)).encode() + b"\n"
            self._folder.append({_TASKS: line}, 0)

    def finish(self) -> None:
        """Make the folder independent of interruptions, so that a further audit leaves it as it is."""
        if self._folder:
            self._folder.finish()

    def _find(self, path: Path) -> None:
        """Index the position of each record. Records of another version of verikit are skipped."""
        self._stream = open(path, "rb")  # noqa: SIM115 - held until close
        at = 0
        for number, line in enumerate(self._stream, 1):
            try:
                told = json.loads(line)
                if told["verikit"] == self._version:
                    self._places[told["key"]] = (at, len(line))
            except (ValueError, KeyError, TypeError) as error:
                raise SchemaError(str(error), file=path, line=number, hint="--restart audits all again") from None
            at += len(line)
