"""The verifier `harbor_tests`: the tests of a Harbor task, run in a second box on the files that an agent left."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from verikit.env.audit.declared import agents_workdir, covers, declared_artifacts, graders_workdir, undeclared
from verikit.env.audit.running.box import BoxFile, TaskBox
from verikit.env.audit.running.rehearsal import GradedRun, OutOfTime, Rehearsal, RehearsalLimits
from verikit.env.audit.running.solved import is_full
from verikit.env.audit.task import AuditedTask, joined
from verikit.errors import UsageError, WorkspaceError
from verikit.types import Sample, Score
from verikit.workspaces import Workspace
from verikit.workspaces.grading import WorkspaceVerifier, graded
from verikit.workspaces.names import shown

HOOKS = frozenset(
    "conftest.py sitecustomize.py usercustomize.py pytest.ini .pytest.ini tox.ini setup.cfg .bashrc .profile "
    ".bash_profile .bash_env .env .envrc".split()
)
"""Files that programs load on their own. They could change what the tests do."""
MODULES = sys.stdlib_module_names | {"pytest", "_pytest", "pluggy"}
"""Modules that a file of the same name in the working directory would replace."""


@dataclass
class _Grader:
    """A task with its grading box."""

    rehearsal: Rehearsal
    known: dict[str, str] = field(default_factory=dict)

    def needs(self) -> str:
        """Why the task can't be graded here, according to its own solution; empty if it can."""
        if "control" not in self.known:
            self.known["control"] = self._control()
        return self.known["control"]

    def _control(self) -> str:
        rehearsal = self.rehearsal
        if rehearsal.needs:
            return f"the tests need {'; '.join(rehearsal.needs)}"
        if rehearsal.solution_needs:
            return ""
        solved = rehearsal.solve()
        result = rehearsal.grade(solved.files, name="oracle")
        if solved.why != "exit" or not is_full(result):
            return f"the task's own solution does not get the full reward here. Its reward is {result.told()}"
        return ""

    @property
    def has_control(self) -> bool:
        """Whether the solution was run."""
        return not self.rehearsal.solution_needs

    def gap(self, workspace: Workspace) -> str:
        """Why files that the tests need may not have been collected; empty if all were."""
        for path, problem in workspace.uncollected.items():
            return f"{shown(path)} was not collected: {problem}"
        if workspace.outputs is None and not self.rehearsal.part.separate:
            return ""
        findings, unknown = undeclared(self.rehearsal.task, self.rehearsal.part)
        if findings:
            return findings[0].what
        if unknown and not self.rehearsal.part.separate:
            return f"the tests may read files that were not collected: {unknown[0]}"
        return ""


@dataclass(frozen=True, eq=False)
class HarborTests(WorkspaceVerifier):
    """The reward of a Harbor task's own tests, run in a fresh sandbox on the files that an agent left.

    The row's workspace names the task: `{"trial": …, "task": …}`, or `{"after": …, "task": …}` with all files of the
    agent's box. The sandbox has the task's files, the agent's outputs and the tests. Rewards that the agent left are
    not read. The task's own solution is graded first. Samples of a task whose solution does not get the full reward
    have no value.
    """

    seconds: float = 600.0
    """Maximum seconds of a run of the tests. A task that declares less has less."""
    name = "harbor_tests"

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= 86_400:
            raise UsageError(f"seconds must be more than 0 and at most 86400, got {self.seconds!r}")

    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Run the tests on one workspace."""
        with _graders(self.seconds) as graders:
            return _score(graders(workspace), workspace)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Run the tests on each sample's workspace, in one sandbox."""
        with _graders(self.seconds) as graders:
            return [graded(sample, lambda workspace, _: _score(graders(workspace), workspace)) for sample in samples]


@contextmanager
def _graders(seconds: float) -> Iterator[Any]:
    """A function that returns the grader of a workspace's task."""
    box = TaskBox()
    known: dict[tuple[str, tuple[str, ...]], _Grader] = {}

    def grader(workspace: Workspace) -> _Grader:
        place = workspace.task
        if place is None:
            raise WorkspaceError("the row names no Harbor task", hint='"workspace": {"trial": …, "task": …}')
        if place not in known:
            limits = RehearsalLimits(seconds, seconds)
            known[place] = _Grader(Rehearsal.prepare(AuditedTask.open(*place), box, limits))
        known[place].rehearsal.begin()
        return known[place]

    try:
        yield grader
    finally:
        box.close()


def _score(grader: _Grader, workspace: Workspace) -> Score:
    """The score of a workspace.

    Raises:
        AgentFault: An output is not a file, or exceeds a limit of the task.
        WorkspaceError: The files can't be graded here.
    """
    try:
        if missing := grader.needs():
            raise WorkspaceError(missing[:500])
        grader.rehearsal.begin()
        return _of_runs(grader, workspace)
    except OutOfTime:
        raise WorkspaceError("the tests took too long here", hint="seconds=…") from None


def _of_runs(grader: _Grader, workspace: Workspace) -> Score:
    rehearsal = grader.rehearsal
    files, hooks = _agents_files(rehearsal, workspace)
    run = rehearsal.grade(files, name="trial")
    if is_full(run):
        return Score(run.value, reason=f"the reward is {run.told()}")
    if missing := grader.gap(workspace):
        raise WorkspaceError(missing)
    if hooks and _value(grader, rehearsal.grade({**files, **hooks}, name="trial with hooks")) != _value(grader, run):
        names = ", ".join(map(shown, hooks))
        raise WorkspaceError(f"the reward depends on files that the task did not request: {names}"[:500])
    value = _value(grader, run)
    if value is None:
        raise WorkspaceError(run.needs or f"the reward is {run.told()}")
    return Score(value, reason=f"the reward is {run.told()}")


def _value(grader: _Grader, run: GradedRun) -> float | None:
    """The reward. Without one it is 0.0 if the tests gave the task's solution its reward, in the same box."""
    ours = run.run.needs or run.run.why == "files" or "--seconds" in run.needs
    if run.value is not None or ours or not grader.has_control:
        return run.value
    return 0.0


def _agents_files(rehearsal: Rehearsal, workspace: Workspace) -> tuple[dict[str, BoxFile], dict[str, BoxFile]]:
    """The files of the agent's box, and those left out because programs would load them on their own."""
    task, part, before = rehearsal.task, rehearsal.part, rehearsal.before
    declared = declared_artifacts(task, part)
    names = _artifact_places(task, part.artifacts)
    asked = task.text(part.instruction) or ""
    folders = {agents_workdir(task), graders_workdir(task, part)}
    partial = workspace.outputs is not None
    files = {path: one for path, one in before.items() if partial and not workspace.declares(path.lstrip("/"))}
    hooks: dict[str, BoxFile] = {}
    for path, entry in workspace.after.manifest.items():
        place = _place(path, names)
        covered = any(covers(artifact, place) for artifact in declared)
        if entry.kind != "file" or place.startswith("/tests/") or (part.separate and not covered):
            continue
        one = BoxFile(workspace.blob(entry).data(), entry.executable)
        exact = any(place == artifact for artifact, _ in declared)
        if (
            _is_hook(place, folders)
            and before.get(place) != one
            and not exact
            and place.rpartition("/")[2] not in asked
        ):
            hooks[place] = one
        else:
            files[place] = one
    return files, hooks


def _is_hook(place: str, folders: set[str]) -> bool:
    folder, _, name = place.rpartition("/")
    module = name.removesuffix(".py") if name.endswith(".py") else folder.rpartition("/")[2]
    top = folder if name.endswith(".py") and name != "__init__.py" else folder.rpartition("/")[0]
    return name in HOOKS or name.endswith(".pth") or (module in MODULES and (top or "/") in folders)


def _artifact_places(task: AuditedTask, artifacts: Sequence[Any]) -> dict[str, str]:
    """The paths of artifacts in a trial, and in the agent's box."""
    at, found = agents_workdir(task), {}
    for entry in artifacts:
        source = entry.get("source") if isinstance(entry, Mapping) else entry
        told = entry.get("destination") or source if isinstance(entry, Mapping) else entry
        if isinstance(source, str) and isinstance(told, str):
            found[told.strip("/")] = joined(at, source)
    return found


def _place(path: str, names: Mapping[str, str]) -> str:
    """The absolute path in the agent's box of a collected path."""
    for name, place in names.items():
        if path == name or path.startswith(f"{name}/"):
            return place + path[len(name) :]
    return f"/{path}"


__all__ = ["HarborTests"]
