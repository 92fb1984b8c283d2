"""Hostile programs of our own, each in a cage of its own; skipped where no cage can be had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = [json.loads(line) for line in (HERE / "programs.jsonl").read_text().splitlines()]
QUICK = {"net/dgram_pair", "fs/traversal", "signal/owner", "spoof/encoder", "leak/server_memory", "fork/clone_raw"}
MODES = {"root": (0, False), "root-denied": (0, True), "user": (65534, False), "user-denied": (65534, True)}


def caged(program: dict, user: int, deny: bool, *, over_http: bool = False) -> dict:
    root = str(HERE.parents[1])
    keep = [sys.prefix, sys.base_prefix, root]
    job = {"program": program, "user": user, "deny_namespaces": deny, "keep": keep, "pythonpath": root,
           "over_http": over_http}  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(HERE / "stage.py")], input=json.dumps(job), capture_output=True, text=True, timeout=120
    )
    lines = done.stdout.strip().splitlines()
    assert lines, done.stderr[-1500:]
    return json.loads(lines[-1])


@cache
def cage_problem() -> str:
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a cage needs root on Linux"
    try:
        found = caged({"id": "none", "code": "print('fine')"}, 0, False)
    except (AssertionError, OSError) as error:
        return f"no cage here: {error}"
    return "" if found.get("status") == "ok" else f"no cage here: {found}"


def check(program: dict, mode: str, *, over_http: bool = False) -> None:
    if problem := cage_problem():
        pytest.skip(problem)
    seen = caged(program, *MODES[mode], over_http=over_http)
    assert seen["failures"] == [], seen
    assert seen["status"] in program.get(
        "status", ["error", "timeout", "ok", "killed", "violation", "memory", "disk"]
    ), seen
    assert program.get("never", "\0") not in seen["text"], seen
    assert not seen.get("verdict"), seen
    assert "then" not in program or seen["then"].strip() == "clean", seen


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p["id"] in QUICK], ids=lambda p: p["id"])
def test_a_hostile_program_is_held(program: dict) -> None:
    check(program, "root")


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p["id"])
def test_a_hostile_program_is_held_in_every_mode(program: dict, mode: str) -> None:
    check(program, mode)


ALL = os.environ.get("VERIKIT_HOSTILE") == "all"


@pytest.mark.parametrize("program", [p for p in PROGRAMS if ALL or p["id"] in QUICK], ids=lambda p: p["id"])
def test_a_hostile_program_is_held_behind_a_server(program: dict) -> None:
    """A sample of the programs; `VERIKIT_HOSTILE=all` sends all of them."""
    pytest.importorskip("uvicorn")
    pytest.importorskip("prometheus_client")
    check(program, "root", over_http=True)


def test_there_are_forty_programs_with_names_of_their_own() -> None:
    assert len({p["id"] for p in PROGRAMS}) == len(PROGRAMS) >= 40
