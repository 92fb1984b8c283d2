"""A verifiers package or a NeMo-Gym server rehearsed: its own code grades replies to its first rows, in the sandbox.

The agent's files are the replies. The right ones are the rows' expected values, in the first usual form that the
environment rewards in full. The frameworks are replaced by stand-ins, so they need not be installed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verikit.env.audit.formats import nemo_gym
from verikit.env.audit.formats.code import PythonCode, code_of
from verikit.env.audit.formats.documents import inner, project
from verikit.env.audit.formats.rows import prompt_of
from verikit.env.audit.formats.verifiers import LOADER
from verikit.env.audit.running.box import MAX_BYTES, MAX_FILES, BoxFile, BoxRun, Files, RunSurroundings, TaskBox
from verikit.env.audit.running.findings import SOLUTION, RunFindings
from verikit.env.audit.running.layout import ImageLayout
from verikit.env.audit.running.literals import grader_literals
from verikit.env.audit.running.packages.forms import reply_forms
from verikit.env.audit.running.programs import python_needs
from verikit.env.audit.running.rehearsal import USUAL, GradedRun, Rehearsal, RehearsalLimits
from verikit.env.audit.running.reward import WrittenReward, read_reward
from verikit.env.audit.running.solved import check_oracle
from verikit.env.audit.scripts import REWARDS
from verikit.env.audit.task import AuditedTask, TaskPart
from verikit.platform.numbers import number

FORMATS = ("verifiers", "nemo-gym")
TRIED, GRADED = 8, 4
"""Rows whose expected values are tried, and rows that are graded."""
PARTIAL = 0.2
"""The largest reward of undone work that may be partial credit."""
MAX_TOLD = 4 << 20
"""Bytes of a list that the environment's code writes."""
_HERE = Path(__file__).parent
_PART = TaskPart("", "", (), (), {}, True, ())
_SCRIPT = b"#!/bin/bash\nexec python3 /tests/boxed.py\n"
_ENV = "/tests/env"


@dataclass
class PackageRehearsal(Rehearsal):
    """Gradings of replies. Create it with `of`."""

    rows: Sequence[Mapping[str, Any]] = field(default_factory=list)
    picked: list[int] = field(default_factory=list)
    """The rows that are graded."""
    right: dict[str, BoxFile] = field(default_factory=dict)
    """The right replies."""
    unsolved: list[int] = field(default_factory=list)
    """Rows without a rewarded form, although most others have one."""
    _job: dict[str, Any] = field(default_factory=dict)
    _given: dict[str, BoxFile] = field(default_factory=dict)

    @classmethod
    def of(cls, task: AuditedTask, form: str, box: TaskBox, limits: RehearsalLimits) -> PackageRehearsal:
        """Read an environment, list its rows in the sandbox, and look for replies that it rewards."""
        self = cls(task, _PART, box, limits)
        self.begin()
        code = code_of(task) if form == "verifiers" else nemo_gym.grader_code(task)
        self._job = _job(task, form, code)
        self._given = _given(task, self._job.pop("folder"))
        local = frozenset(name.removesuffix(".py") for path in task.files() for name in path.split("/"))
        local |= {"verifiers", "datasets", "nemo_gym", "resources_servers"}
        for path in code.trees:
            self.needs += python_needs(task.text(path) or "", local)
        if not self._given or "module" not in self._job:
            self.needs.append(f"a module with {LOADER}, or app.py, and at most {MAX_FILES} files")
        if not self.needs:
            self._find_rows()
        return self

    def _find_rows(self) -> None:
        told = self._told("rows")
        self.rows = [one for one in told if isinstance(one, dict)][:TRIED] if isinstance(told, list) else []
        if not self.rows:
            self.needs.append("rows in the folder")
            return
        best = self._best_forms()
        solved = [at for at, one in enumerate(best) if one]
        self.picked = (solved or list(range(len(self.rows))))[:GRADED]
        replies = [BoxFile(best[row].encode("utf-8", "replace")) for row in solved[:GRADED]]
        self.right = {self._reply(at): reply for at, reply in enumerate(replies)}
        self.unsolved = sorted({*range(len(self.rows))} - {*solved})
        if not solved:
            self.solution_needs.append("a reply that gets the full reward: no usual form of the expected values does")

    def _reply(self, at: int) -> str:
        """The file of a reply. A program that ends early passes many graders, which is no fault of their own."""
        code = any("subprocess" in (self.task.text(path) or "") for path in self.task.files() if path.endswith(".py"))
        return f"/app/reply-{at + 1}.{'py' if code else 'txt'}"

    def _best_forms(self) -> list[str]:
        """The reply of each row that has the full reward; empty if there is none."""
        forms = [reply_forms(row) for row in self.rows]
        rewards = self._told("forms", forms=forms)
        self.needs.clear()  # of forms that broke the grader
        return [_best(*pair) for pair in zip(forms, rewards if isinstance(rewards, list) else [], strict=False)]

    def _told(self, mode: str, **more: Any) -> Any:
        """The list that one run writes."""
        run = self._run(mode, {}, USUAL, **more)
        found = run.files.get(f"{REWARDS}/{mode}.json")
        if found is None or found.link or len(found.content) > MAX_TOLD:
            self.needs.append(_broken(run))
            return None
        try:
            return json.loads(found.content)
        except (ValueError, RecursionError):
            self.needs.append("a list of the environment's rows")
            return None

    def _run(self, mode: str, after: Files, around: RunSurroundings, **more: Any) -> BoxRun:
        job = {**self._job, "mode": mode, "rows": TRIED, "picked": self.picked, "replies": self.declared(), **more}
        files = {**self._given, **after, "/tests/job.json": BoxFile(json.dumps(job).encode())}
        return self.run(files, "/tests/test.sh", ImageLayout(), self._job["cwd"], "verifier", around, {})

    @property
    def prompt(self) -> str:
        """The prompt of the first row that is graded."""
        return prompt_of(self.rows[self.picked[0]]) if self.picked else ""

    @property
    def workdir(self) -> str:
        """The folder of the replies."""
        return "/app"

    @property
    def command(self) -> str:
        """What grades, for the evidence."""
        return f"{self._job.get('module', '')}: the environment's own grader"

    def declared(self) -> list[str]:
        """The files of the replies."""
        return [self._reply(at) for at in range(len(self.picked))]

    def literals(self) -> dict[str, str]:
        """Strings and numbers that the environment's code compares with."""
        return grader_literals(self.task, ("",))

    def seconds_of(self, role: str) -> float:
        """The environment declares none."""
        return 600.0

    def memory_mb(self) -> int:
        """The limit of a run."""
        return 2048

    def collected(self, after: Files) -> dict[str, BoxFile]:
        """The replies."""
        known = self.declared()
        return {path: one for path, one in after.items() if path in known and not one.link}

    def graders_files(self, after: Files) -> dict[str, BoxFile]:
        """The environment's files and the replies."""
        return {**self._given, **self.collected(after)}

    def solve(self, surroundings: RunSurroundings = USUAL) -> BoxRun:
        """The right replies."""
        return BoxRun("exit", files=self.right)

    def _grade(self, files: Files, surroundings: RunSurroundings) -> GradedRun:
        if self.needs:
            return GradedRun(WrittenReward(), BoxRun("start"), "; ".join(self.needs[:4]))
        run = self._run("grade", self.collected(files), surroundings)
        # programs of a reply may write the usual names, which a framework would not read
        graded = {f"{REWARDS}/reward.json": one for path, one in run.files.items() if path == f"{REWARDS}/graded.json"}
        reward = WrittenReward() if run.why == "files" else read_reward(graded)
        none = reward.value is None and not reward.problem
        return GradedRun(reward, run, _broken(run) if none else "", PARTIAL)


def check_replies(rehearsal: Rehearsal, found: RunFindings) -> None:
    """As `oracle`, and rows whose expected value has no rewarded form although those of most rows do."""
    assert isinstance(rehearsal, PackageRehearsal)
    check_oracle(rehearsal, found)
    found.notes.append("the framework is replaced by a stand-in")
    if len(rehearsal.unsolved) * 2 < len(rehearsal.rows) - len(rehearsal.unsolved):
        for at in rehearsal.unsolved:
            found.add("unsolved", f"row {at + 1}: the expected value has no form with the full reward", SOLUTION)


def _broken(run: BoxRun) -> str:
    """Why a run of the environment's code has no result."""
    told = run.files.get(f"{REWARDS}/broken.txt")
    text = told.content.decode("utf-8", "replace") if told and not told.link else run.text.strip()[-200:]
    return run.needs or f"a grader that runs here ({text[:200] or run.why})"


def _best(forms: list[str], rewards: Any) -> str:
    """The first form with the full reward; empty if there is none."""
    told = rewards if isinstance(rewards, list) else []
    return next((form for form, one in zip(forms, told, strict=False) if (number(one) or 0.0) >= 1 - 1e-3), "")


def _job(task: AuditedTask, form: str, code: PythonCode) -> dict[str, Any]:
    """The description of the environment for the sandbox."""
    if form == "verifiers":
        found = {"format": form, "folder": f"{_ENV}/package", "cwd": f"{_ENV}/package"}
        found["paths"] = [f"{_ENV}/package", f"{_ENV}/package/src", _ENV]  # type: ignore[assignment]
        return {**found, **({"module": module} if (module := _loader(task, code)) else {})}
    name = task.within[-1] if task.within else os.path.basename(os.path.abspath(task.root))
    folder = f"{_ENV}/resources_servers/{name}"
    entry = next(iter(_settings(task)), {})
    told = {"format": form, "folder": folder, "cwd": folder, "paths": [folder, _ENV], "settings": entry}
    data = nemo_gym.EXAMPLE
    ready = "app.py" in code.trees and data in task.tree.manifest and name.isidentifier()
    return {**told, "data": f"{folder}/{data}", **({"module": f"resources_servers.{name}.app"} if ready else {})}


def _settings(task: AuditedTask) -> Iterator[dict[str, Any]]:
    configs, _, _ = nemo_gym.configs_of(task)
    for _, value in configs.values():
        yield from ({str(key): held for key, held in one.items()} for one in nemo_gym.entries_of(value))


def _loader(task: AuditedTask, code: PythonCode) -> str:
    """The module that defines the environment."""
    try:
        name = inner(project(task), "project", "name")
    except ValueError:
        name = None
    own = str(name).replace("-", "_")
    paths = [path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__") for path in code.defines(LOADER)]
    modules = ["package" if path == "__init__" else path.replace("/", ".") for path in paths]
    return own if own in modules else next(iter(modules), "")


def _given(task: AuditedTask, folder: str) -> dict[str, BoxFile]:
    """The files of the box: the environment's, the stand-ins and the program that grades. Empty if too many."""
    found: dict[str, BoxFile] = {}
    for path in task.files():
        content = None if path.startswith((".git/", "outputs/")) else task.data(path)
        if content is not None:
            found[f"{folder}/{path}"] = BoxFile(content)
    if len(found) > MAX_FILES - 20 or sum(len(one.content) for one in found.values()) > MAX_BYTES // 2:
        return {}
    for name in ("verifiers", "datasets", "nemo_gym"):
        found[f"/tests/stand/{name}.py"] = BoxFile((_HERE / f"as_{name}.py").read_bytes())
    found["/tests/boxed.py"] = BoxFile((_HERE / "boxed.py").read_bytes())
    return {**found, "/tests/test.sh": BoxFile(_SCRIPT)}
