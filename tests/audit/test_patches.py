"""What an audit finds in a data set of patches: rows whose own patch fails, and rows that the empty patch passes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from functools import partial

import pytest

from tests.verifiers.patches.forgeries import CALC, TEST
from tests.waiting import until
from verikit.audit import audit
from verikit.sandbox import default_sandbox

if sys.platform != "linux":
    pytest.skip("the local sandbox needs Linux", allow_module_level=True)
if default_sandbox().programs.problem("bash"):
    pytest.skip("no sandbox for programs here", allow_module_level=True)

GOLD = "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n"
CLEAN = {
    "instance_id": "clean", "problem_statement": "Adding subtracts.", "repository": {"calc.py": CALC},
    "tests": {"test_calc.py": TEST}, "FAIL_TO_PASS": '["test_calc.py::test_add"]', "patch": GOLD,
}  # fmt: skip
ROWS = [
    CLEAN,
    {**CLEAN, "instance_id": "wrong gold", "patch": GOLD.replace("a + b", "a * b")},
    {**CLEAN, "instance_id": "stale gold", "patch": GOLD.replace("-    return a - b", "-    return a / b")},
    {**CLEAN, "instance_id": "gold in a test", "patch": GOLD.replace("calc.py", "test_more.py"), "repository":
        {"calc.py": CALC, "test_more.py": CALC}},
    {**CLEAN, "instance_id": "nothing to mend", "repository": {"calc.py": CALC.replace("-", "+")}, "patch": ""},
    {**CLEAN, "instance_id": "unread", "FAIL_TO_PASS": "not json"},
    {"problem": "What is 2 + 2?", "answer": "4"},
]  # fmt: skip


@pytest.mark.parametrize("by", ["", "patch"])
def test_each_fault_of_a_row_is_found_and_the_clean_row_is_left_alone(by, write):
    rows = [{**row, "problem_statement": f"Bug number {number} is here."} for number, row in enumerate(ROWS[:6])]
    found = audit(write(rows), by)
    assert {(f.check, f.id) for f in found.findings if f.check in ("gold_patch", "empty_patch", "unscored")} == {
        ("gold_patch", "wrong gold"), ("gold_patch", "stale gold"), ("gold_patch", "gold in a test"),
        ("empty_patch", "nothing to mend"), ("unscored", "unread"),
    }  # fmt: skip
    assert (found.count("gold_patch").rows, found.count("gold_patch").found) == (4, 3)
    assert (found.count("empty_patch").rows, found.count("empty_patch").found) == (5, 1)
    assert found.count("unscored").found == 1
    told = {f.id: f.what for f in found.of("gold_patch")}
    assert "does not pass: test_calc.py::test_add: failed" in told["wrong gold"]
    assert "does not apply" in told["stale gold"]
    assert "put back: test_more.py" in told["gold in a test"]


def test_the_command_gates_on_rows_of_patches(verikit, write, capsys):
    assert verikit("audit", write([CLEAN]), "--fail-on", "patches", "--json", "-q") == 0
    checks = {check["check"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["gold_patch"]["rows"] == checks["empty_patch"]["rows"] == 1
    assert verikit("audit", write([ROWS[4]]), "--fail-on", "empty_patch", "-q") == 4
    assert "empty_patch: 1 of 1 rows" in capsys.readouterr().err


def test_only_the_rows_that_are_asked_for_are_run(write):
    rows = [{**CLEAN, "instance_id": str(n), "problem_statement": f"Bug {n} of {n + 7}."} for n in range(3)]
    found = audit(write(rows), probed=1)
    assert found.count("gold_patch").rows == found.count("empty_patch").rows == found.probed == 1
    assert any("tried on 1 of 3 rows" in notice for notice in found.notices)


def test_rows_of_answers_are_not_run_as_patches(write):
    found = audit(write(ROWS[-1:]))
    assert found.count("gold_patch").rows == 0
    assert found.by == ""


def many(count):
    return [
        {
            **CLEAN,
            "instance_id": str(n),
            "problem_statement": f"Bug {n} of {n + 7}.",
            "repository": {"calc.py": CALC, "n": str(n)},
        }
        for n in range(count)
    ]


def ran(found):
    """A callback that collects how many patches each check runs."""
    return lambda check, texts: found.update({check: texts} if check.endswith("_patch") else {})


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_audit_that_was_cut_off_runs_only_the_patches_that_were_left(number, write, tmp_path):
    file, kept, counts = write(many(5)), tmp_path / "kept", {}
    command = [sys.executable, "-m", "verikit", "audit", file, "-o", kept, "-q"]
    heeding = partial(
        signal.signal, signal.SIGINT, signal.default_int_handler
    )  # a test run in the background ignores it
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=heeding)
    scores = kept / ".patches/scores.jsonl"
    until(lambda: scores.exists() and scores.read_bytes().count(b"\n") >= 2, "two scores")
    process.send_signal(number)
    _, told = process.communicate()
    assert process.returncode
    assert (b"Run the command again to resume" in told) == (number == signal.SIGINT)
    done = scores.read_bytes().count(b"\n")
    again = audit(file, begun=ran(counts), keep=kept)
    assert sum(counts.values()) == 10 - done
    assert [(check.check, check.rows, check.found) for check in again.checks if check.check.endswith("_patch")] == [
        ("gold_patch", 5, 0),
        ("empty_patch", 5, 0),
    ]


def test_a_row_is_run_again_if_it_changed_or_could_not_be_run_and_all_are_with_restart(write, tmp_path):
    rows, counts = [*many(2), {**CLEAN, "instance_id": "no tool chain", "language": "lean"}], {}
    audit(write(rows), keep=tmp_path)
    rows[1]["patch"] = GOLD.replace("a + b", "a * b")
    found = audit(write(rows), begun=ran(counts), keep=tmp_path)
    assert counts == {"gold_patch": 2, "empty_patch": 2}
    assert [finding.id for finding in found.of("gold_patch")] == ["1"]
    audit(write(rows), begun=ran(counts), keep=tmp_path)
    assert counts == {"gold_patch": 1, "empty_patch": 1}
    audit(write(rows), "patch(wall_s=100)", begun=ran(counts), keep=tmp_path)
    assert counts == {"gold_patch": 3, "empty_patch": 3}
    audit(write(rows), begun=ran(counts), keep=tmp_path, resume=False)
    assert counts == {"gold_patch": 3, "empty_patch": 3}
