"""`verikit explain` prints its own words only: nothing of the verifier's on stdout, nothing a terminal would obey."""

import json
import subprocess
import sys

import pytest

from verikit.cli.marks import marked

CODE = """
from verikit import Score, verifier

@verifier
def loud(sample):
    print("not a result")
    return Score(1.0, answer="\\x1b[2J\\ud800", reason="a\\n\\tb\\x07")
"""


def explain(folder, *arguments):
    command = [sys.executable, "-m", "verikit", "explain", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "loud.py").write_text(CODE)
    (tmp_path / "rows.jsonl").write_text('{"prompt": "?", "completions": ["5"], "answer": "5"}\n')
    return tmp_path


def test_what_a_verifier_prints_and_control_characters_stay_out_of_the_output(folder):
    told = explain(folder, "rows.jsonl", "-v", "loud.py:loud")
    assert told.stdout == "loud: 1  (a\n    b )\n  extracted:  [2J \n   reply | 5\n"
    as_json = explain(folder, "rows.jsonl", "-v", "loud.py:loud", "--json")
    assert json.loads(as_json.stdout) | {"seconds": 0} == {
        "value": 1.0, "status": "ok", "answer": "\x1b[2J?", "reason": "a\n\tb\x07",
        "parts": {}, "steps": [], "usage": {}, "seconds": 0, "text": "",
    }  # fmt: skip


def test_what_a_reward_for_training_would_refuse_is_told(folder):
    told = explain(folder, "--completion", r"\boxed{\gcd(84, 36)}", "--answer", "12").stdout
    assert told.startswith("answer: 1  (")
    assert "as a reward for training: 0  (unevaluated: the answer still has gcd; see echo_guard)" in told
    assert "training" not in explain(folder, "--completion", r"\boxed{12}", "--answer", "12").stdout
    told = explain(folder, "-v", "echo_guard(answer)", "--completion", r"\boxed{\gcd(84, 36)}", "--answer", "12").stdout
    assert told.startswith("echo_guard: 0  (unevaluated: the answer still has gcd)")
    assert "as a reward" not in told


def test_a_gold_beside_a_file_is_refused_rather_than_ignored(folder):
    done = explain(folder, "rows.jsonl", "--answer", "6")
    assert done.returncode == 2
    assert "--answer and --prompt go with --completion" in done.stderr


def test_thoughts_reply_and_the_extracted_answer_are_marked_in_the_text(folder):
    text = "<think>Is it \\boxed{41}?\nNo.</think>\nSo it is \\boxed{42}, not 41."
    shown = explain(folder, "--completion", text, "--answer", "42").stdout
    assert shown.endswith(
        "thoughts | Is it \\boxed{41}?\n"
        "thoughts | No.\n"
        "   reply | So it is \\boxed{42}, not 41.\n"
        "         |                 ^^ extracted\n"
    )


def test_the_mark_is_found_in_long_lines_and_texts():
    lines = list(marked("\n".join(["word"] * 60) + "\n" + "x" * 900 + " 7 " + "y" * 900, "7", "reply"))
    assert len(lines) < 30
    assert "… " in lines[6]
    row, carets = lines[-2:]
    assert len(row) < 250
    assert row[carets.index("^")] == "7"


def test_an_answer_that_does_not_stand_in_the_text_is_not_marked():
    assert list(marked("a\tb", "c", "reply")) == ["   reply | a b"]
