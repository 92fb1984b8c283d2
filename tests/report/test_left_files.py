"""A sample of a score run lists the files that the agent left, with the checks that read each and their results."""

import json
from dataclasses import replace

import pytest

from tests.report.conftest import shown, write
from verikit.errors import VerikitError
from verikit.report import report
from verikit.scoring.chunk import SCORES, TREES
from verikit.scoring.sums import read_commits
from verikit.workspaces import Workspace
from verikit.workspaces.readings import MOST_ENTRIES, file_tree

SPEC = "all_of(files(exist=['out/a.csv'], unchanged=['in.csv']), table('out/a.csv', expected=[{'n': 1}]))"
HOSTILE_NAME = "out/</script><script>window.pwned=1</script>\u202egnp.\u200b" + "x" * 300
BEFORE = {"in.csv": "n\n1\n", "old.txt": "old"}
RIGHT = {"in.csv": "n\n1\n", "out/a.csv": "n\n1\n", "out/b.txt": "b"}


def scored(verikit, folder, *workspaces, spec=SPEC, out="run"):
    rows = [{"id": str(i), "prompt": "?", "workspace": told} for i, told in enumerate(workspaces)]
    write(folder / "in.jsonl", rows)
    verikit("score", "in.jsonl", "-v", spec, "-o", out, "-q")
    return folder / out


def files(run):
    return [
        {file["path"]: (file["change"], file["checks"]) for file in item["files"]}
        for item in shown(run)["runs"][0]["items"]
    ]


def test_each_file_has_its_change_and_the_checks_that_read_it(verikit, tmp_path):
    forged = {**RIGHT, "in.csv": "n\n2\n", "out/a.csv": "n\n2\n"}
    right, wrong = files(scored(verikit, tmp_path, *({"before": BEFORE, "after": after} for after in (RIGHT, forged))))
    assert right == {
        "in.csv": ("", [["files unchanged in.csv", 1.0, "ok"]]),
        "old.txt": ("removed", []),
        "out/a.csv": ("added", [["files exist out/a.csv", 1.0, "ok"], ["table", 1.0, "ok"]]),
        "out/b.txt": ("added", []),
    }
    assert wrong["in.csv"] == ("changed", [["files unchanged in.csv", 0.0, "ok"]])
    assert wrong["out/a.csv"] == ("added", [["files exist out/a.csv", 1.0, "ok"], ["table", 0.0, "ok"]])


def test_without_given_files_no_change_is_claimed(verikit, tmp_path):
    [found] = files(scored(verikit, tmp_path, {"after": RIGHT}, spec="files(exist=['in.csv'])"))
    assert {change for change, _ in found.values()} == {""}


def test_a_file_that_may_not_have_been_collected_is_not_called_removed(verikit, tmp_path):
    told = {"before": {**BEFORE, "out/c.csv": ""}, "after": {"out/a.csv": "n\n1\n"}, "outputs": ["out/*.csv"]}
    [found] = files(scored(verikit, tmp_path, told, spec="files(exist=['out/a.csv'])"))
    assert set(found) == {"out/a.csv", "out/c.csv"}
    assert found["out/c.csv"] == ("removed", [])


def test_of_many_files_those_that_a_check_read_are_kept_and_the_rest_is_counted(verikit, tmp_path):
    many = {f"f{i:04}": "" for i in range(1000)} | {"z.txt": "z"}
    run = scored(verikit, tmp_path, {"after": many}, spec="files(exist=['z.txt'])")
    [item] = shown(run)["runs"][0]["items"]
    assert len(item["files"]) == MOST_ENTRIES
    assert item["files"][-1]["path"] == "z.txt"
    assert item["more_files"] == 1001 - MOST_ENTRIES


def test_scores_are_the_same_bytes_and_trees_as_well_whatever_the_jobs(verikit, tmp_path):
    told = [{"before": BEFORE, "after": RIGHT}] * 5
    first, again = (scored(verikit, tmp_path, *told, out=name) for name in ("a", "b"))
    verikit("score", "in.jsonl", "-v", SPEC, "-o", "c", "-q", "--jobs", "2")
    for name in (SCORES, TREES):
        assert len({(run / name).read_bytes() for run in (first, again, tmp_path / "c")}) == 1
    assert "files exist" not in (first / SCORES).read_text()


def test_a_run_without_workspaces_has_no_file_of_them_and_one_put_there_is_noticed(verikit, tmp_path):
    write(tmp_path / "in.jsonl", [{"id": "a", "prompt": "?", "completion": "x", "answer": "x"}])
    for more in ([], [], ["--retry-errors"]):
        verikit("score", "in.jsonl", "-v", "exact", "-o", "run", "-q", *more)
        assert not (tmp_path / "run" / TREES).exists()
    report([tmp_path / "run"])
    (tmp_path / "run" / TREES).write_text('{"id": "a", "line": 1, "index": 0, "files": [], "checks": []}\n')
    with pytest.raises(VerikitError, match=TREES):
        report([tmp_path / "run"])


def test_display_leaves_the_limits_of_later_checks_as_they_are():
    """Files given to the agent that are too many to display are still compared by a check that runs afterwards."""
    workspace = Workspace({"a": ""}, {f"f{i:04}": "" for i in range(1200)} | {"big": "x" * 17 * 2**20})
    assert workspace.digest
    assert workspace.known_before() is None
    assert file_tree(workspace)["files"]
    assert len(workspace.changes().removed) == 1201


def test_a_retried_row_has_the_files_of_its_last_score(verikit, tmp_path):
    (tmp_path / "v.py").write_text(
        "from pathlib import Path\nfrom verikit import Score\n"
        "from verikit.workspaces.grading import WorkspaceVerifier\n"
        "class Late(WorkspaceVerifier):\n    name = 'late'\n    def check(self, workspace, sample):\n"
        "        if sample.id != '0' and not Path('ready').exists():\n            return Score.error('not ready')\n"
        "        return Score(float(bool(workspace.one('in.csv').data())))\n"
    )
    run = scored(verikit, tmp_path, {"after": RIGHT}, {"after": RIGHT}, {"after": RIGHT}, spec="v.py:Late()")
    assert [item["in.csv"][1] for item in files(run)] == [[["late", 1.0, "ok"]], [], []]
    (tmp_path / "ready").touch()
    verikit("score", "in.jsonl", "-v", "v.py:Late()", "-o", "run", "-q", "--retry-errors")
    found = [item["in.csv"][1] for item in files(run)]
    assert found == [[["late", 1.0, "ok"]]] * 3


def test_a_run_of_an_older_version_is_shown_and_retried(verikit, tmp_path):
    """Its folder has no trees, and neither has its record of progress."""
    run = scored(verikit, tmp_path, {"before": BEFORE, "after": RIGHT}, {"after": RIGHT})
    [commit] = read_commits(run)[0]
    kept = {
        part: {name: value for name, value in getattr(commit, part).items() if name != TREES}
        for part in ("sizes", "sums", "blocks")
    }
    (run / ".progress").write_bytes(replace(commit, others={}, **kept).encode())
    (run / TREES).unlink()
    assert files(run) == [{}, {}]
    assert verikit("score", "in.jsonl", "-v", SPEC, "-o", "run", "-q", "--retry-errors") == 3
    assert [bool(found) for found in files(run)] == [False, True], "only the unscored row was scored again"


def test_hostile_names_are_escaped_in_run_and_text(verikit, tmp_path, capsys):
    run = scored(
        verikit, tmp_path, {"after": {HOSTILE_NAME: "", "a\nb": "", "a\x1b[31m": ""}}, spec="files(exist=['*'])"
    )
    [found] = files(run)
    assert {"a\\nb", "a\\x1b[31m"} < set(found)
    assert all(name.isprintable() and len(name) <= 200 for name in found)
    capsys.readouterr()
    verikit("explain", "in.jsonl", "-v", "files(exist=['*'])")
    out = capsys.readouterr().out
    assert " * a\\nb  0 bytes" in out
    assert "\x1b[31m" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize("odd", [
    {"files": 3}, {"files": [3]}, {"files": [{"path": 1, "kind": "file", "bytes": 1}]},
    {"files": [{"path": "a", "kind": "file", "bytes": 1, "checks": [9]}]},
    {"files": [{"path": "a", "kind": "file", "bytes": "<b>", "checks": [0]}]},
    {"files": [{"path": "a", "kind": ["x"], "bytes": 1}]}, {"files": [], "more": "x"},
])  # fmt: skip
def test_a_tree_that_was_edited_is_a_message(verikit, tmp_path, odd):
    run = scored(verikit, tmp_path, {"after": RIGHT})
    row = {"id": "0", "line": 1, "index": 0, "checks": [["a", 1.0]]} | odd
    (run / TREES).write_text(json.dumps(row) + "\n")
    (run / ".progress").unlink()
    with pytest.raises(VerikitError):
        report([run])


def test_a_tree_nested_too_deeply_is_a_message(verikit, tmp_path):
    run = scored(verikit, tmp_path, {"after": RIGHT})
    (run / TREES).write_text('{"line": 1, "index": 0, "files": ' + "[" * 200_000 + "\n")
    (run / ".progress").unlink()
    with pytest.raises(VerikitError, match="damaged"):
        report([run])
