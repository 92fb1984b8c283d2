"""An environment's package or server rehearsed: its own code grades replies to its first rows, in the sandbox.

The agent's files are the replies. The right ones are the rows' expected values, in the first usual form that the
environment rewards in full. The frameworks are replaced by stand-ins, so they need not be installed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any, Self

from verikit.env.audit.formats.rows import golds_of_row, prompt_of
from verikit.env.audit.running.box import MAX_BYTES, MAX_FILES, BoxFile, BoxRun, Files, RunSurroundings, TaskBox
from verikit.env.audit.running.findings import SOLUTION, RunFindings
from verikit.env.audit.running.layout import ImageLayout
from verikit.env.audit.running.literals import grader_literals
from verikit.env.audit.running.packages.described import DESCRIBED, TRIED
from verikit.env.audit.running.packages.forms import reply_forms
from verikit.env.audit.running.programs import python_needs
from verikit.env.audit.running.rehearsal import USUAL, GradedRun, OutOfTime, Rehearsal, RehearsalLimits
from verikit.env.audit.running.reward import WrittenReward
from verikit.env.audit.running.solved import check_floor, check_oracle
from verikit.env.audit.scripts import REWARDS
from verikit.env.audit.task import MAX_TEXT, AuditedTask, TaskPart
from verikit.platform.numbers import number

RESULT = f"{REWARDS}/result.json"
FRAMEWORKS = ("verifiers", "datasets", "nemo_gym", "openenv")
GRADED = 4
"""Rows that are graded."""
PARTIAL = 0.2
"""The largest reward of undone work that may be partial credit, if functions for the form don't give more."""
MAX_TOLD = 4 << 20
"""Bytes of a list that the environment's code writes."""
_HERE = Path(__file__).parent
_PART = TaskPart("", "", (), (), {}, True, ())
_SCRIPT = b"#!/bin/bash\nexec python3 /tests/boxed.py\n"


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
    odd: list[float] = field(default_factory=list)
    """Rewards of a verifiers package that are not from 0 to 1."""
    _ending: str = "txt"
    _job: dict[str, Any] = field(default_factory=dict)
    _given: dict[str, BoxFile] = field(default_factory=dict)

    @classmethod
    def of(cls, task: AuditedTask, form: str, box: TaskBox, limits: RehearsalLimits) -> Self:
        """Read an environment, list its rows in the sandbox, and look for replies that it rewards."""
        self = cls(task, _PART, box, limits)
        self.begin()
        if missing := _too_large(task):
            self.needs.append(missing)
            return self
        code, self._job, missing = DESCRIBED[form](task)
        local = frozenset(name.removesuffix(".py") for path in task.files() for name in path.split("/"))
        local |= {*FRAMEWORKS, "openenv_core", "resources_servers", "uvicorn", *self._job.get("folder", "").split("/")}
        texts = {path: task.text(path) or "" for path in code.trees}
        needed = (one for text in texts.values() for one in python_needs(text, local))
        self.needs += [missing] if missing else dict.fromkeys(needed)
        # a program that ends early passes many graders, which is no fault of their own
        self._ending = "py" if any("subprocess" in text for text in texts.values()) else "txt"
        if not self.needs:
            self._given = _given(task, self._job["folder"])
            try:
                self._find_rows()
            except OutOfTime:
                self.needs.append("more seconds (--seconds)")
        return self

    def _find_rows(self) -> None:
        told = self._told("rows")
        if self.needs:
            return
        told = self._job.get("given", told)
        self.rows = [one for one in told if isinstance(one, dict)][:TRIED] if isinstance(told, list) else []
        if not self.rows:
            self.needs.append("rows in the folder")
            return
        self._job["listed"] = self.rows
        best = self._best_forms()
        solved = [at for at, one in enumerate(best) if one]
        self.picked = (solved or list(range(len(self.rows))))[:GRADED]
        replies = [BoxFile(best[row].encode("utf-8", "replace")) for row in solved[:GRADED]]
        self.right = {self._reply(at): reply for at, reply in enumerate(replies)}
        self.unsolved = self._unlike(solved)
        if not solved:
            self.solution_needs.append("a reply that gets the full reward: no usual form of the expected values does")

    def _unlike(self, solved: list[int]) -> list[int]:
        """The rows without a rewarded form."""
        return sorted({*range(len(self.rows))} - {*solved})

    def _reply(self, at: int) -> str:
        """The file of a reply."""
        return f"/app/reply-{at + 1}.{self._ending}"

    def _best_forms(self) -> list[str]:
        """The reply of each row that has the full reward; empty if there is none."""
        forms = [reply_forms(row) for row in self.rows]
        rewards = self.rewards_of(forms)
        return [_best(*pair) for pair in zip(forms, rewards, strict=False)]

    def rewards_of(self, forms: list[list[str]]) -> list[Any]:
        """The rewards of replies to each row, as the sandbox tells them."""
        rewards = self._told("forms", forms=forms, tries_s=self._wall("verifier") / 2)
        self.solution_needs += self.needs
        self.needs.clear()  # a form ended the grader, which other replies may not do
        return rewards if isinstance(rewards, list) else []

    def _told(self, mode: str, **more: Any) -> Any:
        """The result of a run. Without one, its reason is among the needs."""
        _, result, missing = self._run(mode, {}, USUAL, **more)
        self.needs += [missing] if missing else []
        return result

    def _run(self, mode: str, after: Files, around: RunSurroundings, **more: Any) -> tuple[BoxRun, Any, str]:
        """A run, its result, and what it needs if it has none."""
        job = {**self._job, "mode": mode, "rows": TRIED, "picked": self.picked, "replies": self.declared(), **more}
        told = json.dumps(job, default=str, skipkeys=True).encode()
        files = {**self._given, **after, "/tests/job.json": BoxFile(told)}
        word = token_hex(16)
        run = self.run(files, "/tests/test.sh", ImageLayout(), self._job["folder"], "verifier", around, {}, word)
        return run, *self._result(run, word)

    def _result(self, run: BoxRun, word: str) -> tuple[Any, str]:
        found = run.files.get(RESULT)
        if found is None or found.link or len(found.content) > MAX_TOLD:
            return None, self._ended(run)
        try:
            told = json.loads(found.content)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict) or told.get("word") != word:
            return None, "a grader that writes no file of this audit"
        result = told.get("result")
        if isinstance(result, dict) and "broken" in result:
            return None, str(result["broken"])[:200] or "a grader that runs here"
        return result, ""

    def _ended(self, run: BoxRun) -> str:
        """Why a run of the environment's code has no result."""
        if run.needs or run.why != "exit":
            return run.needs or self.limit_met(run, "verifier")
        last = run.text.strip()[-160:]
        return f"a grader that returns: its process ended with exit code {run.code}{f' ({last})' if last else ''}"

    @property
    def prompt(self) -> str:
        """What the user asks in the first row that is graded."""
        return _asked(self.rows[self.picked[0]]) if self.picked else ""

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
        run, result, missing = self._run("grade", self.collected(files), surroundings)
        if missing or not isinstance(result, dict):
            return GradedRun(WrittenReward(), run, missing or "a list of rewards")
        of_form = number(result.get("of_form")) or 0.0
        floor = max(PARTIAL, of_form, self._share_of_one_reply(files))
        return GradedRun(self._mean(result.get("rewards")), run, "", floor)

    def _share_of_one_reply(self, files: Files) -> float:
        """The share of rows that the same reply to all may answer by chance, such as the last option of the prompt."""
        replies = {one.content for one in self.collected(files).values()}
        if len(replies) != 1 or replies == {b""}:
            return 0.0
        golds = Counter(tuple(golds_of_row(self.rows[row])) for row in self.picked)
        return max(golds.values()) / len(self.picked)

    def _mean(self, told: Any) -> WrittenReward:
        """The mean of rewards. One that is not from 0 to 1 stands for all, unless the framework allows it."""
        rewards = [number(one) for one in told] if isinstance(told, list) else []
        values = [one for one in rewards if one is not None]
        if not values or len(values) < len(rewards):
            return WrittenReward(problem="a reward is not a finite number")
        odd = [one for one in values if not -1e-6 <= one <= 1 + 1e-6]
        if odd and self._job["format"] == "nemo-gym":
            return WrittenReward(odd[0])
        self.odd += odd
        return WrittenReward(sum(min(max(one, 0.0), 1.0) for one in values) / len(values))


def check_replies(rehearsal: Rehearsal, found: RunFindings) -> None:
    """As `oracle`, and rows whose expected value has no rewarded form although those of most rows do."""
    assert isinstance(rehearsal, PackageRehearsal)
    check_oracle(rehearsal, found)
    found.notes.append("the framework is replaced by a stand-in")
    if len(rehearsal.unsolved) * 2 < len(rehearsal.rows) - len(rehearsal.unsolved):
        for at in rehearsal.unsolved:
            found.add("unsolved", f"row {at + 1}: the expected value has no form with the full reward", SOLUTION)


def check_range(rehearsal: Rehearsal, found: RunFindings) -> None:
    """As `floor`. Rewards of verifiers may have any range."""
    assert isinstance(rehearsal, PackageRehearsal)
    check_floor(rehearsal, found)
    if rehearsal.odd:
        found.notes.append(f"a reward is {rehearsal.odd[0]:g}: rewards below 0 count as 0, and above 1 as 1")


def _best(forms: list[str], rewards: Any) -> str:
    """The first form with the full reward; empty if there is none."""
    told = rewards if isinstance(rewards, list) else []
    return next((form for form, one in zip(forms, told, strict=False) if (number(one) or 0.0) >= 1 - 1e-3), "")


def _too_large(task: AuditedTask) -> str:
    """Why the files don't fit in a box; empty if they do. None of them is read."""
    sizes = [task.tree.manifest[path].size for path in _own_files(task)]
    if len(sizes) > MAX_FILES - 20 or sum(sizes) > MAX_BYTES // 2:
        return f"at most {MAX_FILES - 20} files and {MAX_BYTES >> 21} MiB"
    return f"files of at most {MAX_TEXT >> 20} MiB" if any(size > MAX_TEXT for size in sizes) else ""


def _own_files(task: AuditedTask) -> list[str]:
    return [path for path in task.files() if not path.startswith((".git/", "outputs/"))]


def _asked(row: Mapping[str, Any]) -> str:
    """The messages of the user. Other messages may show the form of a reply."""
    params = row.get("responses_create_params")
    told = params.get("input") if isinstance(params, Mapping) else row.get("prompt")
    if isinstance(told, list):
        told = [one for one in told if isinstance(one, Mapping) and one.get("role") == "user"]
    return prompt_of({"prompt": told})


def _given(task: AuditedTask, folder: str) -> dict[str, BoxFile]:
    """The files of the box: the environment's, the stand-ins and the program that grades."""
    contents = {path: task.data(path) for path in _own_files(task)}
    found = {f"{folder}/{path}": BoxFile(content) for path, content in contents.items() if content is not None}
    for name in FRAMEWORKS:
        found[f"/tests/stand/{name}.py"] = BoxFile((_HERE / f"as_{name}.py").read_bytes())
    for name in ("boxed.py", "boxed_openenv.py"):
        found[f"/tests/{name}"] = BoxFile((_HERE / name).read_bytes())
    return {**found, "/tests/test.sh": BoxFile(_SCRIPT)}
