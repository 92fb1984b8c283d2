"""kill -9 of `judge` and `eval` at random moments: the same command ends in the bytes of a run that was left alone."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.test_folders import KINDS

KILLS = 4 * int(os.environ.get("VERIKIT_FORGERIES", "1"))


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def run(command: tuple[object, ...], folder: Path, cache: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "VERIKIT_CACHE": str(folder / cache)}
    whole = [sys.executable, "-m", "verikit", *map(str, command)]
    return subprocess.Popen(whole, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


@pytest.mark.slow(seconds=30)
@pytest.mark.skipif(sys.platform != "linux", reason="signals")
@pytest.mark.parametrize("kind", ["judge", "eval"])
def test_a_run_killed_at_any_moment_goes_on_to_the_same_bytes(tmp_path: Path, kind: str) -> None:
    command, _ = KINDS[kind](tmp_path)
    start = time.monotonic()
    _, errors = run(command, tmp_path, "whole.sqlite").communicate()
    seconds = time.monotonic() - start
    whole = content(tmp_path / "run")
    assert whole, errors
    (tmp_path / "run").rename(tmp_path / "whole")
    draw = random.Random(kind)
    for number in range(KILLS):
        process = run(command, tmp_path, f"cut{number // 2}.sqlite")
        try:
            process.communicate(timeout=draw.uniform(0.3, 1) * seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        if number % 2:  # twice at most, so that late moments are met as well
            _, errors = run(command, tmp_path, f"cut{number // 2}.sqlite").communicate()
            assert content(tmp_path / "run") == whole, errors.decode()
            (tmp_path / "run").rename(tmp_path / f"done{number}")
