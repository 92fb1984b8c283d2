"""Hostile programs in other languages, a language in one cage; skipped where no cage or tool chain is.

A third of each kind runs here; `VERIKIT_HOSTILE=all` runs all, for a quarter of an hour.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from tests.hostile import languages
from tests.hostile.test_hostile import HERE, cage_problem
from verikit.sandbox.toolchains import Missing, toolchain

SECONDS = {"rust": 75, "java": 65, "go": 45}
"""CPU seconds of the languages whose compilers are slow."""


def caged(language: str, programs: list[dict[str, str]]) -> dict[str, Any]:
    if problem := cage_problem():
        pytest.skip(problem)
    chain = toolchain(language)
    if isinstance(chain, Missing):
        pytest.skip(f"no tool chain for {language}: {chain.install}")
    root = str(HERE.parents[1])
    own = [path for path in (*chain.tools, *chain.run_tools) if not path.startswith(("/usr", "/bin", "/lib", "/etc"))]
    job = {
        "program": {"language": language, "programs": programs}, "user": 0, "deny_namespaces": False,
        "keep": [sys.prefix, sys.base_prefix, root, *own], "pythonpath": root,
        "path": "".join(f"{path}/bin:" for path in own),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(HERE / "stage.py")], input=json.dumps(job), capture_output=True, text=True, timeout=1600
    )
    lines = done.stdout.strip().splitlines()
    assert lines, done.stderr[-1500:]
    seen: dict[str, Any] = json.loads(lines[-1])
    return seen


def check(seen: dict[str, Any]) -> None:
    if seen.get("status") == "absent":
        pytest.skip(seen["text"])
    assert seen["failures"] == [], seen
    assert seen["bad"] == [], seen
    assert seen["latest"] < 100, seen  # a compiler gets 12 s of CPU time


def chosen(programs: list[dict[str, str]]) -> list[dict[str, str]]:
    """All programs where asked for, else the first of each kind and every third after it."""
    if os.environ.get("VERIKIT_HOSTILE") == "all":
        return programs
    seen: Counter[str] = Counter()
    found = []
    for program in programs:
        kind = program["id"].split("/")[1]
        found += [program] if seen[kind] % 3 == 0 else []
        seen[kind] += 1
    return found


@pytest.mark.parametrize(
    "language", [pytest.param(name, marks=pytest.mark.slow(seconds=SECONDS.get(name, 30))) for name in languages.NAMES]
)
def test_hostile_programs_of_a_language_are_held(language: str) -> None:
    check(caged(language, chosen(languages.programs(language))))


def test_a_few_shell_programs_are_held() -> None:
    quick = {"read/0", "write/0", "fork/daemon", "signal/all", "spoof/replace"}
    check(caged("bash", [p for p in languages.programs("bash") if p["id"].partition("/")[2] in quick]))


def test_there_are_sixty_programs_a_language() -> None:
    assert all(len(languages.programs(name)) >= 60 for name in languages.NAMES)
