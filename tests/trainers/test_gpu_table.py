"""The script for machines with a GPU, run for real without one."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks/gpu.py"


@pytest.mark.slow(seconds=50)
def test_every_part_is_measured_or_says_which_package_it_lacks(tmp_path):
    table = tmp_path / "table.md"
    done = subprocess.run(
        [sys.executable, SCRIPT, "--device", "cpu", "--small", "-o", table], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = dict(line.strip("| ").split(" | ", 1) for line in table.read_text().splitlines()[4:])
    assert not [row for row in rows.items() if "failed" in row[1]]
    assert "tokens/s" in rows["GRPO, ours, hf"]
    assert "tokens/s" in rows["GRPO, ours, FSDP2 on one rank"]
    assert "largest" in rows["log-probabilities against the trainer: hf"]
    assert "chunked s" in rows["head alone"]
    for row, package in (("GRPO, TRL", "trl"), ("GRPO, Unsloth", "unsloth"), ("vLLM sleeps and wakes", "vllm")):
        assert find_spec(package) or f"no package {package}" in rows[row]
