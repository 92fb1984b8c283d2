"""`verikit env compare`: two reports, and which tasks and checks got better or worse."""

import json

import pytest
from click.testing import CliRunner

from tests.env.audit.harbor_tasks import change, sound
from verikit.cli import cli
from verikit.env.audit.compare import read_report
from verikit.errors import UsageError


def run(*words):
    return CliRunner().invoke(cli, ["env", *map(str, words)], standalone_mode=False)


def report(tmp_path, name, edit):
    """The report of three tasks after a change."""
    folder = tmp_path / name
    for number in range(3):
        sound(folder / f"t{number}", number)
    edit(folder)
    run("audit", folder, "-o", tmp_path / f"{name}-out", "-q")
    return tmp_path / f"{name}-out"


def break_schema(task):
    change(task, "task.toml", "[agent]", "[agents]")


def before(folder):
    break_schema(folder / "t0")


def after(folder):
    break_schema(folder / "t1")
    (folder / "t2").rename(folder / "t3")
    change(folder / "t3", "environment/Dockerfile", "@sha256:", "#")


def test_each_change_is_told_by_task_and_check(tmp_path):
    old, new = report(tmp_path, "old", before), report(tmp_path, "new", after)
    told = json.loads(run("compare", old, new / "env-audit.json", "--json").stdout)
    changes = [(one["direction"], one["task"], one.get("check", "")) for one in told["changes"]]
    assert changes == [("better", "t0", "schema"), ("worse", "t1", "schema"), ("new", "t3", ""), ("gone", "t2", "")]
    assert "pass → fail: agents is not a field" in told["changes"][1]["what"]
    assert (told["worse"], told["better"], told["new"], told["gone"]) == (1, 1, 1, 1)
    assert "worse  t1: schema: pass → fail" in run("compare", old, new).stdout


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("schema", 4),
        ("schema.unknown", 4),
        ("schema.wrong", 0),
        ("mode", 0),
        ("pins.image", 4),
        ("all", 4),
        ("gone", 4),
    ],
)
def test_fail_on_counts_what_is_worse_and_new_tasks_that_fail(tmp_path, name, code):
    old, new = report(tmp_path, "old", before), report(tmp_path, "new", after)
    assert run("compare", old, new, "--fail-on", name).return_value == code
    assert run("compare", new, new, "--fail-on", name).return_value == 0


def test_a_finding_that_only_moved_is_no_change(tmp_path):
    old = report(tmp_path, "old", lambda folder: change(folder / "t0", "environment/Dockerfile", "@sha256:", "#"))

    def moved(folder):
        change(folder / "t0", "environment/Dockerfile", "@sha256:", "#")
        change(folder / "t0", "environment/Dockerfile", "FROM", "# one line more\nFROM")

    told = json.loads(run("compare", old, report(tmp_path, "new", moved), "--json").stdout)
    assert told["changes"] == []


def test_a_check_that_cant_decide_any_more_is_worse(tmp_path):
    old = report(tmp_path, "old", lambda folder: None)
    text = 'cat "$OUT/log.txt"\nif pytest'
    new = report(tmp_path, "new", lambda folder: change(folder / "t0", "tests/test.sh", "if pytest", text))
    told = json.loads(run("compare", old, new, "--json").stdout)
    assert [(one["direction"], one["check"]) for one in told["changes"]] == [("worse", "declared")]
    assert "pass → not run" in told["changes"][0]["what"]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"format": "other", "tasks": []}', '{"format": "verikit.env-audit/1", "tasks": [1]}']
)
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(UsageError, match="is not a report of verikit env audit"):
        read_report(tmp_path / "a.json")
