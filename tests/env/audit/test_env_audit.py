"""`verikit env audit`: each planted fault is found by its check, and sound tasks raise no alarm."""

import json

import pytest
from click.testing import CliRunner

from tests.env.audit.harbor_tasks import FAULTS, NEAR_MISSES, change, put, sound
from verikit.cli import cli
from verikit.env.audit import ENV_CHECKS, audit_tasks
from verikit.env.audit.checks import kinds


def found(folder):
    """The kinds of findings of a folder's only task."""
    (record,) = audit_tasks(folder)
    assert not [one for one in record.checks.values() if one.status == "error"], record.checks
    return {f"{check}.{one.kind}" for check, result in record.checks.items() for one in result.findings}


@pytest.mark.parametrize("number", range(12))
def test_a_sound_task_passes_every_check(tmp_path, number):
    (record,) = audit_tasks(sound(tmp_path / "t", number))
    assert {check: result.status for check, result in record.checks.items()} == dict.fromkeys(ENV_CHECKS, "pass")


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_by_its_check(tmp_path, name):
    kind, plant = FAULTS[name]
    for number in (0, 1):
        folder = sound(tmp_path / f"{number}", number)
        plant(folder)
        assert kind in found(folder)


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_no_fault(tmp_path, name):
    for number in (0, 1):
        folder = sound(tmp_path / f"{number}", number)
        NEAR_MISSES[name](folder)
        assert found(folder) == set()


def many(folder, numbers):
    for number in numbers:
        sound(folder / f"t{number:02}", number)
    return folder


def run(*words):
    return CliRunner().invoke(cli, ["env", "audit", *map(str, words), "-q"], standalone_mode=False)


def test_the_same_task_in_other_words_is_found_within_a_split_and_between_splits(tmp_path):
    many(tmp_path / "train", range(6))
    many(tmp_path / "test", range(20, 24))
    sound(tmp_path / "test" / "again", 2)
    sound(tmp_path / "train" / "zz", 3)
    change(tmp_path / "test/again", "instruction.md", "Read", "Please read the file")
    change(tmp_path / "test/again", "environment/Dockerfile", "WORKDIR", "# another line\nWORKDIR")
    found = {
        record.task: [finding.kind for finding in record.checks["alike"].findings]
        for record in audit_tasks(tmp_path)
        if record.checks["alike"].findings
    }
    assert found == {"train/t02": ["leak"], "train/zz": ["duplicate"]}


def test_tasks_of_one_template_with_other_data_are_different_tasks(tmp_path):
    for number in range(40):
        folder = sound(tmp_path / f"t{number}", 0)
        change(
            folder, "environment/" + next((folder / "environment").glob("*.csv")).name, "day,sold", f"day,sold{number}"
        )
    assert all(record.checks["alike"].status == "pass" for record in audit_tasks(tmp_path))


def test_tasks_without_instructions_are_alike_only_if_their_tests_are(tmp_path):
    """As templates are, whose instructions are written later: one image, no data, other tests."""
    for name, script in (("a", "check.py"), ("b", "analyze.py"), ("c", "check.py")):
        (tmp_path / name / "tests").mkdir(parents=True)
        (tmp_path / name / "task.toml").write_text('schema_version = "1.4"\n[environment]\ndocker_image = "python:3"\n')
        (tmp_path / name / "tests/test.sh").write_text(f"#!/bin/bash\npython /tests/{script}\n")
    found = {record.task: record.checks["alike"].findings for record in audit_tasks(tmp_path)}
    assert {name: [one.kind for one in findings] for name, findings in found.items()} == {
        "a": [], "b": [], "c": ["duplicate"],
    }  # fmt: skip


def test_a_variable_in_a_path_is_undecided_and_no_pass(tmp_path):
    folder = sound(tmp_path / "t", 0)
    change(folder, "tests/test.sh", "if pytest", 'cat "$OUT/log.txt"\nif pytest')
    (record,) = audit_tasks(folder)
    assert record.checks["declared"].status == "not_run"
    assert "$OUT/log.txt" in record.checks["declared"].needs


def test_a_newer_schema_is_not_run(tmp_path):
    folder = sound(tmp_path / "t", 0)
    change(folder, "task.toml", '"1.4"', '"1.9"')
    (record,) = audit_tasks(folder)
    assert record.checks["schema"].status == "not_run"


def test_steps_are_looked_at_one_by_one(tmp_path):
    folder = sound(tmp_path / "t", 0)
    text = (folder / "task.toml").read_text().replace('environment_mode = "separate"\n', "")
    steps = '[[steps]]\nname = "one"\n[steps.verifier]\nenvironment_mode = "separate"\n[[steps]]\nname = "two"\n'
    put(folder, "task.toml", text + steps)
    for name in ("one", "two"):
        put(folder, f"steps/{name}/instruction.md", (folder / "instruction.md").read_text())
    (record,) = audit_tasks(folder)
    assert [one.what.partition(":")[0] for one in record.checks["mode"].findings] == ["step two"]


def test_the_report_has_every_check_of_every_task(tmp_path):
    folder = many(tmp_path / "tasks", range(3))
    change(folder / "t01", "task.toml", "[agent]", "[agents]")
    told = run(folder, "--json")
    report = json.loads(told.stdout)
    assert (report["format"], report["count"], told.return_value) == ("verikit.env-audit/1", 3, 0)
    assert [task["task"] for task in report["tasks"]] == ["t00", "t01", "t02"]
    assert all(list(task["checks"]) == list(ENV_CHECKS) for task in report["tasks"])
    (finding,) = report["tasks"][1]["checks"]["schema"]["findings"]
    assert finding == {
        "kind": "unknown",
        "what": "agents is not a field of the format; did you mean agent?",
        "where": "task.toml",
    }
    assert report["checks"]["schema"] == {"pass": 2, "fail": 1, "error": 0, "not_run": 0}
    assert report["findings"] == {"schema.unknown": 1}


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ([], 0),
        (["mode"], 0),
        (["schema"], 4),
        (["schema=50%"], 0),
        (["schema.unknown"], 4),
        (["schema.wrong"], 0),
        (["all"], 4),
        (["not_run"], 0),
    ],
)
def test_fail_on_is_the_exit_code(tmp_path, limits, code):
    folder = many(tmp_path / "tasks", range(2))
    change(folder / "t01", "task.toml", "[agent]", "[agents]")
    told = run(folder, *(word for limit in limits for word in ("--fail-on", limit)), "--junit", tmp_path / "j.xml")
    assert told.return_value == code
    junit = (tmp_path / "j.xml").read_text()
    assert ("<failure" in junit) == (code == 4)
    assert ("schema: t01: unknown: agents is not a field" in junit) == (code == 4)  # CI shows what to change
    assert told.stderr.count("schema") == any(limit.startswith("schema") for limit in limits) * (code == 4)


def test_gates_for_ci_have_no_passwords(tmp_path):
    folder = sound(tmp_path / "t", 0)
    put(folder, "environment/Dockerfile", "FROM https://me:hunter2@reg.example/x:latest\n")
    run(folder, "--fail-on", "pins", "--junit", tmp_path / "j.xml")
    junit = (tmp_path / "j.xml").read_text()
    assert "@reg.example/x" in junit
    assert "hunter2" not in junit


def test_a_task_that_cant_be_read_fails_the_command_and_passes_no_check(tmp_path):
    folder = many(tmp_path / "tasks", range(2))
    put(folder / "t01", "task.toml", "[task")
    told = run(folder, "--json")
    assert told.return_value == 4
    assert {one["status"] for one in json.loads(told.stdout)["tasks"][1]["checks"].values()} == {"error"}
    assert run(folder, "--fail-on", "error=50%").return_value == 0


def test_an_unknown_check_is_refused_by_name(tmp_path):
    told = CliRunner().invoke(cli, ["env", "audit", str(sound(tmp_path / "t", 0)), "--fail-on", "schma"])
    assert told.exit_code == 2
    assert "check 'schma' not found (did you mean schema?" in told.output
    assert kinds("mode.exit") == [("mode", "exit")]


def without_seconds(path):
    report = json.loads(path.read_text())
    for task in report["tasks"]:
        del task["seconds"]
    return report


def test_an_audit_that_broke_off_goes_on_and_sees_changed_tasks(tmp_path, monkeypatch):
    folder, out = many(tmp_path / "tasks", range(6)), tmp_path / "out"
    begun = audit_tasks(folder, keep=out)
    next(begun), next(begun), next(begun)
    begun.close()
    with open(out / ".tasks" / "tasks.jsonl", "ab") as stream:
        stream.write(b'{"key": "cut o')  # killed while it wrote
    change(folder / "t01", "task.toml", "[agent]", "[agents]")
    looked = []
    real = ENV_CHECKS["schema"].look
    monkeypatch.setitem(
        ENV_CHECKS, "schema", ENV_CHECKS["schema"]._replace(look=lambda task: looked.append(task.name) or real(task))
    )
    assert run(folder, "-o", out).return_value == 0
    assert looked == ["t01", "t03", "t04", "t05"]
    first = without_seconds(out / "env-audit.json")
    assert run(folder, "-o", out).return_value == 0
    assert looked[4:] == []
    assert run(folder, "-o", tmp_path / "new").return_value == 0
    assert first == without_seconds(out / "env-audit.json") == without_seconds(tmp_path / "new" / "env-audit.json")


def test_the_terminal_shows_checks_findings_and_gaps(tmp_path):
    folder = many(tmp_path / "tasks", range(2))
    change(folder / "t01", "tests/test.sh", "if pytest", 'cat "$OUT/log.txt"\nif pytest')
    change(folder / "t00", "environment/Dockerfile", "@sha256:", "#")
    text = run(folder).stdout
    assert "t00: image: FROM python:3.13-slim#" in text
    assert "not run: the value of $OUT/log.txt" in text
    assert "2 tasks in 0:0" in text
    assert ", digest" in text
    assert "(1 task)" in text


def test_a_finding_of_the_script_names_its_line(tmp_path):
    folder = sound(tmp_path / "t", 0)
    put(folder, "tests/test.sh", "apt-get update\napt-get install -y curl\necho 1 > /logs/verifier/reward.txt\n")
    (record,) = audit_tasks(folder)
    assert [one.where for one in record.checks["pins"].findings] == ["tests/test.sh:2"]
