"""What an audit finds in a data set of workspaces: rewards that pay for a task that was not done."""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import tarfile

import pytest

from verikit.audit import audit

GIVEN = {"in.txt": "3 4", "notes/a.txt": "old"}
TASK = {"before": GIVEN, "outputs": ["sum.txt", "notes/**"]}
DONE = {**TASK, "after": {**GIVEN, "sum.txt": "7\n"}}
ROW = {"id": "sum", "prompt": "Write the sum of in.txt into sum.txt.", "answer": "7", "workspace": TASK}
GIVEN_IS_PAID = "what the agent was given"
EMPTY, TEXT = "empty files of the right names", "the task's text in the files"
CLAIM, NOTHING = "a file that claims a reward", "nothing"


def paid(write, by, *rows):
    """By id of the row, the workspaces that solve nothing and are paid."""
    found = {}
    for finding in audit(write(rows), by).of("undone"):
        found.setdefault(finding.id, set()).add(finding.transform)
    return found


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("files(exist=['sum.txt'])", {EMPTY, TEXT}),
        ("files(exist=['in.txt'])", {GIVEN_IS_PAID, CLAIM, EMPTY, TEXT}),
        ("files(unchanged=['in.txt'])", {GIVEN_IS_PAID, CLAIM}),
        ("files(absent=['in.txt'])", {NOTHING}),
        ("files(exist=['reward.txt'])", {CLAIM, EMPTY, TEXT}),
        ("files(content={'sum.txt': 'regex(\"sum\")'})", {TEXT}),
        ("files(content={'sum.txt': 'exact'})", set()),
        ("all_of(files(exist=['sum.txt']), files(content={'sum.txt': 'exact'}))", set()),
    ],
)
@pytest.mark.parametrize("workspace", [TASK, DONE], ids=["a task", "a task with a trial"])
def test_a_workspace_that_solves_nothing_and_is_paid_is_found(by, names, workspace, write):
    row = {**ROW, "workspace": {**workspace, "outputs": ["*.txt", "notes/**"]}}
    assert paid(write, by, row).get("sum", set()) == names


def test_paths_of_a_row_start_from_the_folder_of_its_file(write, tmp_path):
    (tmp_path / "given").mkdir()
    (tmp_path / "given/sum.txt").write_text("7\n")
    row = {"id": "done", "prompt": "Write the sum.", "answer": "7", "workspace": {"before": "given", "outputs": ["*"]}}
    assert paid(write, "files(content={'sum.txt': 'exact'})", row) == {"done": {GIVEN_IS_PAID, CLAIM}}


def test_a_row_whose_outputs_leave_out_what_is_graded_or_whose_workspace_is_none_is_unscored(write):
    other = {**ROW, "id": "other", "workspace": {"after": {"a.csv": "x"}, "outputs": ["*.csv"]}}
    broken = {**ROW, "id": "broken", "workspace": {"after": 5}}
    found = audit(write([ROW, other, broken]), "files(content={'sum.txt': 'exact'})")
    told = {finding.id: finding.what for finding in found.of("unscored")}
    assert set(told) == {"other", "broken"}
    assert "sum.txt is in no output that the task declares" in told["other"]
    assert (found.count("undone").rows, found.count("undone").found) == (1, 0)


def test_gold_answers_of_such_rows_are_not_tried_as_texts(write):
    found = audit(write([{**ROW, "workspace": DONE}]), "files(content={'sum.txt': 'exact'})")
    assert {count.check for count in found.checks if count.rows and count.found} == set()
    assert found.count("near_miss").rows == found.count("hack").rows == 0


def test_rewards_of_texts_are_tried_on_texts_whatever_workspace_a_row_has(write):
    found = audit(write([ROW]), "answer")
    assert (found.count("itself").rows, found.count("undone").rows) == (1, 0)


def test_the_command_gates_on_rows_with_workspaces(verikit, write, capsys):
    assert verikit("audit", write([ROW]), "--by", "files(exist=['sum.txt'])", "--fail-on", "workspaces", "-q") == 4
    assert "rewarded (1): empty files of the right names" in capsys.readouterr().out
    sound = "files(content={'sum.txt': 'exact'})"
    assert verikit("audit", write([ROW]), "--by", sound, "--fail-on", "workspaces", "--json", "-q") == 0
    checks = {check["check"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert (checks["undone"]["rows"], checks["undone"]["found"]) == (1, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/fd")
def test_many_rows_with_archives_hold_few_files_open(write, tmp_path):
    with tarfile.open(tmp_path / "given.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("in.txt"), io.BytesIO())
    told = {"before": "given.tar", "after": "given.tar", "outputs": ["*.txt"]}
    rows = [{**ROW, "id": str(number), "prompt": f"Task {number}", "workspace": told} for number in range(240)]
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_now = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + 330, limits[1]))
    try:
        found = audit(write(rows), "files(content={'sum.txt': 'exact'})", repeats=1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert {(probe.rows, probe.unscored) for probe in found.probes} == {(240, 0)}
