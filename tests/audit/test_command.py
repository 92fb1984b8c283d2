"""`verikit audit`: what it prints, what it keeps, and the exit code."""

import json

import pytest

from tests.report.conftest import island, table
from verikit.report import Options, report

ROWS = [{"problem": f"What is number {i} of the list?", "answer": str(i * 7)} for i in range(6)]
BAD = [*ROWS, {"problem": "And in the end?", "answer": ""}]


def test_checks_hacks_and_examples_are_printed(write, verikit, capsys):
    assert verikit("audit", write(BAD), "--by", "boxed", "-q") == 0
    told = capsys.readouterr().out
    assert "7 rows, boxed tried on 7" in told
    assert "line 7, id line:7: the gold is empty" in told
    assert "I don't know as the answer" in told


@pytest.mark.parametrize(
    ("rows", "limits", "code"),
    [
        (BAD, [], 0),
        (BAD, ["golds"], 4),
        (BAD, ["empty=20%"], 0),
        (BAD, ["all"], 4),
        (BAD, ["hack"], 0),
        (ROWS, ["all"], 0),
        (ROWS, ["nonsense"], 2),
    ],
)
def test_the_exit_code_is_that_of_the_checks_that_are_asked_for(rows, limits, code, write, verikit):
    asked = [word for limit in limits for word in ("--fail-on", limit)]
    assert verikit("audit", write(rows), "--by", "answer", "-q", *asked) == code


REWARDS = """
def broken(completion, answer):
    raise KeyError("the difficulty of the row")

def batch(prompts, completions, answer, **columns):
    return [float(f"{{{gold}}}" in text) for text, gold in zip(completions, answer)]
"""


@pytest.mark.parametrize("limits", [[], ["--fail-on", "itself", "--fail-on", "hack"], ["--fail-on", "all"]])
def test_a_reward_that_fails_on_every_row_fails_the_audit_in_its_own_words(limits, write, verikit, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(REWARDS)
    assert verikit("audit", write(ROWS), "--by", "mine.py:broken", "-q", *limits) == 4
    told = capsys.readouterr().err
    assert "unscored: 6 of 6 rows" in told
    assert "KeyError: 'the difficulty of the row' (mine.py:3)" in told


def test_rows_without_a_score_may_be_allowed(write, verikit, tmp_path):
    (tmp_path / "mine.py").write_text(REWARDS)
    asked = ["--fail-on", "unscored=100%", "--fail-on", "hack"]
    assert verikit("audit", write(ROWS), "--by", "mine.py:broken", "-q", *asked) == 0


def test_a_reward_function_of_a_batch_is_tried(write, verikit, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(REWARDS)
    assert verikit("audit", write(ROWS), "--by", "mine.py:batch", "-q", "--fail-on", "itself") == 0
    assert "answers of kind number are rewarded in the form 'boxed'" in capsys.readouterr().out


def test_the_help_names_the_real_exit_code(verikit, capsys):
    assert verikit("audit", "--help") == 0
    assert "Exit with 4 if CHECK" in " ".join(capsys.readouterr().out.split())


def test_json_and_the_folder_hold_the_same_counts_and_every_finding(write, verikit, capsys, tmp_path):
    assert verikit("audit", write(BAD), "--by", "answer", "-q", "--json", "-o", "kept") == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((tmp_path / "kept/audit.json").read_text("utf-8"))
    assert {"check": "empty", "rows": 7, "found": 1} in told["checks"]
    findings = [json.loads(line) for line in (tmp_path / "kept/findings.jsonl").read_text("utf-8").splitlines()]
    assert [finding["check"] for finding in findings] == ["empty"]


def test_the_page_shows_checks_and_findings_as_data(write, verikit, tmp_path):
    hostile = [*BAD, {"problem": "</script><script>alert(1)</script>?", "answer": "</script>\ufffd"}]
    assert verikit("audit", write(hostile), "--by", "boxed", "-q", "-o", "kept") == 0
    page = report([tmp_path / "kept"], Options())
    assert b"<script>alert" not in page
    run = island(page)["runs"][0]
    assert run["kind"] == "audit"
    assert ["empty", "a missing gold answer, or one that states that there is no answer", 1, 8] in table(run, "Checks")[
        "rows"
    ]
    assert len(table(run, "Hacks")["rows"]) > 15
    assert {item["verdict"] for item in run["items"]} >= {"empty", "unreadable", "hack"}


def test_a_damaged_folder_is_a_message(write, verikit, tmp_path, capsys):
    assert verikit("audit", write(BAD), "-q", "-o", "kept") == 0
    (tmp_path / "kept/audit.json").write_text('{"checks": [{"nonsense": 1}]}')
    assert verikit("report", "kept", "--html", "x.html") == 2
    assert "damaged" in capsys.readouterr().err
