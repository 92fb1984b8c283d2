"""One task rehearsed: its solution in one box, its tests in another, and what both need."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from verikit.env.audit.declared import agents_workdir, covers, declared_artifacts, graders_workdir
from verikit.env.audit.records import EnvEvidence
from verikit.env.audit.running.box import BoxFile, BoxRun, Files, RunSurroundings, TaskBox
from verikit.env.audit.running.layout import ImageLayout, absolute_tops, image_layout
from verikit.env.audit.running.literals import grader_literals
from verikit.env.audit.running.programs import gap_in, python_needs, shell_needs
from verikit.env.audit.running.reward import WrittenReward, read_reward
from verikit.env.audit.scripts import REWARDS
from verikit.env.audit.task import AuditedTask, TaskPart, table
from verikit.platform.numbers import number

USUAL = RunSurroundings()
_TIMES = {"agent": 600.0, "verifier": 600.0}
"""Seconds that Harbor gives if a task doesn't declare them."""
_MEMORY_MB = 2048
HOMES = ("/root", "/home/agent")


@dataclass(frozen=True, slots=True)
class RehearsalLimits:
    """Limits of the running checks."""

    seconds: float = 60.0
    """Of each check on each task."""
    run_s: float = 30.0
    """Of one script."""


@dataclass(frozen=True, slots=True)
class GradedRun:
    """A reward with the run of the tests that gave it."""

    reward: WrittenReward
    run: BoxRun
    needs: str = ""
    """The missing requirement, if that is why there is no reward."""
    floor: float = 0.0
    """The largest reward of work that was not done."""

    @property
    def value(self) -> float | None:
        """The reward, or None."""
        return self.reward.value

    @property
    def has_file(self) -> bool:
        """Whether the tests wrote a reward, be it malformed."""
        return self.reward.value is not None or bool(self.reward.problem)

    def told(self) -> str:
        """The reward, or the reason why there isn't one, in words."""
        if self.reward.value is not None:
            return f"{self.reward.value:g}"
        if self.needs:
            return f"none: it needs {self.needs}"
        if self.reward.problem:
            return f"none: {self.reward.problem}"
        ended = {
            "exit": f"the tests ended with exit code {self.run.code} and wrote none",
            "wall": "its time was up",
            "unscored": self.run.text,
        }
        return f"none: {ended.get(self.run.why, f'the tests broke a limit ({self.run.why})')}"


class OutOfTime(Exception):
    """The seconds of a check are used up."""


@dataclass
class Rehearsal:
    """Runs of one task. Create it with `prepare`."""

    task: AuditedTask
    part: TaskPart
    box: TaskBox
    limits: RehearsalLimits
    agent: ImageLayout = field(default_factory=ImageLayout)
    grader: ImageLayout = field(default_factory=ImageLayout)
    needs: list[str] = field(default_factory=list)
    """Missing requirements of the tests. With any of them, nothing can be graded."""
    solution_needs: list[str] = field(default_factory=list)
    repeats: bool = True
    """False once the same files had two rewards."""
    evidence: list[EnvEvidence] = field(default_factory=list)
    """Of the present check."""
    _deadline: float = 0.0
    _solved: dict[RunSurroundings, BoxRun] = field(default_factory=dict)
    _graded: dict[tuple[str, RunSurroundings], GradedRun] = field(default_factory=dict)
    _tops: list[str] = field(default_factory=list)

    @classmethod
    def prepare(cls, task: AuditedTask, box: TaskBox, limits: RehearsalLimits) -> Rehearsal:
        """Read the requirements of the runs. Nothing is run.

        Raises:
            WorkspaceError: The task can't be read.
        """
        self = cls(task, task.parts[0], box, limits)
        if len(task.parts) != 1 or self.part.name:
            self.needs.append("a task of one step")
        else:
            self.read_needs()
        return self

    def read_needs(self) -> None:
        """Read the images and scripts of the part, and what they need."""
        task = self.task
        self.agent = self._layout("environment/Dockerfile" if task.text("environment/Dockerfile") is not None else None)
        image = task.verifier_image(self.part) if self.part.separate else None
        self.grader = self._layout(image) if self.part.separate else self.agent
        self.needs += self.grader.needs + self._script_needs(self.part.tests, "test.sh")
        self.solution_needs = self.agent.needs + self._script_needs(self.part.solutions, "solve.sh")
        texts = (
            task.text(path) or "" for folder in (*self.part.tests, *self.part.solutions) for path in task.files(folder)
        )
        self._tops = absolute_tops(texts)

    def set_out(self) -> None:
        """Make the files that the agent starts with. Those of a task without steps are the image's."""

    def _layout(self, dockerfile: str | None) -> ImageLayout:
        if dockerfile is None:
            name = table(self.task.config, "environment").get("docker_image") or "that the task names"
            return ImageLayout(needs=[f"the image {name}"[:120]])
        return image_layout(self.task, dockerfile)

    def _script_needs(self, folders: Sequence[str], name: str) -> list[str]:
        """Requirements that this machine lacks, of the script of some folders and the Python files next to it."""
        script = self.task.script(folders, name)
        if script is None:
            return [f"a script {name}"]
        found = list(shell_needs(self.task.text(script) or ""))
        for folder in folders:
            for path in self.task.files(folder):
                if path.endswith(".py"):
                    found += python_needs(self.task.text(path) or "", self._modules())
            found += [f"a readable file {path}" for path in self.task.unread(folder)]
        return list(dict.fromkeys(found))

    def _modules(self) -> frozenset[str]:
        """Names of Python modules that the task itself may have: its files, and those that it declares."""
        declared = (path for path, _ in declared_artifacts(self.task, self.part))
        paths = (*self.task.files(), *self.agent.files, *declared)
        return frozenset(name.removesuffix(".py") for path in paths for name in path.split("/"))

    def check_time(self) -> None:
        """Look at the clock.

        Raises:
            OutOfTime: The check has no time left.
        """
        if time.monotonic() >= self._deadline:
            raise OutOfTime

    def begin(self) -> None:
        """Begin a check: its evidence and its seconds."""
        self.evidence = []
        self._deadline = time.monotonic() + self.limits.seconds

    @property
    def before(self) -> dict[str, BoxFile]:
        """The files that the agent starts with."""
        return dict(self.agent.files)

    @property
    def start(self) -> Mapping[str, BoxFile]:
        """The files that the solution starts with."""
        return self.agent.files

    @property
    def prompt(self) -> str:
        """The instruction."""
        return self.task.text(self.part.instruction) or ""

    @property
    def workdir(self) -> str:
        """The agent's working directory."""
        return agents_workdir(self.task)

    @property
    def command(self) -> str:
        """What grades, for the evidence."""
        return "bash /tests/test.sh"

    def literals(self) -> dict[str, str]:
        """Strings and numbers that the grader compares with, each with its place."""
        return grader_literals(self.task, self.part.tests)

    def declared(self) -> list[str]:
        """The paths and patterns of the declared outputs."""
        return [path for path, _ in declared_artifacts(self.task, self.part)]

    def seconds_of(self, role: str) -> float:
        """The seconds that the task declares for the agent or the verifier."""
        return number(table(self.task.config, role).get("timeout_sec")) or _TIMES[role]

    def memory_mb(self) -> int:
        """The limit of a run: twice the memory that the task declares, to see how much it takes, at most 4 GiB."""
        declared = number(table(self.task.config, "environment").get("memory_mb"))
        return int(min(max(2 * (declared or 0), _MEMORY_MB), 4096))

    def solve(self, surroundings: RunSurroundings = USUAL) -> BoxRun:
        """Run the solution on the files that the agent starts with.

        Raises:
            OutOfTime: The check has no time left.
        """
        found = self._solved.get(surroundings)
        if found is None:
            files = {**self.start, **self.below(tuple(reversed(self.part.solutions)), "/solution")}
            found = self.run(
                files, "/solution/solve.sh", self.agent, self.workdir, "agent", surroundings,
                self.variables("solution"),
            )  # fmt: skip
            kept = {path: one for path, one in found.files.items() if not path.startswith(("/solution/", "/tests/"))}
            found = replace(found, files=kept)
            self._solved[surroundings] = found
        return found

    def grade(
        self,
        after: Files,
        surroundings: RunSurroundings = USUAL,
        *,
        name: str,
        again: bool = False,
        tests: Files = MappingProxyType({}),
    ) -> GradedRun:
        """The reward of the files that an agent left.

        Args:
            after: All files of the agent's box. The task's declared outputs are collected from them.
            surroundings: Of the tests.
            name: Of the files, for the evidence.
            again: Run even if the same was run before.
            tests: Files that replace those of the tests.

        Raises:
            OutOfTime: The check has no time left.
        """
        files = {**self.graders_files(after), **tests}
        key = (digest(files), surroundings)
        found = self._graded.get(key)
        if found is None or again:
            found = self._grade(files, surroundings)
            self._graded[key] = found
        at = found.run.seconds
        self.evidence.append(EnvEvidence(name, self.command, found.told(), round(at, 3), key[0]))
        return found

    def _grade(self, files: Files, surroundings: RunSurroundings) -> GradedRun:
        if self.needs:
            return GradedRun(WrittenReward(), BoxRun("start"), "; ".join(self.needs[:4]))
        at = graders_workdir(self.task, self.part)
        role = self.variables("verifier")
        run = self.run(files, "/tests/test.sh", self.grader, at, "verifier", surroundings, role)
        reward = WrittenReward() if run.why == "files" else read_reward(run.files)
        needs = run.needs
        if not needs and reward.value is None:
            needs = self.limit_met(run, "verifier")
        return GradedRun(reward, run, needs)

    def limit_met(self, run: BoxRun, role: str) -> str:
        """The requirement of a run that hit a limit other than the task's; empty if it ended otherwise."""
        if run.why == "wall":
            wall = self._wall(role)
            return f"more than {wall:g} s for the {role} (--seconds)" if wall < self.seconds_of(role) else ""
        return "" if run.why == "exit" else f"a higher limit for the {role}: it ended by {run.why}"

    def graders_files(self, after: Files) -> dict[str, BoxFile]:
        """The files of the box that grades, given the files that an agent left."""
        tests = self.below(self.part.tests, "/tests")
        if self.part.separate:
            return {**self.grader.files, **self.collected(after), **tests}
        kept = {path: one for path, one in after.items() if not path.startswith((f"{REWARDS}/", "/solution/"))}
        return {**kept, **tests}

    def collected(self, after: Files) -> dict[str, BoxFile]:
        """The declared files among those that an agent left. Links are not collected."""
        declared = declared_artifacts(self.task, self.part)
        if not self.part.separate:
            known = self.before
            return {path: one for path, one in after.items() if not one.link and known.get(path) != one}
        return {
            path: one for path, one in after.items() if not one.link and any(covers(entry, path) for entry in declared)
        }

    def below(self, folders: Iterable[str], at: str) -> dict[str, BoxFile]:
        """The files of some folders of the task, at their place in a box."""
        found = {}
        for folder in folders:
            for path in self.task.files(folder):
                content = self.task.data(path)
                if content is not None:
                    found[f"{at}/{path[len(folder) + 1 :]}"] = BoxFile(
                        content, self.task.tree.manifest[path].executable
                    )
        return found

    def _wall(self, role: str) -> float:
        return min(self.seconds_of(role), self.limits.run_s, self.limits.seconds)

    def run(
        self, files: Files, script: str, layout: ImageLayout, cwd: str, role: str, surroundings: RunSurroundings,
        env: Mapping[str, str], stdin: str = "",
    ) -> BoxRun:  # fmt: skip
        """Run a script of the agent's or the verifier's box.

        Raises:
            OutOfTime: The check has no time left.
        """
        self.check_time()
        tests = role == "verifier"
        tops = dict.fromkeys([*self._tops, *(f"/{path.split('/')[1]}" for path in (*files, cwd, *layout.folders))])
        tops.pop("/", None)
        pack = [REWARDS] if tests else [top for top in tops if top not in ("/solution", "/tests")]
        return self.box.run(
            files,
            ["/bin/bash", script],
            cwd=cwd,
            pack=dict.fromkeys([*pack, *(["/app", "/logs", "/root", "/home", "/workspace"] if not tests else [])]),
            wall_s=self._wall(role),
            memory_mb=self.memory_mb(),
            folders=[*layout.folders, REWARDS, *HOMES, "/logs/artifacts"],
            env={**layout.env, **env},
            surroundings=surroundings,
            tops=list(tops),
            stdin=stdin,
        )

    def variables(self, role: str) -> dict[str, str]:
        """The variables that the task sets, except those with values of another machine."""
        told: dict[str, Any] = {
            **table(table(self.task.config, "environment"), "env"),
            **table(table(self.task.config, role), "env"),
        }
        return {str(name): str(value) for name, value in told.items() if "$" not in str(value) and name != "PATH"}

    def blocked(self) -> str:
        """The oracle's missing requirements; empty if it can run."""
        return "; ".join(dict.fromkeys([*self.needs, *self.solution_needs]))[:600]

    def solved_gap(self) -> str:
        """The missing requirement according to the solution's output."""
        run = self.solve()
        return run.needs or (gap_in(run.text) if run.code or run.why != "exit" else "")


def digest(files: Files) -> str:
    """SHA-256 of a tree."""
    total = hashlib.sha256()
    for path, one in sorted(files.items()):
        told = f"{path}\0{one.executable}\0{one.link}\0{len(one.content)}\0"
        total.update(told.encode("utf-8", "surrogateescape") + one.content)
    return total.hexdigest()
