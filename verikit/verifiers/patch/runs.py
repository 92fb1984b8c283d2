"""One run of a row's commands and tests on a tree: the job of the supervisor inside, and its sealed record."""

from __future__ import annotations

import glob
import hashlib
import hmac
import json
import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verikit.sandbox import RunResult
from verikit.sandbox.toolchains import LANGUAGES, Missing, toolchain
from verikit.verifiers.patch import outcomes
from verikit.verifiers.patch.declared import CONFIGURES, SOURCES
from verikit.verifiers.patch.judged import belongs
from verikit.verifiers.patch.task import PatchTask, dotted, test_files
from verikit.verifiers.patch.tree import Tree

_SHOWN = ("/usr/bin", "/bin", "/usr/include", "/etc/alternatives", "/usr/libexec")
_TOOLS = "{kept}/tools"
_LINK = b'#!/bin/sh\nexec /usr/bin/cc "$@" -fuse-ld=bfd\n'
"""The `cc` that rustc links by. rustc's own linker finds itself in /proc, which the sandbox does not have."""
PYTHON = os.path.realpath(sys.executable)


@dataclass(frozen=True, slots=True)
class PatchOutcome:
    """The outcome of a tree: tests by their names, each with its problem, or why no test counts."""

    problems: Mapping[str, str] = field(default_factory=dict)
    failed: str = ""
    """The failure of the tree itself."""
    infra: str = ""
    """A failure that the tree did not cause."""
    left_open: str = ""
    """The facts that a pass does not show."""


def tools_of(language: str) -> tuple[tuple[str, ...] | str, dict[str, str]]:
    """Paths that commands need, or why they are not available; and the variables of the language's tools."""
    shown = [
        *_SHOWN,
        *glob.glob("/usr/share/cmake*"),
        sys.base_prefix if sys.base_prefix != "/usr" else "/usr/bin",
        os.path.dirname(PYTHON),
    ]
    path = [os.path.dirname(PYTHON), "/usr/bin", "/bin"]
    env: dict[str, str] = {}
    if language in LANGUAGES:
        chain = toolchain(language)
        if isinstance(chain, Missing):
            return f"no toolchain for {language} on this machine: {chain.install}", {}
        shown += [*chain.tools, *chain.run_tools]
        env = dict(chain.env)
        path += [os.path.dirname(part[0]) for part in (chain.build, chain.run) if part and part[0].startswith("/")]
        if chain.language == "rust":
            path.insert(0, _TOOLS)
    env["PATH"] = ":".join(dict.fromkeys(path))
    return tuple(dict.fromkeys(part for part in shown if os.path.exists(part))), env


def wrappers(env: Mapping[str, str]) -> dict[str, bytes]:
    """Files that the path of those variables expects next to the tree."""
    return {"tools/cc": _LINK} if env["PATH"].startswith(f"{_TOOLS}:") else {}


def job_packages() -> list[str]:
    """Folders of installed Python packages, which programs in the sandbox may import."""
    packages = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    return list(dict.fromkeys([*packages, sysconfig.get_path("purelib")]))


def job_of(task: PatchTask, tree: Tree, env: Mapping[str, str], wall_s: float, *, hide: bool) -> dict[str, Any]:
    """The job of the supervisor inside; only the tests' names reach the repository's own code."""
    own = _own_files(task, tree)
    packages = job_packages()
    tests = {
        "form": task.form, "names": [dotted(name) if task.form == "unittest" else name for name in task.names],
        "sources": list(SOURCES), "packages": packages, "plugins": list(task.plugins),
        "hidden": sorted(test_files(task, tree)) if hide else [],
        "importlib": "importlib" in _settings(tree),
        "conftests": [name for name in own if name.endswith("conftest.py")],
    }  # fmt: skip
    variables = {
        "LANG": "C.UTF-8", "TZ": "UTC", "HOME": "{work}", "TMPDIR": "{work}", "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0", **env,
    }  # fmt: skip
    if task.commands or task.before:
        variables["PYTHONPATH"] = ":".join(packages)
    return {
        "before": list(task.before), "commands": list(task.commands), "reports": list(task.reports), "own": own,
        "configures": sorted(CONFIGURES),
        "env": variables, "wall": wall_s, "tests": None if task.commands else tests,
    }  # fmt: skip


def _own_files(task: PatchTask, tree: Tree) -> list[str]:
    """The row's own files, without those that its tests write."""
    own = (name for name in tree if belongs(name, task.original, task.declared))
    return [name for name in own if name not in task.declared.outputs]


def _settings(tree: Tree) -> str:
    """The text of the files that may contain pytest's settings."""
    names = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
    return "".join(tree[name].content.decode("utf-8", "replace") for name in names if name in tree)


def outcome_of(task: PatchTask, result: RunResult, key: bytes) -> PatchOutcome:
    """The outcome of a run; only the supervisor's sealed record is trusted."""
    if result.status == "infra_error":
        return PatchOutcome(infra=f"not the patch's fault: {result.error}")
    said = _opened(result.stdout, key)
    if said is None:
        ended = f"{result.status} ({result.error})" if result.error else result.status
        return PatchOutcome(failed=f"the run ended before its tests did: {ended}")
    for command, step in zip(task.before, said["steps"], strict=False):
        if code := step["exit"]:
            return PatchOutcome(failed=f"{command!r} fails with {code}: {' '.join(step['output'].split())[-300:]}")
    if said["spoiled"]:
        return PatchOutcome(failed=f"the tests were changed while they ran: {', '.join(said['spoiled'][:3])}")
    if said["results"] is not None:
        try:
            return _witnessed(task, said["results"])
        except (ValueError, TypeError, IndexError, RecursionError):  # the patch runs where this record is written
            return PatchOutcome(failed="the record of its tests can't be read")
    return _of_reports(task, said)


def _of_reports(task: PatchTask, said: Mapping[str, Any]) -> PatchOutcome:
    """The outcome as the test commands report it."""
    steps = said["steps"][len(task.before) :]
    outputs = [(c, step["exit"], step["output"]) for c, step in zip(task.commands, steps, strict=True)]
    seen = outcomes.passed(task.report, outputs, said["reports"])
    return PatchOutcome({name: "" if seen[name] else "failed" for name in task.names if name in seen})


def _opened(text: str, key: bytes) -> dict[str, Any] | None:
    """The record that the supervisor sealed; None if it is missing."""
    for line in reversed(text.split("\n")):
        mark, _, record = line.partition(" ")
        if record and hmac.compare_digest(hmac.new(key, record.encode(), hashlib.sha256).hexdigest(), mark):
            read: dict[str, Any] = json.loads(record)
            return read
    return None


def _witnessed(task: PatchTask, results: Mapping[str, Any]) -> PatchOutcome:
    """The Python test process's report on each test; void if tests that have to fail passed there."""
    report = _reported(results["said"])
    if report.missing is not None:
        return PatchOutcome(failed=report.missing)
    if report.end is None:
        late = "the time is up" if results["exit"] == 124 else f"exit code {results['exit']}"
        return PatchOutcome(failed=f"the tests' process ended before its tests did ({late})")
    alarm, count = report.end[0], int(report.end[1])
    if not report.alarms_fail(alarm, count):
        return PatchOutcome(failed=f"tests that must fail do not fail with this patch{report.last}")
    problems: dict[str, str] = {}
    for name in task.names:
        runs = report.outcomes.get(dotted(name) if task.form == "unittest" else name, [])
        called = any(when == "call" for when, _, _ in runs)
        problems[name] = _problem(runs) or ("" if called else f"not run{report.last}")
    return PatchOutcome(problems)


@dataclass
class _TestReport:
    outcomes: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    """When, outcome and message of each test's phases, by its name."""
    end: list[str] | None = None
    """The name and number of the tests that have to fail. None if the process ended before its tests."""
    last: str = ""
    """The last problem with collecting tests, to append to a message."""
    missing: str | None = None
    """The requirement that the process did not find. The lines after it are not read."""

    def alarms_fail(self, alarm: str, count: int) -> bool:
        """Whether there are this many tests that have to fail, and each does."""
        alarms = [runs for name, runs in self.outcomes.items() if alarm in name]
        return len(alarms) == count and not any(all(outcome == "passed" for _, outcome, _ in runs) for runs in alarms)


def _reported(lines: Iterable[str]) -> _TestReport:
    report = _TestReport()
    for line in lines:
        kind, *words = json.loads(line)
        if kind == "missing":
            report.missing = str(words[0])
            break
        if kind == "test":
            name, when, outcome, message = words
            report.outcomes.setdefault(name, []).append((when, outcome, message))
        elif kind == "collect":
            report.last = f"; {' '.join(words[1].split())[-300:]}" if words[1].split() else ""
        elif kind == "end":
            report.end = words
    return report


def _problem(runs: Sequence[tuple[str, str, str]]) -> str:
    """The first problem in a test's phases (when, outcome, message); "" if all passed."""
    return next((f"{outcome}: {message}" for _, outcome, message in runs if outcome != "passed"), "")
