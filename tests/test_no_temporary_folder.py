"""A machine on which no temporary folder can be written: commands say so and what to do about it."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("limits of file size are used, as Linux has them", allow_module_level=True)

ROW = {"id": "1", "prompt": "?", "completion": "def f(x): return x", "answer": "4", "tests": ["assert f(2) == 2"]}


def without_files(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command where no byte can be written into a file, so that Python finds no temporary folder."""
    (folder / "rows.jsonl").write_text(json.dumps(ROW) + "\n")
    return subprocess.run(
        [sys.executable, "-m", "verikit", *arguments], cwd=folder, capture_output=True, text=True, timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )  # fmt: skip


SERVE = pytest.param(
    ("serve", "--sandbox", "--port", "0"),
    marks=pytest.mark.skipif(find_spec("uvicorn") is None, reason="needs uvicorn"),
)


@pytest.mark.parametrize("arguments", [("doctor",), ("score", "rows.jsonl", "-v", "code", "-o", "-"), SERVE])
def test_a_command_that_needs_a_temporary_folder_ends_with_a_message(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = without_files(tmp_path, *arguments)
    assert done.returncode == 1, done.stderr
    assert "Error: No usable temporary directory found in" in done.stderr
    assert "Hint: set TMPDIR to a folder that can be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_command_that_needs_none_does_its_work(tmp_path: Path) -> None:
    done = without_files(tmp_path, "explain", "--completion", "It is 4.", "--answer", "4")
    assert done.returncode == 0, done.stderr
    assert "gold: 4" in done.stdout
