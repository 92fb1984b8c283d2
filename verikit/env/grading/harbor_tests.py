"""The verifier `harbor_tests`: the tests of a Harbor task, run in a second box on the files that an agent left."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from verikit.env.audit.declared import agents_workdir, covers, declared_artifacts, graders_workdir, undeclared
from verikit.env.audit.running.box import MAX_BYTES, MAX_FILES, BoxFile, TaskBox
from verikit.env.audit.running.rehearsal import HOMES, GradedRun, OutOfTime, Rehearsal, RehearsalLimits
from verikit.env.audit.running.solved import TOLERANCE, is_full
from verikit.env.audit.scripts import REWARDS
from verikit.env.audit.task import AuditedTask, joined, table
from verikit.errors import AgentFault, UsageError, WorkspaceError
from verikit.types import Sample, Score
from verikit.verifiers.patch.runs import job_packages
from verikit.workspaces import Workspace
from verikit.workspaces.grading import WorkspaceVerifier, graded
from verikit.workspaces.names import shown

HOOKS = frozenset(
    "conftest.py sitecustomize.py usercustomize.py pytest.ini .pytest.ini tox.ini setup.cfg pyproject.toml pytest.toml "
    ".pytest.toml .bashrc .profile .bash_profile .bash_env .env .envrc".split()
)
"""Files that programs load on their own. They could change what the tests do."""
_LOADED = (
    "pytest _pytest pluggy iniconfig packaging pygments exceptiongroup tomli py colorama verikit_ctrf sitecustomize "
    "usercustomize".split()
)
"""Modules that Python, pytest and the box load, apart from the standard library."""
_COMMON = frozenset("tests test src docs examples".split())
"""Folders of projects, which some distributions install by mistake."""
_SUFFIXES = (".py", ".pyc", ".so")
_SETS_PATH = re.compile(r"\b(?:cd|pushd|PYTHONPATH|sys\.path|chdir)\b|\bcwd=")
_ABSOLUTE = re.compile(r"(?<![\w.~/-])/[\w./-]+")
_PATH = re.compile(r"[\w.~/-]+")
_UNWRITABLE = "folders that can be written: "


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
        if (result.value or 0.0) > 1 + TOLERANCE:
            return f"rewards must be from 0 to 1, and the task's own solution has {result.told()}"
        return ""

    @property
    def has_control(self) -> bool:
        """Whether the solution was run."""
        return not self.rehearsal.solution_needs

    def changed(self) -> set[str]:
        """The files that the task's solution adds or changes."""
        if not self.has_control:
            return set()
        before = {path: one.content for path, one in self.rehearsal.before.items()}
        return {path for path, one in self.rehearsal.solve().files.items() if before.get(path) != one.content}

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
    have no value. Files that programs load on their own (`conftest.py`, `pyproject.toml`, a module named like one that
    the tests import) can't raise the reward, unless the instruction names them or the solution changes them. Files that
    do not fit into the sandbox are left out. Rewards below 0 count as 0, and rewards above 1 as 1.
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

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Run the tests on each sample's workspace, in one sandbox."""
        with _graders(self.seconds) as graders:
            return [
                graded(sample, lambda workspace, _: _score(graders(workspace), workspace), self.name)
                for sample in samples
            ]


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
    left = _agents_files(grader.rehearsal, workspace, grader.changed())
    run = _graded_run(grader, left.files, "trial")
    if is_full(run):
        return _told(run.value or 0.0, run, left.lost)
    if missing := grader.gap(workspace):
        raise WorkspaceError(missing)
    value = _value(grader, run)
    if value is None:
        raise _unscored(run)
    return _of_both(grader, left, value, run) if left.hooks and value > 0.0 else _told(value, run, left.why)


def _of_both(grader: _Grader, left: _Left, value: float, run: GradedRun) -> Score:
    """The lower reward of the runs with and without the files that programs load on their own."""
    grader.rehearsal.begin()
    hooked = _graded_run(grader, {**left.files, **left.hooks}, "trial with hooks")
    other = _value(grader, hooked)
    if other is None or other >= value:
        return _told(value, run, left.why)
    return _told(other, hooked, f" because of {', '.join(map(shown, left.hooks))}")


def _told(value: float, run: GradedRun, why: str) -> Score:
    reason = f"the reward is {run.told()}{why}".replace(" (--seconds)", "")  # an option of `env audit`
    return Score(min(max(value, 0.0), 1.0), reason=reason[:500])


def _unscored(run: GradedRun) -> WorkspaceError:
    hint = "seconds=…" if "--seconds" in run.needs else ""
    return WorkspaceError((run.needs or f"the reward is {run.told()}").replace(" (--seconds)", ""), hint=hint)


def _graded_run(grader: _Grader, files: dict[str, BoxFile], name: str) -> GradedRun:
    """A run of the tests. Files in folders that are the machine's are left out if the solution did without them."""
    run = grader.rehearsal.grade(files, name=name)
    if not run.run.needs.startswith(_UNWRITABLE) or not grader.has_control:
        return run
    tops = tuple(f"{top}/" for top in run.run.needs.removeprefix(_UNWRITABLE).split(", "))
    grader.rehearsal.begin()
    return grader.rehearsal.grade({path: one for path, one in files.items() if not path.startswith(tops)}, name=name)


def _value(grader: _Grader, run: GradedRun) -> float | None:
    """The reward. Without one it is 0.0 if the tests gave the task's solution its reward, in the same box and time."""
    if run.value is not None or run.run.needs or not grader.has_control:
        return run.value
    return 0.0


@dataclass(frozen=True, slots=True)
class _Left:
    """The files of the agent's box."""

    files: dict[str, BoxFile]
    hooks: dict[str, BoxFile]
    """Files that programs would load on their own, and that nobody asked for. `files` has the task's instead."""
    lost: str = ""
    """For the reason: the files that are too many or too large for the box."""

    @property
    def why(self) -> str:
        """For the reason of a reward that is not full: all files that the box does not have."""
        names = ", ".join(map(shown, list(self.hooks)[:3]))
        return f"{self.lost}. Without {names}, which programs load on their own" if names else self.lost


def _agents_files(rehearsal: Rehearsal, workspace: Workspace, solved: Container[str] = ()) -> _Left:
    """The files of the agent's box for the tests.

    Args:
        rehearsal: Of the task.
        workspace: The agent's.
        solved: The files that the task's solution adds or changes.

    Raises:
        AgentFault: A file has the path of a folder that the tests need.
    """
    before, partial = rehearsal.before, workspace.outputs is not None
    files = {path: one for path, one in before.items() if partial and not workspace.declares(path.lstrip("/"))}
    hooks: dict[str, BoxFile] = {}
    is_unasked = _unasked_hooks(rehearsal, solved)
    for place, one in _copied(rehearsal, workspace):
        group = hooks if before.get(place) != one and is_unasked(place) else files
        group[place] = one
    files |= {place: before[place] for place in hooks if place in before}
    fitting = _fitting(rehearsal, {path: one for path, one in files.items() if not _above(path) & files.keys()})
    lost = [path for path in files if path not in fitting]
    told = f". Without {len(lost)} files that do not fit into the sandbox, such as {shown(lost[0])}" if lost else ""
    return _Left(fitting, hooks, told)


def _fitting(rehearsal: Rehearsal, files: dict[str, BoxFile]) -> dict[str, BoxFile]:
    """The files that fit into the box with the tests: those at the task's paths first, then the least deep ones."""
    before, tests = rehearsal.before, rehearsal.graders_files({})
    room, space = MAX_FILES - len(tests), MAX_BYTES - sum(len(one.content) for one in tests.values())
    found: dict[str, BoxFile] = {}
    for path in sorted(files, key=lambda path: (path not in before, path.count("/"), path)):
        if len(found) < room and len(files[path].content) <= space:
            found[path] = files[path]
            space -= len(files[path].content)
    return found


def _copied(rehearsal: Rehearsal, workspace: Workspace) -> Iterator[tuple[str, BoxFile]]:
    """The agent's files by place, except those that the box can't have or the tests replace.

    Raises:
        AgentFault: A file has the path of a folder that the tests need.
    """
    task, part = rehearsal.task, rehearsal.part
    declared, names = declared_artifacts(task, part), _artifact_places(task, part.artifacts)
    needed, theirs = _needed_folders(rehearsal), rehearsal.grader.files.keys() if part.separate else set()
    for path, entry in workspace.after.manifest.items():
        place = _place(path, names)
        covered = not part.separate or any(covers(artifact, place) for artifact in declared)
        if entry.kind != "file" or not covered:
            continue
        if place in needed:
            raise AgentFault(f"the agent left a file at {shown(place)}, which is a folder of the tests")
        if not _is_left_out(place) and not _above(place) & theirs:
            yield place, BoxFile(workspace.blob(entry).data(), entry.executable)


def _unasked_hooks(rehearsal: Rehearsal, solved: Container[str]) -> Callable[[str], bool]:
    """A function that finds files that are loaded on their own, and that no task, instruction or solution has."""
    task, part = rehearsal.task, rehearsal.part
    asked = {word.rstrip(".") for word in _PATH.findall(task.text(part.instruction) or "")}
    folders, exact = _import_folders(rehearsal), {artifact for artifact, _ in declared_artifacts(task, part)}
    return lambda place: (
        _is_hook(place, folders) and place not in exact and place not in solved and not _is_asked(place, asked)
    )


def _is_left_out(place: str) -> bool:
    """Whether the tests can't need a file: theirs, at the root, with an impossible name, or a cache of Python's."""
    folder, _, name = place.rpartition("/")
    words = os.fsencode(place).split(b"/")
    long = sum(map(len, words)) > 3000 or any(len(word) > 255 for word in words)
    cache = name.endswith(".pyc") and folder.endswith("/__pycache__")
    return long or cache or not folder or place.startswith("/tests/")


def _above(path: str) -> set[str]:
    """The folders above a path, without the root."""
    words = path.split("/")
    return {"/".join(words[:end]) for end in range(2, len(words))}


def _needed_folders(rehearsal: Rehearsal) -> set[str]:
    """Folders that the box has before the agent's files are in it."""
    at = graders_workdir(rehearsal.task, rehearsal.part)
    known = {*rehearsal.grader.folders, at, REWARDS, "/logs/artifacts", "/tests", *HOMES}
    inner = {*known, *rehearsal.grader.files} if rehearsal.part.separate else known
    return (known | {folder for path in inner for folder in _above(path)}) - {"/", ""}


def _import_folders(rehearsal: Rehearsal) -> set[str]:
    """Folders from which the tests may import modules before those of the machine."""
    task, part = rehearsal.task, rehearsal.part
    at = graders_workdir(task, part)
    env = dict(rehearsal.grader.env)
    for holder in (table(task.config, "environment"), table(task.config, "verifier")):
        env |= {str(name): str(value) for name, value in table(holder, "env").items()}
    found = {agents_workdir(task), at, *(joined(at, one) for one in env.get("PYTHONPATH", "").split(":"))}
    for folder in part.tests:
        for path in task.files(folder):
            lines = (task.text(path) or "").splitlines()
            found |= {one.rstrip("/") for line in lines if _SETS_PATH.search(line) for one in _ABSOLUTE.findall(line)}
    return found


def _is_hook(place: str, folders: set[str]) -> bool:
    folder, _, name = place.rpartition("/")
    if name in HOOKS or name.endswith(".pth"):
        return True
    module = name.partition(".")[0]
    if module == "__init__":
        folder, _, module = folder.rpartition("/")
    return name.endswith(_SUFFIXES) and module in _modules() and (folder or "/") in folders


def _is_asked(place: str, asked: set[str]) -> bool:
    """Whether the instruction has the name of a file; for a package's `__init__.py`, also the folder's."""
    name = place.rpartition("/")[2]
    for word in asked:
        if word.rpartition("/")[2] == name and place.endswith(f"/{word.lstrip('./~')}"):
            return "/" in word.strip("./") or not name.startswith("__init__.")
    return False


@functools.cache
def _modules() -> frozenset[str]:
    """Modules that a file of the same name in a folder of the tests would replace."""
    found = {*sys.stdlib_module_names, *_LOADED}
    for folder in job_packages():
        with suppress(OSError):
            found |= {name.partition(".")[0] for name in os.listdir(folder) if _is_module(name)}
    return frozenset(found - _COMMON)


def _is_module(name: str) -> bool:
    return name.endswith(_SUFFIXES) or name.isidentifier()


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
