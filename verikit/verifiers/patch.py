"""Does a patch make a repository's tests pass? A fresh copy of the tree for each candidate, without a network.

The diff is applied outside, the row's tests and their configuration are put back, and the tests run in the sandbox as
processes of a supervisor that the repository can't reach. Tests share their process with the code under test, so their
verdicts are not proof (`docs/sandbox.md` says what is held and what is not); scores say so.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, Literal

from verikit.base import TextVerifier
from verikit.errors import SandboxUnavailable, UsageError
from verikit.sandbox import ISOLATION, LocalSandbox, RunLimits, RunResult, default_sandbox
from verikit.sandbox.guest import source
from verikit.sandbox.toolchains import LANGUAGES, Missing, toolchain
from verikit.types import Sample, Score
from verikit.verifiers import test_reports
from verikit.verifiers.changed_tests import ALARM, VARIANTS, still_passing
from verikit.verifiers.patch_task import WANTED, PatchTask, dotted, read_task, test_files, with_changed_tests
from verikit.verifiers.patch_tree import CONFIGURES, SOURCES, Tree, judged_tree, patched, protected
from verikit.verifiers.row_faults import RowFaults
from verikit.verifiers.unified_diff import DiffError, applied, parse

_SHOWN = ("/usr/bin", "/bin", "/usr/include", "/etc/alternatives", "/usr/libexec")
_PYTHON = os.path.realpath(sys.executable)
_faults = RowFaults()


@dataclass(frozen=True, slots=True)
class PatchOutcome:
    """What a tree came to: tests by name with what is wrong with each, or why none counts."""

    problems: Mapping[str, str] = field(default_factory=dict)
    failed: str = ""
    """What the tree itself did wrong."""
    infra: str = ""
    """What is not its fault."""
    left_open: str = ""
    """What a pass does not show."""


@dataclass(frozen=True)
class Patch(TextVerifier):
    """1.0 if a patch makes the tests pass that it should, and breaks none that passed (SWE-bench's rule).

    The completion is a unified diff, or whole files in blocks that name their paths. The row's meta holds `repository`
    (a folder, a tar archive, or names with texts), `FAIL_TO_PASS`, `PASS_TO_PASS`, and the tests: `test_patch` (a
    diff) or `tests` (names with texts). Python tests are run by name; for others `test_commands` are run and their
    `report` is read (`go`, `junit` with `report_files`, `pytest`, `unittest`, `exit`: each command is a test). `before`
    are commands to be run first.
    """

    root: str = ""
    """The folder of the repositories; a row can't lead out of it. "": the working directory, absolute paths allowed."""
    reward: Literal["all", "fraction"] = "all"
    """All tests or nothing, or the share of FAIL_TO_PASS that passes times that of PASS_TO_PASS."""
    wall_s: float = 120.0
    """For all commands and tests of a candidate together."""
    memory_mb: int = 2048
    """Memory of all its processes, in MiB."""
    disk_mb: int = 256
    """What they may write, in MiB."""
    check_row: bool = True
    """Where a candidate fails, see once whether the row's own patch (`patch`) passes, or without one whether
    PASS_TO_PASS does on the tree as it is: a row that can't be met is unscored."""
    change_tests: bool = True
    """Run Python tests that passed once more with other expected values: a test that passes then, too, has failed
    (unless it does so beside the row's own patch)."""
    hide_tests: bool = True
    """Empty the files of the Python tests on disk while they run: code that reads them finds nothing. False for tests
    that read their own source."""
    name = "patch"

    def __post_init__(self) -> None:
        super().__post_init__()
        RunLimits(wall_s=self.wall_s, memory_mb=self.memory_mb, disk_mb=self.disk_mb)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample by itself, as many at a time as the machine has processors.

        Raises:
            SandboxUnavailable: this machine can't isolate programs; names what is missing.
        """
        box = default_sandbox(ISOLATION)
        with ThreadPoolExecutor(box.workers, thread_name_prefix="verikit-patch") as threads:
            return list(threads.map(lambda sample: self._score_sample(sample, box), samples))

    @property
    def slowest_s(self) -> float:
        """A candidate's runs, and the row's own."""
        return self.wall_s * (1 + self.check_row + (VARIANTS + 1) * self.change_tests)

    def environment(self) -> dict[str, Any]:
        """The properties of the sandbox, as its probes found them."""
        return {"sandbox": default_sandbox(ISOLATION).report.as_dict()}

    def _score_sample(self, sample: Sample, box: LocalSandbox) -> Score:
        try:
            task = read_task(sample.meta, self.root)
        except (ValueError, TypeError, UsageError, RecursionError) as problem:
            return Score.error(f"the row can't be read: {problem}")
        if not sample.completion.strip():
            return Score(0.0, reason="no patch in the completion")
        try:
            tree, put_back = judged_tree(task.original, patched(task.original, sample.completion), task.tests)
        except DiffError as problem:
            return Score(0.0, answer=sample.completion, reason=f"does not apply: {problem}")
        try:
            outcome = self._run(task, tree, box)
            score = self._judge(task, outcome, put_back)
            if self.change_tests and score.value:
                score = self._judge(task, self._outlasting(task, tree, outcome, box), put_back)
            if self.check_row and score.scored and score.value != 1.0 and (fault := self._row_fault(task, box)):
                return Score.error(fault)
        except SandboxUnavailable as problem:
            return Score.error(f"{problem}; {problem.hint}")
        return replace(score, answer=sample.completion)

    def _judge(self, task: PatchTask, outcome: PatchOutcome, put_back: Sequence[str]) -> Score:
        if outcome.infra:
            return Score.error(outcome.infra)
        parts: dict[str, Score] = {}
        shares: list[float] = []
        first, passed = outcome.failed, 0
        for group, names in zip(WANTED, (task.fail_to_pass, task.pass_to_pass), strict=True):
            wrong = {name: outcome.failed or outcome.problems.get(name, "not reported") for name in names}
            tests = {name: Score(float(not told), reason=told or "passed") for name, told in wrong.items()}
            good = sum(float(score) for score in tests.values())
            passed += int(good)
            first = first or next((f"{name}: {told}" for name, told in wrong.items() if told), "")
            if names:
                shares.append(good / len(names))
                parts[group] = Score(shares[-1], reason=f"passes {good:g} of {len(names)} tests", parts=tests)
        value = 1.0
        for share in shares:
            value *= share
        reason = f"in process, forgeable: passes {passed} of {len(task.names)} tests" + (f"; {first}" if first else "")
        if outcome.left_open:
            reason += f"; {outcome.left_open}"
        if put_back:
            reason += f"; put back: {', '.join(put_back[:5])}{', …' if len(put_back) > 5 else ''}"
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
        """Tests that pass with other expected values beside the row's own patch: those values do not matter there."""
        try:
            own = applied(task.original, parse(task.gold)) if task.gold else {}
            tree = with_changed_tests(task, judged_tree(task.original, own, task.tests)[0], 0) if own else None
        except DiffError:
            return {}
        return _alarms(self._run(task, tree, box)) if tree else {}

    def _row_fault(self, task: PatchTask, box: LocalSandbox) -> str:
        """Why nobody could pass the row's tests here; empty if somebody can, or nobody knows. Found once for a row."""
        return _faults.of(_digest(self, task), lambda: self._find_fault(task, box))

    def _find_fault(self, task: PatchTask, box: LocalSandbox) -> str:
        names = task.names if task.gold else task.pass_to_pass
        if not names:
            return ""
        who = "the row's own patch" if task.gold else "the repository as it is"
        try:
            own = applied(task.original, parse(task.gold)) if task.gold else dict(task.original)
            tree, _ = judged_tree(task.original, own, task.tests)
        except DiffError as problem:
            return f"{who} does not apply: {problem}"
        outcome = self._run(task, tree, box)
        if outcome.infra or outcome.failed:
            return outcome.infra or f"{who} does not pass: {outcome.failed}"
        wrong = {name: told for name in names if (told := outcome.problems.get(name, "not reported"))}
        return f"{who} does not pass: " + "; ".join(f"{n}: {t}" for n, t in list(wrong.items())[:3]) if wrong else ""

    def _run(self, task: PatchTask, tree: Tree, box: LocalSandbox) -> PatchOutcome:
        """Run the commands and tests of a row on one tree."""
        tools, env = _tools(task.language)
        if isinstance(tools, str):
            return PatchOutcome(infra=tools)
        if not task.commands and task.form == "pytest" and find_spec("pytest") is None:
            return PatchOutcome(infra="pytest is not installed: pip install pytest")
        key = secrets.token_hex(16).encode()
        job = _job(task, tree, env, self.wall_s, hide=self.hide_tests)
        files = {f"tree/{name}": file.content for name, file in tree.items()}
        files |= {f"{name}.py": source(name).encode() for name in ("bench", "witness")}
        limits = RunLimits(
            wall_s=self.wall_s + 5, memory_mb=self.memory_mb, disk_mb=self.disk_mb, output_kb=32 << 10,
            files=2 * len(tree) + 20_000, threads=256, cpu_s=2 * self.wall_s + 10,
        )  # fmt: skip
        command = [_PYTHON, "-s", "-P", "{kept}/bench.py"]
        payload = key + b"\n" + json.dumps(job).encode()
        result = box.programs.execute(command, files, payload, limits, tools=tools, env={})
        return _outcome(task, result, key)


def _alarms(outcome: PatchOutcome) -> dict[str, str]:
    """The tests that changed tests raised an alarm in, with what it says."""
    told = {name: problem.partition(f"{ALARM}: ") for name, problem in outcome.problems.items()}
    return {name: why for name, (_, found, why) in told.items() if found}


def _digest(options: Patch, task: PatchTask) -> bytes:
    """What a row's own run depends on, in short."""
    digest = hashlib.blake2b(digest_size=16)
    for tree in (task.original, task.tests):
        for name, file in sorted(tree.items()):
            digest.update(f"{name}\0{file.executable}\0{len(file.content)}\0".encode("utf-8", "replace"))
            digest.update(file.content)
    rest = (options, replace(task, original={}, tests={}))
    digest.update(repr(rest).encode("utf-8", "replace"))
    return digest.digest()


def _tools(language: str) -> tuple[tuple[str, ...] | str, dict[str, str]]:
    """Paths that commands need, or why they can't be had; and the variables of the language's tools."""
    shown = [*_SHOWN, sys.base_prefix if sys.base_prefix != "/usr" else "/usr/bin", os.path.dirname(_PYTHON)]
    path = [os.path.dirname(_PYTHON), "/usr/bin", "/bin"]
    env: dict[str, str] = {}
    if language in LANGUAGES:
        chain = toolchain(language)
        if isinstance(chain, Missing):
            return f"no tool chain for {language} on this machine: {chain.install}", {}
        shown += [*chain.tools, *chain.run_tools]
        env = dict(chain.env)
        path += [os.path.dirname(part[0]) for part in (chain.build, chain.run) if part and part[0].startswith("/")]
    env["PATH"] = ":".join(dict.fromkeys(path))
    return tuple(dict.fromkeys(part for part in shown if os.path.exists(part))), env


def _job(task: PatchTask, tree: Tree, env: Mapping[str, str], wall_s: float, *, hide: bool) -> dict[str, Any]:
    """What the supervisor inside is asked; nothing of it reaches the repository's own code but the tests' names."""
    changed = frozenset(name for name, file in task.tests.items() if task.original.get(name) != file)
    own = [name for name in tree if protected(name, changed)]
    packages = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    packages += [sysconfig.get_path("purelib")]
    settings = "".join(
        tree[name].content.decode("utf-8", "replace")
        for name in ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg") if name in tree
    )  # fmt: skip
    tests = {
        "form": task.form, "names": [dotted(name) if task.form == "unittest" else name for name in task.names],
        "sources": list(SOURCES), "packages": list(dict.fromkeys(packages)), "plugins": list(task.plugins),
        "hidden": sorted(test_files(task, tree)) if hide else [],
        "importlib": "importlib" in settings, "conftests": [name for name in own if name.endswith("conftest.py")],
    }  # fmt: skip
    variables = {
        "LANG": "C.UTF-8", "TZ": "UTC", "HOME": "{work}", "TMPDIR": "{work}", "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0", **env,
    }  # fmt: skip
    if task.commands or task.before:
        variables["PYTHONPATH"] = ":".join(dict.fromkeys(packages))
    return {
        "before": list(task.before), "commands": list(task.commands), "reports": list(task.reports), "own": own,
        "configures": sorted(CONFIGURES),
        "env": variables, "wall": wall_s, "tests": None if task.commands else tests,
    }  # fmt: skip


def _outcome(task: PatchTask, result: RunResult, key: bytes) -> PatchOutcome:
    """What a run came to; only what the supervisor sealed is believed."""
    if result.status == "infra_error":
        return PatchOutcome(infra=f"not the patch's fault: {result.error}")
    said = _opened(result.stdout, key)
    if said is None:
        ended = f"{result.status} ({result.error})" if result.error else result.status
        return PatchOutcome(failed=f"the run ended before its tests did: {ended}")
    ran = [(command, step["exit"], step["output"]) for command, step in zip(task.before, said["steps"], strict=False)]
    for command, code, output in ran:
        if code:
            return PatchOutcome(failed=f"{command!r} fails with {code}: {' '.join(output.split())[-300:]}")
    if said["spoiled"]:
        return PatchOutcome(failed=f"the tests were changed while they ran: {', '.join(said['spoiled'][:3])}")
    if said["results"] is not None:
        try:
            return _witnessed(task, said["results"])
        except (ValueError, TypeError, IndexError, RecursionError):  # the patch runs where this record is written
            return PatchOutcome(failed="the record of its tests can't be read")
    steps = said["steps"][len(task.before) :]
    outputs = [(c, step["exit"], step["output"]) for c, step in zip(task.commands, steps, strict=True)]
    seen = test_reports.passed(task.report, outputs, said["reports"])
    return PatchOutcome({name: "" if seen[name] else "failed" for name in task.names if name in seen})


def _opened(text: str, key: bytes) -> dict[str, Any] | None:
    """The record that the supervisor sealed; None if there is none."""
    for line in reversed(text.split("\n")):
        mark, _, record = line.partition(" ")
        if record and hmac.compare_digest(hmac.new(key, record.encode(), hashlib.sha256).hexdigest(), mark):
            read: dict[str, Any] = json.loads(record)
            return read
    return None


def _witnessed(task: PatchTask, results: Mapping[str, Any]) -> PatchOutcome:
    """What the process of Python tests said of each; worth nothing if tests that have to fail passed there."""
    outcomes: dict[str, list[tuple[str, str, str]]] = {}
    end: list[str] | None = None
    last = ""
    for line in results["said"]:
        kind, *words = json.loads(line)
        if kind == "missing":
            return PatchOutcome(failed=words[0])
        if kind == "test":
            name, when, outcome, message = words
            outcomes.setdefault(name, []).append((when, outcome, message))
        elif kind == "collect":
            last = " ".join(words[1].split())[-300:]
        elif kind == "end":
            end = words
    if end is None:
        late = "the time is up" if results["exit"] == 124 else f"exit code {results['exit']}"
        return PatchOutcome(failed=f"the tests' process ended before its tests did ({late})")
    alarm, count = end[0], int(end[1])
    alarms = [runs for name, runs in outcomes.items() if alarm in name]
    if len(alarms) != count or any(all(o == "passed" for _, o, _ in runs) for runs in alarms):
        told = f"; {last}" if last else ""
        return PatchOutcome(failed=f"tests that have to fail do not fail beside this patch{told}")
    problems: dict[str, str] = {}
    for name in task.names:
        runs = outcomes.get(dotted(name) if task.form == "unittest" else name, [])
        wrong = next((f"{outcome}: {message}" for _, outcome, message in runs if outcome != "passed"), "")
        called = any(when == "call" for when, _, _ in runs)
        problems[name] = wrong or ("" if called else f"not run{'; ' + last if last else ''}")
    return PatchOutcome(problems)
