"""A row rehearsed: its spec grades the files of its key `oracle`, undone work and forged files.

The agent's folder is `/app`, as in a Harbor task written from the row. verikit grades in another process, which
`--seconds` ends. The verifiers read hostile files in the sandbox. They get no completion and no steps.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import tarfile
import tempfile
import time
from base64 import b64encode
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from verikit.adapters.harbor import ORACLE, whole_tree
from verikit.adapters.harbor_grader import WORK
from verikit.adapters.reward import gold_of
from verikit.base import Verifier
from verikit.env.audit.formats.row_specs import CHECKS, OWN, RowSpec, spec_of_row
from verikit.env.audit.formats.spec_looks import specs_of
from verikit.env.audit.running.box import (
    GROUP,
    MAX_BYTES,
    MAX_FILES,
    BoxFile,
    BoxRun,
    Files,
    RunSurroundings,
    TaskBox,
)  # fmt: skip
from verikit.env.audit.running.findings import RunFindings
from verikit.env.audit.running.layout import ImageLayout
from verikit.env.audit.running.rehearsal import USUAL, GradedRun, Rehearsal, RehearsalLimits
from verikit.env.audit.running.repeated import same
from verikit.env.audit.running.reward import WrittenReward
from verikit.env.audit.task import AuditedTask, TaskPart
from verikit.errors import HelperError, HelperTimeout, SchemaError, SpecError, WorkspaceError
from verikit.messages import content_text
from verikit.names.registry import allowed
from verikit.readers.problems import CANDIDATES, problem_of
from verikit.types import WORKSPACE, Group, Sample, Score
from verikit.workspaces.names import parts
from verikit.workspaces.row import TaskWorkspace
from verikit.workspaces.tree import Tree

RUNS = 3
"""Further gradings of the same files."""
MEMORY = 4 << 30
"""Bytes of data of the process that grades, and of each program that it starts."""
_LEFT = ("after", "after_tar", "packed_by", "trajectory")
"""Keys of a workspace that describe an agent's run, not the task."""
_PART = TaskPart("", "", (), (), {}, True, ())


@dataclass(frozen=True, slots=True)
class RowTask:
    """One row as a task."""

    env: AuditedTask
    where: str
    """The file and the line."""
    row: Mapping[str, Any]
    spec: RowSpec
    paths: Sequence[str]
    """All paths of the environment, sorted."""

    @property
    def digest(self) -> str:
        """SHA-256 of the task and its files. Rows that only differ in an agent's run are the same task."""
        told = self.row.get(WORKSPACE)
        task = {key: value for key, value in self.row.items() if key not in (WORKSPACE, CHECKS, "id", *CANDIDATES)}
        given = {key: value for key, value in told.items() if key not in _LEFT} if isinstance(told, Mapping) else told
        text = json.dumps([task, given, self.spec.identity, list(self._files())], sort_keys=True, default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def _files(self) -> Iterator[str]:
        """The files that the row names, with what the manifest has of them."""
        told = self.row.get(WORKSPACE)
        given = [told.get("before"), told.get("task")] if isinstance(told, Mapping) else []
        for one in (*given, self.row.get(ORACLE)):
            names = parts(one) if isinstance(one, str) else None
            if names is None:
                continue
            path = "/".join(names)
            within = self.paths[bisect_left(self.paths, f"{path}/") : bisect_left(self.paths, f"{path}0")]
            if not path:
                found = self.paths  # the folder of the rows
            else:
                found = [path, *within] if path in self.env.tree.manifest else []
            for name in found:
                yield f"{name} {self.env.tree.manifest[name].told()}"


def row_tasks(env: AuditedTask, file: str, given: str) -> Iterator[RowTask]:
    """The rows that have a spec."""
    paths = sorted(env.tree.manifest)
    for where, row, spec in specs_of(env, file, given):
        if spec.verifier is not None and isinstance(row.get(WORKSPACE), Mapping):
            yield RowTask(env, where, row, spec, paths)


@dataclass
class RowRehearsal(Rehearsal):
    """Gradings of one row. Create it with `of`."""

    row: Group = field(default_factory=Group)
    spec: RowSpec = field(default_factory=RowSpec)
    oracle: dict[str, BoxFile] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    """Folders of the row's files. They may be empty."""
    _can_grade: bool | None = None

    @classmethod
    def of(cls, task: RowTask, box: TaskBox, limits: RehearsalLimits) -> RowRehearsal:
        """Read a row.

        Raises:
            WorkspaceError: It is not a row of a task, or its files can't be read.
        """
        try:
            problem = {key: value for key, value in task.row.items() if key not in CANDIDATES}
            row = problem_of(problem, {}, int(task.where.rpartition(":")[2]))
        except SchemaError as error:
            raise WorkspaceError(str(error)) from None
        self = cls(task.env, _PART, box, limits, row=row, spec=task.spec)
        if not _pickles(task.spec.verifier):
            self.needs.append("a spec that another process can grade with (it can't be pickled), to limit its time")
        if task.spec.judges:
            self.needs.append("a spec without a judge, because the audit calls no judge")
        if reader := task.spec.of_reply:
            self.needs.append(f"a spec of files only, because {reader} reads a reply and rows are graded without one")
        if "trial" in row.meta[WORKSPACE]:
            self.needs.append("a workspace with before, instead of a trial")
            return self
        named = TaskWorkspace(row.meta[WORKSPACE], os.path.join(task.env.root, *task.env.within))
        workspace = named.make()
        if workspace.knows_before:
            self.agent = ImageLayout(files=self._files(whole_tree(workspace.before)))
        if row.meta.get(ORACLE) is not None:
            right = named.beside({"after": row.meta[ORACLE], "packed_by": "collector"}).make()
            self.oracle = self._files(whole_tree(right.after))
        else:
            self.solution_needs.append(f"a right solution: the row's key {ORACLE}")
        return self

    def with_spec(self, text: str) -> RowRehearsal | None:
        """The same row graded by another spec; None if that can't be loaded."""
        told = {} if self.spec.given else {CHECKS: text}
        try:
            spec = spec_of_row(told, text if self.spec.given else "")
        except SpecError:
            return None
        if spec.verifier is None:
            return None
        # what its gradings need is not known of this row
        return replace(
            self, spec=spec, needs=[*self.needs], solution_needs=[*self.solution_needs], evidence=[], _graded={},
            _can_grade=None,
        )  # fmt: skip

    def _files(self, tree: Tree) -> dict[str, BoxFile]:
        entries = [entry for entry in tree.manifest.values() if entry.kind == "file"]
        if len(entries) > MAX_FILES or sum(entry.size for entry in entries) > MAX_BYTES:
            self.needs.append(f"at most {MAX_FILES} files and {MAX_BYTES >> 20} MiB")
            return {}
        self.folders += [path for path, entry in tree.manifest.items() if entry.kind == "folder"]
        return {f"{WORK}/{one.path}": BoxFile(tree.content(one), one.executable) for one in entries}

    @property
    def prompt(self) -> str:
        """The prompt, or the strings of its messages."""
        turns = (
            [self.row.prompt] if isinstance(self.row.prompt, str) else [one.get("content") for one in self.row.prompt]
        )
        return "\n\n".join(map(content_text, turns))

    @property
    def workdir(self) -> str:
        """The agent's folder."""
        return WORK

    @property
    def command(self) -> str:
        """The spec."""
        return self.spec.text[:200]

    def declared(self) -> list[str]:
        """The outputs of the row."""
        outputs = self.row.meta[WORKSPACE].get("outputs")
        return [f"{WORK}/{path.strip('/')}" for path in outputs] if isinstance(outputs, list) else []

    def literals(self) -> dict[str, str]:
        """None: the strings of a spec are its expected values."""
        return {}

    def collected(self, after: Files) -> dict[str, BoxFile]:
        """All files below the agent's folder."""
        return {path: one for path, one in after.items() if path.startswith(f"{WORK}/")}

    def graders_files(self, after: Files) -> dict[str, BoxFile]:
        """As collected. The spec is not among the files."""
        return self.collected(after)

    def solve(self, surroundings: RunSurroundings = USUAL) -> BoxRun:
        """The files of a right solution."""
        return BoxRun("exit", files=self.oracle)

    def _grade(self, files: Files, surroundings: RunSurroundings) -> GradedRun:
        self.check_time()
        if self.needs:
            return GradedRun(WrittenReward(), BoxRun("start"), "; ".join(self.needs[:4]))
        start = time.monotonic()
        try:
            score = self._score(files)
        except HelperError as error:
            # each other grading may end likewise, so the row's other checks are not run
            self.box.end_grading()
            self.needs.append(_ended(error, self.limits.seconds))
            return GradedRun(WrittenReward(), BoxRun("start", seconds=time.monotonic() - start), self.needs[-1])
        run = BoxRun("exit" if score.scored else "unscored", text=score.reason, seconds=time.monotonic() - start)
        missing = not score.scored and (score.status == "timeout" or not self._grades())
        return GradedRun(WrittenReward(score.value), run, f"a value ({score.reason[:200]})" if missing else "")

    def _grades(self) -> bool:
        """Whether the spec gives the right solution a value here. Without one, this machine may lack something."""
        if self._can_grade is None:
            self._can_grade = bool(self.oracle) and self._score(self.oracle).scored
        return self._can_grade

    def _score(self, files: Files) -> Score:
        assert self.spec.verifier is not None
        told = {key: value for key, value in self.row.meta[WORKSPACE].items() if key not in _LEFT}
        left = {**told, "after_tar": b64encode(_packed(files, self.folders)).decode(), "packed_by": "collector"}
        workspace = TaskWorkspace(left, os.path.join(self.task.root, *self.task.within))
        meta = {key: value for key, value in self.row.meta.items() if key not in (WORKSPACE, ORACLE, CHECKS)}
        sample = Sample(self.row.prompt, "", gold_of(self.row.answer), self.row.id, meta, workspace=workspace)
        told = self.box.helper.call(
            "verikit.env.audit.running.row_runs:graded_row", self.spec.verifier, sample, self.spec.given,
            self.box.scratch, timeout=self.limits.seconds,
        )  # fmt: skip
        return Score(told["value"], told["status"], told["reason"])


def _pickles(verifier: Verifier | None) -> bool:
    """Whether another process can grade. It is ended if it takes too long."""
    try:
        pickle.dumps(verifier)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _ended(error: HelperError, seconds: float) -> str:
    """What a grading would have needed to end by itself."""
    if isinstance(error, HelperTimeout) and str(error) == "out of time":
        return f"more time: a grading took longer than {seconds:g} s (--seconds)"
    return f"a grading that ends here: {error}"[:300]


def graded_row(verifier: Verifier, sample: Sample, given: bool, scratch: str) -> dict[str, Any]:
    """A score as plain data, computed in a helper process.

    Options of the row may be specs, and a spec of its author names no code.
    """
    _settle(scratch)
    with nullcontext() if given else allowed(OWN):
        score = verifier.score([sample])[0]
    return {"value": score.value, "status": score.status, "reason": score.reason}


def _settle(scratch: str) -> None:
    """Give this process its group, its temporary folder and its memory, so that nothing of it outlives the audit."""
    import resource

    if tempfile.tempdir == scratch:
        return
    os.setpgid(0, 0)
    Path(scratch, GROUP).write_text(str(os.getpid()))
    tempfile.tempdir = os.environ["TMPDIR"] = scratch
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, most))  # a sandbox sets its own


def _packed(files: Files, folders: list[str]) -> bytes:
    """A tar of the agent's folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in dict.fromkeys(folders):
            member = tarfile.TarInfo(name)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(member)
        for path, one in sorted(files.items()):
            member = tarfile.TarInfo(path[len(WORK) + 1 :])
            member.mode, member.size = one.mode, len(one.content)
            if one.link:
                member.type, member.linkname, member.size = tarfile.SYMTYPE, one.link, 0
            tar.addfile(member, io.BytesIO(one.content))
    return buffer.getvalue()


def check_row_replay(rehearsal: Rehearsal, found: RunFindings) -> None:
    """Grade the same files several times."""
    found.notes.append("verikit grades with its own code: hash seed, day and number of CPUs were not changed")
    family = {"nop": rehearsal.before} | ({} if rehearsal.blocked() else {"oracle": rehearsal.solve().files})
    for name, after in family.items():
        first = rehearsal.grade(after, name=name)
        found.undecided.append(first.needs)
        for number in range(RUNS):
            told = rehearsal.grade(after, name=f"{name}, run {number + 2}", again=True)
            if not told.needs and not same(first, told):
                found.add("reward", f"{name}: the reward is {first.told()} and then {told.told()}", "")
                break
    rehearsal.repeats = not found.findings


def undecided(needs: str) -> Callable[[Rehearsal, RunFindings], None]:
    """A check that does not apply to rows."""

    def look(rehearsal: Rehearsal, found: RunFindings) -> None:
        found.undecided.append(needs)

    return look
