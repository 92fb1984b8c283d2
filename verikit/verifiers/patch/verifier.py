"""Does a patch make a repository's tests pass? Each candidate has a fresh copy of the tree, without network access.

The diff is applied outside, and the row's tests and their configuration are restored. The tests run in the sandbox as
processes of a supervisor that the repository can't reach. Tests share their process with the code under test, so their
verdicts are not proof, and scores report that. `docs/sandbox.md` lists the guarantees and their limits.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain
from typing import Any, Literal

from verikit.base import TextVerifier
from verikit.errors import SandboxUnavailable, UsageError
from verikit.sandbox import ISOLATION, LocalSandbox, RunLimits, default_sandbox
from verikit.sandbox.guest import source
from verikit.types import Sample, Score
from verikit.verifiers.falsified.changed_tests import ALARM, VARIANTS, still_passing
from verikit.verifiers.patch.helpers import helpers
from verikit.verifiers.patch.judged import JudgedTree, judged
from verikit.verifiers.patch.replies import patched
from verikit.verifiers.patch.runs import PYTHON, PatchOutcome, job_of, outcome_of, tools_of, wrappers
from verikit.verifiers.patch.task import WANTED, PatchTask, read_task, with_changed_tests
from verikit.verifiers.patch.tree import PatchError, Tree
from verikit.verifiers.reading.row_faults import RowFaults

_faults = RowFaults()


@dataclass(frozen=True)
class Patch(TextVerifier):
    """1.0 if a patch fixes the tests that it should, and breaks none that passed (SWE-bench's rule).

    The completion is a unified diff, SEARCH/REPLACE blocks, a `*** Begin Patch`, or whole files in blocks that name
    their paths. The row's meta has `repository` (a folder, a tar archive, or a mapping of names to contents),
    `FAIL_TO_PASS`, `PASS_TO_PASS`, and the tests: `test_patch` (a diff) or `tests` (names and contents). Files that
    these lead to, and files that commands name, are restored, except `solution_files`. Python tests run by their names.
    For others `test_commands` run and their `report` is read (`go`, `junit` with `report_files`, `pytest`, `unittest`,
    `exit`: each command is a test). `before` are commands that run first.
    """

    root: str = ""
    """The folder of the repositories. Paths of a row stay inside it. "": the working directory, absolute paths allowed.
"""
    reward: Literal["all", "fraction"] = "all"
    """All tests or nothing, or the passing fraction of FAIL_TO_PASS times the passing fraction of PASS_TO_PASS."""
    wall_s: float = 120.0
    """Seconds for all commands and tests of a candidate together."""
    memory_mb: int = 2048
    """Memory of all its processes, in MiB."""
    disk_mb: int = 256
    """Disk space that they may write, in MiB."""
    check_row: bool = True
    """If a candidate fails, test once whether the row's own patch (`patch`) passes, or without one whether PASS_TO_PASS
    does on the unchanged tree. A row that cannot be passed is unscored."""
    change_tests: bool = True
    """Run passing Python tests again with other expected values. A test that then still passes fails (unless it also
    does so with the row's own patch)."""
    hide_tests: bool = True
    """Empty the files of the Python tests on disk while they run, so code that reads them finds nothing. Use False for
    tests that read their own source."""
    restore_helpers: bool = False
    """Restore changed fixtures and utilities that only the tests load. False: the score's reason names them."""
    name = "patch"

    def __post_init__(self) -> None:
        super().__post_init__()
        RunLimits(wall_s=self.wall_s, memory_mb=self.memory_mb, disk_mb=self.disk_mb)

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately, as many in parallel as the machine has CPU cores.

        Raises:
            SandboxUnavailable: This machine can't isolate programs; the message names the missing part.
        """
        scores = dict(self._as_they_end(self._score_sample, samples))
        return [scores[i] for i in range(len(samples))]

    def score_as_they_end(self, samples: Sequence[Sample]) -> Iterator[tuple[int, Score]]:
        """Score each sample separately; yield its index and score as soon as the score is ready.

        Raises:
            SandboxUnavailable: This machine can't isolate programs; the message names the missing part.
        """
        return self._as_they_end(self._score_sample, samples)

    def score_unchanged(self, samples: Sequence[Sample]) -> Iterator[tuple[int, Score]]:
        """Score the patch without changes, regardless of the completions; a sound row scores it 0.0.

        Yields:
            The index and the score of each sample, as soon as the score is ready.

        Raises:
            SandboxUnavailable: This machine can't isolate programs; the message names the missing part.
        """
        return self._as_they_end(self._score_unchanged, samples)

    def _as_they_end(
        self, score: Callable[[Sample, LocalSandbox], Score], samples: Sequence[Sample]
    ) -> Iterator[tuple[int, Score]]:
        box = default_sandbox(ISOLATION)
        with ThreadPoolExecutor(box.workers, thread_name_prefix="verikit-patch") as threads:
            running = {threads.submit(score, sample, box): i for i, sample in enumerate(samples)}
            try:
                for ended in as_completed(running):
                    yield running[ended], ended.result()
            finally:  # after an interruption, do not start further work
                threads.shutdown(wait=False, cancel_futures=True)

    def key(self, sample: Sample) -> str:
        """32 hex digits that change when the options, the sample's row or its repository do.

        Raises:
            ValueError, TypeError, UsageError, RecursionError: The row can't be read.
        """
        return _digest(self, read_task(sample.meta, self.root)).hex()

    @property
    def slowest_s(self) -> float:
        """A candidate's runs, and the row's own."""
        return self.wall_s * (1 + self.check_row + (VARIANTS + 1) * self.change_tests)

    def environment(self) -> dict[str, Any]:
        """The properties of the sandbox, as its probes found them."""
        return {"sandbox": default_sandbox(ISOLATION).report.as_dict()}

    def _score_unchanged(self, sample: Sample, box: LocalSandbox) -> Score:
        try:
            task = read_task(sample.meta, self.root)
            tree = task.unchanged()
            return self._judge(task, self._run(task, tree.files, box), tree)
        except SandboxUnavailable as problem:
            return Score.error(f"{problem}. {problem.hint}")
        except (ValueError, TypeError, UsageError, RecursionError) as problem:
            return Score.error(f"the row can't be read: {problem}")

    def _score_sample(self, sample: Sample, box: LocalSandbox) -> Score:
        try:
            task = read_task(sample.meta, self.root)
        except (ValueError, TypeError, UsageError, RecursionError) as problem:
            return Score.error(f"the row can't be read: {problem}")
        if not sample.completion.strip():
            return Score(0.0, reason="no patch in the completion")
        try:
            tree = self._judged_tree(task, patched(task.original, sample.completion))
        except PatchError as problem:
            return Score(0.0, answer=sample.completion, reason=f"does not apply: {problem}")
        try:
            outcome = self._run(task, tree.files, box)
            score = self._judge(task, outcome, tree)
            if self.change_tests and score.value:
                score = self._judge(task, self._outlasting(task, tree.files, outcome, box), tree)
            if self.check_row and score.scored and score.value != 1.0 and (fault := self._row_fault(task, box)):
                return Score.error(fault)
        except SandboxUnavailable as problem:
            return Score.error(f"{problem}. {problem.hint}")
        return replace(score, answer=sample.completion)

    def _judged_tree(self, task: PatchTask, candidate: Tree) -> JudgedTree:
        tree = judged(task.original, candidate, task.tests, task.declared)
        found = helpers(task.tests, task.declared, tree.changed)
        if found and self.restore_helpers:
            names = task.declared.names.union(found)
            return judged(task.original, candidate, task.tests, replace(task.declared, names=names))
        return replace(tree, helpers=tuple(found))

    def _judge(self, task: PatchTask, outcome: PatchOutcome, tree: JudgedTree) -> Score:
        if outcome.infra:
            return Score.error(outcome.infra)
        parts = {
            group: _passed(outcome, names)
            for group, names in zip(WANTED, (task.fail_to_pass, task.pass_to_pass), strict=True)
            if names
        }
        tests = list(chain.from_iterable(part.parts.items() for part in parts.values()))
        passed = sum(score.value == 1.0 for _, score in tests)
        value = math.prod(map(float, parts.values()), start=1.0)
        failed = (f"{name}: {score.reason}" for name, score in tests if not score.value)
        first = outcome.failed or next(failed, "")
        told = [f"in process, forgeable: passes {passed} of {len(task.names)} tests", first, outcome.left_open]
        reason = "; ".join(filter(None, told)) + _told(task, tree)
        return Score(value if self.reward == "fraction" else float(value == 1.0), reason=reason[:900], parts=parts)

    def _outlasting(self, task: PatchTask, tree: Tree, outcome: PatchOutcome, box: LocalSandbox) -> PatchOutcome:
        """The outcome of tests without those that also pass with other expected values."""
        found: dict[str, str] | None = None
        for variant in range(VARIANTS):
            other = with_changed_tests(task, tree, variant)
            if other is None:
                return replace(outcome, left_open="no check of them could be run with another expected value")
            result = self._run(task, other, box)
            if result.infra or result.failed:
                failed = result.failed and f"with other expected values in the tests: {result.failed}"
                return replace(result, failed=failed)
            found = still_passing(found, _alarms(result))
            if not found:
                return outcome
        own = self._alarms_of_gold(task, box)
        problems = {name: told for name, told in (found or {}).items() if name not in own}
        return replace(outcome, problems={**outcome.problems, **problems})

    def _alarms_of_gold(self, task: PatchTask, box: LocalSandbox) -> Mapping[str, str]:
        """Tests that pass with other expected values under the row's own patch: those values have no effect there."""
        try:
            tree = with_changed_tests(task, task.with_gold().files, 0) if task.gold else None
        except PatchError:
            return {}
        return _alarms(self._run(task, tree, box)) if tree else {}

    def _row_fault(self, task: PatchTask, box: LocalSandbox) -> str:
        """Why no candidate could pass the row's tests here; empty if one can, or if unknown. Found once per row."""
        return _faults.of(_digest(self, task), lambda: self._find_fault(task, box))

    def _find_fault(self, task: PatchTask, box: LocalSandbox) -> str:
        names = task.names if task.gold else task.pass_to_pass
        if not names:
            return ""
        who = "the row's own patch" if task.gold else "the repository as it is"
        try:
            tree = task.with_gold()
        except PatchError as problem:
            return f"{who} does not apply: {problem}"
        outcome = self._run(task, tree.files, box)
        if outcome.infra:
            return outcome.infra
        wrong = outcome.failed or _first_problems(outcome, names)
        told = f"; put back: {_listed(tree.put_back)}" if tree.put_back else ""
        return f"{who} does not pass: {wrong}{told}" if wrong else ""

    def _run(self, task: PatchTask, tree: Tree, box: LocalSandbox) -> PatchOutcome:
        """Run the commands and tests of a row on one tree."""
        tools, env = tools_of(task.language)
        if isinstance(tools, str):
            return PatchOutcome(infra=tools)
        if not task.commands and task.form == "pytest" and find_spec("pytest") is None:
            return PatchOutcome(infra="pytest is not installed: pip install pytest")
        key = secrets.token_hex(16).encode()
        job = job_of(task, tree, env, self.wall_s, hide=self.hide_tests)
        files = {f"tree/{name}": file.content for name, file in tree.items()}
        files |= {f"{name}.py": source(name).encode() for name in ("bench", "witness")} | wrappers(env)
        limits = RunLimits(
            wall_s=self.wall_s + 5, memory_mb=self.memory_mb, disk_mb=self.disk_mb, output_kb=32 << 10,
            files=2 * len(tree) + 20_000, threads=256, cpu_s=2 * self.wall_s + 10,
        )  # fmt: skip
        command = [PYTHON, "-s", "-P", "{kept}/bench.py"]
        payload = key + b"\n" + json.dumps(job).encode()
        result = box.programs.execute(command, files, payload, limits, tools=tools, env={})
        return outcome_of(task, result, key)


def _alarms(outcome: PatchOutcome) -> dict[str, str]:
    """The tests whose changed version raised an alarm, with its message."""
    told = {name: problem.partition(f"{ALARM}: ") for name, problem in outcome.problems.items()}
    return {name: why for name, (_, found, why) in told.items() if found}


def _first_problems(outcome: PatchOutcome, names: Sequence[str]) -> str:
    problems = {name: outcome.problems.get(name, "not reported") for name in names}
    wrong = [f"{name}: {problem}" for name, problem in problems.items() if problem]
    return "; ".join(wrong[:3])


def _passed(outcome: PatchOutcome, names: Sequence[str]) -> Score:
    """The share of some tests that pass, with each test's score."""
    wrong = {name: outcome.failed or outcome.problems.get(name, "not reported") for name in names}
    tests = {name: Score(float(not problem), reason=problem or "passed") for name, problem in wrong.items()}
    good = sum(not problem for problem in wrong.values())
    return Score(good / len(names), reason=f"passes {good:g} of {len(names)} tests", parts=tests)


def _told(task: PatchTask, tree: JudgedTree) -> str:
    """The note on files in a score's reason: the restored files, and files that could forge test results."""
    told = ""
    if tree.put_back:
        told += f"; put back: {_listed(tree.put_back)}"
    opened = sorted(task.declared.open & tree.changed)
    if opened:
        told += f"; forgeable: the patch changes {_listed(opened)}, which test commands or test names lead to"
    if tree.helpers:
        told += f"; forgeable: the patch changes {_listed(tree.helpers)}, which only tests load (restore_helpers)"
    return told


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:5])}{', …' if len(names) > 5 else ''}"


def _digest(options: Patch, task: PatchTask) -> bytes:
    """A digest of everything that a row's own run depends on."""
    digest = hashlib.blake2b(digest_size=16)
    for tree in (task.original, task.tests):
        for name, file in sorted(tree.items()):
            digest.update(f"{name}\0{file.executable}\0{len(file.content)}\0".encode("utf-8", "replace"))
            digest.update(file.content)
    rest = (options, replace(task, original={}, tests={}))
    digest.update(repr(rest).encode("utf-8", "replace"))
    return digest.digest()
