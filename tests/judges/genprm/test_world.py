"""The example world of a tiny GenPRM: its teacher is truthful, and a short run shows what executing code is worth."""

import json
import os
import random
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from verikit.judges.genprm import GenPRM
from verikit.sandbox import LocalSandbox

EXAMPLE = ROOT / "examples/genprm"
sys.path.insert(0, str(EXAMPLE))
world = pytest.importorskip("world")


def test_the_teachers_code_prints_what_it_says_and_its_verdicts_follow_the_slips():
    draw = random.Random(0)
    with LocalSandbox() as box:
        for _ in range(12):
            asked = world.problem(draw)
            steps, wrong = world.solution(asked, draw, slip=0.4)
            said = [
                message["content"] for message in world.review(asked, steps, wrong) if message["role"] == "assistant"
            ]
            for text, label in zip(said, world.labels(wrong), strict=True):
                code, _, rest = text.partition("\n```python\n")[2].partition("\n```\n")
                assert rest[1:].startswith(box.run(code).stdout.strip() + "]")
                assert ("{Yes}" in rest) is label


def test_a_solution_without_slips_ends_in_the_answer():
    draw = random.Random(1)
    for _ in range(50):
        asked = world.problem(draw)
        steps, wrong = world.solution(asked, draw, slip=0.3)
        if not any(wrong):
            assert steps[-1].endswith(f"={asked.answer}")


def test_its_protocol_is_one_that_genprm_reads():
    assert GenPRM("replay:none.jsonl", protocol=str(EXAMPLE / "tiny.toml")).file.code_end == "\n```\n"


@pytest.mark.slow
def test_a_short_seed_shows_that_execution_finds_what_reading_does_not(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    command = [sys.executable, str(EXAMPLE / "prove.py"), str(tmp_path / "out"), "--short", "--steps", "700"]
    done = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads((tmp_path / "out/figures.json").read_text())
    run, read = found["full, T=0"], found["unexecuted, T=0"]
    print(found)
    assert run["AUC"] >= 0.9
    assert run["AUC up to the first error"] >= read["AUC up to the first error"] + 0.15
    assert read["AUC of result errors"] < 0.65 < 0.9 < run["AUC of result errors"]
    assert found["best of 8"]["min"] >= found["best of 8"]["majority"] + 0.05
