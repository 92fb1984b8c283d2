"""The running checks of one task, in order, on one sandbox for all tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from verikit.adapters.harbor import ORACLE
from verikit.env.audit.records import CheckRecord
from verikit.env.audit.running.box import TaskBox
from verikit.env.audit.running.findings import SOLUTION, TESTS, RunFindings
from verikit.env.audit.running.mutated import check_honest, check_mutants
from verikit.env.audit.running.packages.episodes import EpisodeRehearsal, check_episodes_replay
from verikit.env.audit.running.packages.rehearsed import PackageRehearsal, check_range, check_replies
from verikit.env.audit.running.rehearsal import OutOfTime, Rehearsal, RehearsalLimits
from verikit.env.audit.running.repeated import check_portable, check_replay
from verikit.env.audit.running.row_runs import RowRehearsal, RowTask, check_row_replay, undecided
from verikit.env.audit.running.solved import check_floor, check_nop, check_oracle, solved_here, tests_gap
from verikit.env.audit.running.steps import StepRehearsal, of_all_steps
from verikit.env.audit.running.tampered import check_tamper
from verikit.env.audit.running.used import check_resources
from verikit.env.audit.task import AuditedTask
from verikit.errors import SandboxError, SandboxUnavailable, WorkspaceError
from verikit.platform.raised import describe

Look = Callable[[Rehearsal, RunFindings], None]
MAX_EVIDENCE = 40
"""Runs of a check that the report has."""
LOOKS: Mapping[str, Look] = {
    "oracle": check_oracle,
    "nop": check_nop,
    "floor": check_floor,
    "replay": check_replay,
    "portable": check_portable,
    "tamper": check_tamper,
    "mutants": check_mutants,
    "honest": check_honest,
    "resources": check_resources,
}
"""The running checks, in execution order. Later ones use runs of earlier ones."""
ROW_LOOKS: Mapping[str, Look] = {
    **LOOKS,
    "replay": check_row_replay,
    "portable": undecided("a grader of the task: verikit grades rows with its own code"),
    "resources": undecided("a declared time or memory, which rows don't have"),
}
"""The running checks of rows."""
PACKAGE_LOOKS: Mapping[str, Look] = {
    **{name: look for name, look in LOOKS.items() if name not in ("honest", "resources")},
    "oracle": check_replies,
    "floor": check_range,
    "honest": undecided("outputs in several forms: a reply is compared as it is"),
    "resources": undecided("a declared time or memory, which these environments don't have"),
}
"""The running checks of verifiers packages and NeMo-Gym servers."""
EPISODE_LOOKS: Mapping[str, Look] = {**PACKAGE_LOOKS, "replay": check_episodes_replay}
"""The running checks of OpenEnv folders."""
_IN_PACKAGES = {TESTS: "the environment's grader", SOLUTION: "the expected values"}
_IN_ROWS = {TESTS: "the spec", SOLUTION: ORACLE}
"""Places in a row instead of scripts."""
_OF_SOLUTION, _OF_SOLVED = frozenset(("oracle", "resources")), frozenset(("mutants", "honest"))
"""Checks that need a solution that runs here, and one with the full reward. The others need only the tests."""
_OF_REPEATED = frozenset(("portable", "tamper", "mutants", "honest"))
"""Checks that compare rewards. They are meaningless for rewards that differ from run to run."""


class RunningChecks:
    """Runs tasks in one sandbox; a context manager.

    Args:
        seconds: Of each check on each task.
    """

    def __init__(self, seconds: float = 60.0) -> None:
        self.seconds: float = seconds
        self._limits = RehearsalLimits(seconds, min(seconds, 60.0))
        self._box: TaskBox | None = None
        self._problem = ""

    @property
    def key(self) -> str:
        """Distinguishes records of these checks from others."""
        return f"-run-{self.seconds:g}"

    def __enter__(self) -> Self:
        try:
            self._box = TaskBox()
        except (SandboxUnavailable, SandboxError) as error:
            self._problem = str(error)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._box:
            self._box.close()

    def check(self, task: AuditedTask, names: Sequence[str] = tuple(LOOKS)) -> Iterator[tuple[str, CheckRecord]]:
        """The record of each running check on a task, or of some of them."""
        looks = {name: LOOKS[name] for name in names}
        if len(task.parts) == 1 and not task.parts[0].name:
            yield from self._every(lambda box: [Rehearsal.prepare(task, box, self._limits)], looks)
        else:
            yield from self._every(lambda box: StepRehearsal.of_steps(task, box, self._limits), looks)

    def check_row(self, row: RowTask) -> Iterator[tuple[str, CheckRecord]]:
        """The record of each running check on a row."""
        for name, record in self._every(lambda box: [RowRehearsal.of(row, box, self._limits)], ROW_LOOKS):
            findings = (replace(one, where=_IN_ROWS.get(one.where, one.where)) for one in record.findings)
            yield name, replace(record, findings=tuple(findings))

    def check_package(self, task: AuditedTask, form: str) -> Iterator[tuple[str, CheckRecord]]:
        """The record of each running check on a verifiers package, a NeMo-Gym server or an OpenEnv folder."""
        kind, looks = (EpisodeRehearsal, EPISODE_LOOKS) if form == "openenv" else (PackageRehearsal, PACKAGE_LOOKS)
        for name, record in self._every(lambda box: [kind.of(task, form, box, self._limits)], looks):
            findings = (replace(one, where=_IN_PACKAGES.get(one.where, one.where)) for one in record.findings)
            yield name, replace(record, findings=tuple(findings))

    def _every(
        self, prepare: Callable[[TaskBox], Sequence[Rehearsal]], looks: Mapping[str, Look]
    ) -> Iterator[tuple[str, CheckRecord]]:
        """The record of each check on a task, or on all its steps."""
        if self._box is None:
            yield from ((name, CheckRecord("not_run", needs=self._problem)) for name in looks)
            return
        try:
            rehearsals = prepare(self._box)
        except WorkspaceError as problem:
            yield from ((name, CheckRecord("error", needs=str(problem))) for name in looks)
            return
        except Exception as problem:  # noqa: BLE001 - as for checks of files
            needs = f"the task can't be prepared: {describe(problem)}"
            yield from ((name, CheckRecord("error", needs=needs)) for name in looks)
            return
        for name, look in looks.items():
            records = {one.part.name: _looked(name, look, one) for one in rehearsals}
            yield name, records[""] if "" in records else of_all_steps(records, rehearsals[0].task)


def _looked(name: str, look: Look, rehearsal: Rehearsal) -> CheckRecord:
    rehearsal.begin()
    found = RunFindings()
    try:
        rehearsal.set_out()
        missing = _missing(name, rehearsal)
        if missing:
            found.undecided.append(missing)
        else:
            look(rehearsal, found)
    except OutOfTime:
        if found.enough:
            found.notes.append("the seconds of the check were used up (--seconds)")
        else:
            found.undecided.append("more seconds (--seconds)")
    except WorkspaceError as problem:
        return CheckRecord("error", needs=str(problem))
    except SandboxError as problem:
        found.undecided.append(f"a sandbox that works: {problem}"[:300])
    except Exception as problem:  # noqa: BLE001 - as for checks of files
        return CheckRecord("error", needs=f"the check failed: {describe(problem)}")
    return replace(found.record(), evidence=tuple(rehearsal.evidence[:MAX_EVIDENCE]))


def _missing(name: str, rehearsal: Rehearsal) -> str:
    """A check's requirement that this machine or the task does not have."""
    if name in _OF_REPEATED and not rehearsal.repeats:
        return "rewards that repeat (see replay)"
    if name in _OF_SOLVED:
        return solved_here(rehearsal)
    if name in _OF_SOLUTION:
        return rehearsal.blocked()
    return "; ".join(rehearsal.needs)[:600] or tests_gap(rehearsal)
