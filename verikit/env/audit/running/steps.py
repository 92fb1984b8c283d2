"""A task of several steps, rehearsed step after step as Harbor runs it: one agent's box, and tests for each step.

A step starts with the files that the solutions of the earlier steps leave, and with its `workdir` and `setup.sh`.
Undone work is a step that was not done after the earlier ones. If only the final reward counts, it is a task of which
no step was done. Tests leave nothing behind: they run in boxes of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from verikit.env.audit.records import CheckRecord, judged
from verikit.env.audit.running.box import BoxFile, Files, TaskBox
from verikit.env.audit.running.findings import SOLUTION, TESTS
from verikit.env.audit.running.programs import shell_needs
from verikit.env.audit.running.rehearsal import USUAL, Rehearsal, RehearsalLimits
from verikit.env.audit.task import AuditedTask, TaskPart, joined, table
from verikit.platform.numbers import number

SETUP = "setup.sh"
MAX_STEPS = 20
"""Of a task that is run."""


@dataclass
class StepRehearsal(Rehearsal):
    """Runs of one step. Create them with `of_steps`."""

    earlier: StepRehearsal | None = None
    step: Mapping[str, Any] = field(default_factory=dict)
    final: bool = False
    """Whether only the reward of the last step counts."""
    _start: dict[str, BoxFile] | None = None
    """The files that the step's solution starts with."""
    _undone: dict[str, BoxFile] = field(default_factory=dict)

    @classmethod
    def of_steps(cls, task: AuditedTask, box: TaskBox, limits: RehearsalLimits) -> list[StepRehearsal]:
        """Read the requirements of each step. Nothing is run.

        Raises:
            WorkspaceError: The task can't be read.
        """
        steps = {str(step.get("name", "")): step for step in task.config["steps"] if isinstance(step, Mapping)}
        final = "final" in (task.config.get("multi_step_reward_strategy"), task.config.get("multi_step_reward_mode"))
        found: list[StepRehearsal] = []
        for part in task.parts:
            own = f"steps/{part.name}/solution"
            solutions = (own,) if any(task.files(own)) else ("solution",)
            self = cls(task, replace(part, solutions=solutions), box, limits, step=steps[part.name], final=final)
            self.earlier = found[-1] if found else None
            if len(task.parts) > MAX_STEPS:
                self.needs.append(f"a task of at most {MAX_STEPS} steps")
                return [self]
            self.read_needs()
            if "healthcheck" in self.step:
                self.needs.append("a service that answers the step's healthcheck")
            setup = task.text(f"{self._workdir_folder}/{SETUP}")
            self.needs += [] if setup is None else shell_needs(setup)
            found.append(self)
        return found

    @property
    def _workdir_folder(self) -> str:
        return f"steps/{self.part.name}/workdir"

    @property
    def before(self) -> dict[str, BoxFile]:
        """The files of an agent that did not do the step."""
        return dict(self._undone)

    @property
    def start(self) -> Mapping[str, BoxFile]:
        """The files that the solution starts with."""
        return self._start or {}

    def begin(self) -> None:
        """Begin a check, also for the earlier steps, whose solutions may have to run."""
        super().begin()
        if self.earlier:
            self.earlier.begin()

    def set_out(self) -> None:
        """Make the files that the step starts with.

        Raises:
            OutOfTime: The check has no time left.
        """
        if self._start is not None or self.needs:
            return
        given: Files = self.agent.files
        if self.earlier:
            self.earlier.set_out()
            lack = self.earlier.blocked()
            solved = None if lack else self.earlier.solve()
            lack = lack or (solved.needs or self.earlier.limit_met(solved, "agent") if solved else "")
            if lack or solved is None:
                self.needs.append(f"the files after step {self.earlier.part.name}: {lack}"[:300])
                return
            given = solved.files
        self._start = self._set_up(given)
        alone = self.final and self.earlier is not None
        self._undone = self._set_up(self.earlier.before) if alone and self.earlier else dict(self._start)

    def _set_up(self, given: Files) -> dict[str, BoxFile]:
        """The files after the upload of the step's `workdir` and its `setup.sh`."""
        files = {**given, **self.below((self._workdir_folder,), self.workdir)}
        script = joined(self.workdir, SETUP)
        if self.task.text(f"{self._workdir_folder}/{SETUP}") is None:
            return files
        run = self.run(files, script, self.agent, self.workdir, "agent", USUAL, {})
        if run.needs or run.why != "exit" or run.code:
            told = run.needs or f"{run.why} {run.code}, {run.text.strip()[-120:]}"
            self.needs.append(f"a {SETUP} of step {self.part.name} that succeeds here ({told})"[:300])
        return dict(run.files)

    def seconds_of(self, role: str) -> float:
        """The seconds that the step declares, otherwise the task."""
        return number(table(self.step, role).get("timeout_sec")) or super().seconds_of(role)

    def variables(self, role: str) -> dict[str, str]:
        """The variables that the task sets, and the step's."""
        own = table(table(self.step, role), "env")
        return super().variables(role) | {
            str(name): str(value) for name, value in own.items() if "$" not in str(value) and name != "PATH"
        }


def of_all_steps(parts: Mapping[str, CheckRecord], task: AuditedTask) -> CheckRecord:
    """One record of the records of all steps, by their names."""
    error = next((record for record in parts.values() if record.status == "error"), None)
    if error is not None:
        return error
    places = {part.name: _places(task, part) for part in task.parts}
    findings = [
        replace(one, what=f"step {name}: {one.what}", where=places[name].get(one.where, one.where))
        for name, record in parts.items()
        for one in record.findings
    ]
    undecided = [f"step {name}: {record.needs}" for name, record in parts.items() if record.needs]
    notes = [f"step {name}: {note}" for name, record in parts.items() for note in record.notes]
    evidence = [
        replace(one, what=f"step {name}: {one.what}") for name, record in parts.items() for one in record.evidence
    ]
    return replace(judged(findings, undecided, notes), evidence=tuple(evidence))


def _places(task: AuditedTask, part: TaskPart) -> dict[str, str]:
    """The scripts of a step."""
    return {
        TESTS: task.script(part.tests) or TESTS,
        SOLUTION: task.script(part.solutions[::-1], "solve.sh") or SOLUTION,
    }
