"""`env audit` of rows that name the spec which grades them: its form, and runs on the files of the row's oracle."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from verikit.env.audit import audit_tasks
from verikit.env.audit.checks import RUNNING_CHECKS
from verikit.env.audit.formats.row_specs import _loaded, spec_of_row
from verikit.env.audit.run import AuditSums
from verikit.env.audit.running.run import RunningChecks
from verikit.errors import SpecError, UsageError
from verikit.names.spec import load
from verikit.types import Sample
from verikit.workspaces.row import TaskWorkspace

SALES = "city,sold\nOslo,3\nOslo,4\nRome,5\n"
TOTALS = "table('totals.csv', expected=[{'city': 'Oslo', 'sum': 7}, {'city': 'Rome', 'sum': 5}], key=['city'])"


def row(**changes: Any) -> dict[str, Any]:
    """A sound row."""
    told: dict[str, Any] = {
        "id": "t1",
        "prompt": "Sum the sales by city into totals.csv.",
        "workspace": {"before": {"sales.csv": SALES}, "outputs": ["totals.csv"]},
        "checks": ["files(exist=['totals.csv'], unchanged=['sales.csv'])", TOTALS],
        "oracle": {"sales.csv": SALES, "totals.csv": "city,sum\nRome,5\nOslo,7\n"},
    }
    return told | changes


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    """A file of rows."""
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return file


def audited(file: Path, **options: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The checks of the file, and those of each row: the kinds of findings, or the status without one."""
    records = list(audit_tasks(file, run=True, **options))
    told = [
        {name: {one.kind for one in found.findings} or found.status for name, found in record.checks.items()}
        for record in records
    ]
    return told[0], told[1:]


def test_a_sound_row_passes_each_check_that_applies_to_rows(tmp_path):
    of_file, (of_row,) = audited(write(tmp_path, row()))
    assert set(of_file.values()) == {"pass"}
    assert set(of_row) == set(RUNNING_CHECKS)
    assert {name for name, told in of_row.items() if told != "pass"} == {"portable", "resources"}
    assert of_row["portable"] == of_row["resources"] == "not_run"


@pytest.mark.parametrize(
    ("changes", "check", "kind"),
    [
        ({"oracle": {"sales.csv": SALES, "totals.csv": "city,sum\nRome,5\nOslo,8\n"}}, "oracle", "unsolved"),
        ({"oracle": {"sales.csv": "", "totals.csv": "city,sum\nRome,5\nOslo,7\n"}}, "oracle", "unsolved"),
        ({"checks": "files(unchanged=['sales.csv'])"}, "nop", "paid"),
        ({"checks": "files(exist=['totals.csv'])"}, "tamper", "paid"),
        ({"checks": "files(exist=['totals.csv'])"}, "mutants", "empty"),
        ({"checks": f"2 * {TOTALS}"}, "floor", "range"),
        ({"checks": "files(sha256={'totals.csv': '%s'})"}, "honest", "crlf"),
    ],
)
def test_a_planted_fault_of_the_spec_is_found(tmp_path, changes, check, kind):
    import hashlib

    told = row(**changes)
    if "%s" in str(told["checks"]):
        told["checks"] %= hashlib.sha256(told["oracle"]["totals.csv"].encode()).hexdigest()
    _, (of_row,) = audited(write(tmp_path, told))
    assert kind in of_row[check]


def test_a_copy_of_a_given_file_is_not_tried_in_other_forms(tmp_path):
    workspace = {"before": {"draft.txt": "Dear all,\nhello\n"}}
    told = row(
        workspace=workspace, checks="files(same_as={'a.txt': 'draft.txt'})", oracle={"a.txt": "Dear all,\nhello\n"}
    )
    assert audited(write(tmp_path, told))[1][0]["honest"] == "pass"


def test_a_spec_of_an_undeclared_file_is_found_without_running(tmp_path):
    file = write(tmp_path, row(workspace={"before": {"sales.csv": SALES}, "outputs": ["sums.csv"]}))
    (record,) = audit_tasks(file)
    assert [one.kind for one in record.checks["declared"].findings] == ["undeclared"]
    assert record.checks["declared"].findings[0].where == "rows.jsonl:1"


def test_rows_without_a_spec_or_an_oracle_are_not_run(tmp_path):
    bare = row(oracle=None)
    del bare["checks"]
    of_file, of_rows = audited(write(tmp_path, bare))
    assert not of_rows
    assert of_file["oracle"] == of_file["mode"] == of_file["declared"] == "not_run"
    of_file, (of_row,) = audited(write(tmp_path, bare), spec=TOTALS)
    assert of_file["mode"] == of_file["declared"] == "pass"
    assert (of_row["oracle"], of_row["mutants"], of_row["nop"]) == ("not_run", "not_run", "pass")


def test_a_file_and_its_rows_are_counted_separately(tmp_path):
    sums = AuditSums()
    for record in audit_tasks(write(tmp_path, row())):
        sums.add(record)
    assert sums.audited == "1 file"
    sums = AuditSums()
    for record in audit_tasks(write(tmp_path, row(), row(id="t2", prompt="Another.")), run=True):
        sums.add(record)
    assert sums.audited == "1 file, 2 rows"
    assert AuditSums().audited == "0 tasks"


def test_the_commands_spec_replaces_that_of_the_rows(tmp_path):
    file = write(tmp_path, row(checks="files(exist=['totals.csv'])"))
    assert audited(file, spec=TOTALS)[1][0]["tamper"] == "pass"
    with pytest.raises(SpecError):
        list(audit_tasks(file, spec="tabel('totals.csv')"))


def test_a_spec_for_a_folder_without_rows_is_an_error(tmp_path):
    (tmp_path / "task.toml").write_text("")
    with pytest.raises(UsageError, match="has no rows"):
        list(audit_tasks(tmp_path, spec=TOTALS))


@pytest.mark.parametrize(
    "checks",
    [
        "rubric('openai:http://127.0.0.1:9/v1#m')",
        "0.5 * evil.py:grade + 0.5 * exact",
        "evil.py:grade",
        "evil.json",
        "specs.toml#mine",
        "files(content={'a.txt': 'evil.py:grade'})",
        "files(content={'a.txt': \"judge('openai:http://127.0.0.1:9/v1#m')\"})",
        "files(content={'a.txt': \"files(content={'b': 'evil:grade'})\"})",
        "files(content={'a.txt': 'code'})",
        "files((), (), (), (), {}, {}, {'a.txt': ' sql'})",
        "pdf('a.pdf', 'patch')",
        ["files(exist=['a'])", "code"],
        ["files(exist=['a'])), rubric('openai:x'", "exact"],
        "json_schema('/etc/passwd')",
        "html('index.html', shot='/etc/passwd')",
        "regex('(a|aa)+$', timeout_s=1000000)",
        "all_of(harbor_tests(86400), exact)",
        "xlsx('a.xlsx', follows={'A1': ['B1']}, mutations=100000000)",
        "files(content={'a.txt': \"regex('(a|aa)+$', timeout_s=1000)\"})",
    ],
)
def test_a_row_names_neither_code_nor_files_nor_engines_nor_hours(tmp_path, monkeypatch, checks):
    (tmp_path / "evil.py").write_text("raise SystemExit('the code of a row ran')\n")
    (tmp_path / "evil.json").write_text("{}")
    (tmp_path / "specs.toml").write_text("[verifiers]\nmine = 'exact'\n")
    monkeypatch.chdir(tmp_path)
    found = spec_of_row(row(checks=checks))
    assert found.verifier is None
    assert found.foreign or found.problem
    of_file, of_rows = audited(write(tmp_path, row(checks=checks)))
    assert not of_rows
    assert of_file["oracle"] == "not_run"


@pytest.mark.parametrize("text", ["{}.py:grade", "files(content={{'a.txt': '{}.py:grade'}})", "{}.toml#mine"])
def test_the_options_of_a_row_name_no_code(tmp_path, monkeypatch, text):
    (tmp_path / "evil_of_options.py").write_text("open('ran', 'w').close()\ndef grade(sample): return 1.0\n")
    (tmp_path / "evil_of_options.toml").write_text("[verifiers]\nmine = 'evil_of_options.py:grade'\n")
    monkeypatch.chdir(tmp_path)
    told = {"workspace": {"after": {"a.pdf": "x"}}, "pdf": {"text": text.format("evil_of_options")}}
    (score,) = load("pdf('a.pdf', text=['x'])").score(
        [Sample("", "", meta=told, workspace=TaskWorkspace(told["workspace"], None))]
    )
    assert (score.value, (tmp_path / "ran").exists()) == (None, False)
    assert "can't name" in score.reason


def test_columns_may_have_the_names_of_verifiers():
    assert spec_of_row(row(checks=TOTALS.replace("city", "code"))).verifier is not None


@pytest.mark.parametrize("checks", [7, [], "", ["exact", 3], "files(", "files(exists=['a'])", "(" * 9000, "1" * 20_000])
def test_malformed_checks_are_an_error_of_the_row(tmp_path, checks):
    (record,) = audit_tasks(write(tmp_path, row(checks=checks)))
    assert [one.kind for one in record.checks["schema"].findings] == ["wrong"]


@pytest.mark.parametrize("spec", ["docx('a.docx', image=%s)", "xlsx('a.xlsx', mutations=%s)", "all_of(boxed(once=%s))"])
def test_a_number_that_python_does_not_print_is_an_error_of_its_row_only(tmp_path, spec):
    long = spec % f"0x{'f' * 9000}"
    file = write(tmp_path, row(prompt="a", checks=long), row())
    of_file, of_rows = audited(file)
    assert of_file["schema"] == {"wrong"}
    assert [told["oracle"] for told in of_rows] == ["pass"]
    with pytest.raises(SpecError):
        list(audit_tasks(file, spec=long))


def test_a_row_that_can_not_be_prepared_is_an_error_of_its_own(tmp_path, monkeypatch):
    from verikit.env.audit.running import row_runs

    def files(task):
        if "broken" in task.row["prompt"]:
            raise ValueError("it is broken")
        return iter(())

    monkeypatch.setattr(row_runs.RowTask, "_files", files)
    _, of_rows = audited(write(tmp_path, row(prompt="broken"), row()))
    assert [told["oracle"] for told in of_rows] == ["error", "pass"]


def test_trials_of_one_task_are_audited_once_and_from_stored_records(tmp_path, monkeypatch):
    checked = []
    check_row = RunningChecks.check_row
    monkeypatch.setattr(RunningChecks, "check_row", lambda self, one: checked.append(one.where) or check_row(self, one))
    other = row(id="t2")
    other["workspace"] = other["workspace"] | {"after": {"totals.csv": "x"}}
    file = write(tmp_path, row(), other, row(prompt="Sum totals.csv again."))
    first = list(audit_tasks(file, run=True, keep=tmp_path / "out"))
    assert [record.task for record in first] == ["rows.jsonl", "rows.jsonl:1", "rows.jsonl:3"]
    again = list(audit_tasks(file, run=True, keep=tmp_path / "out"))
    assert [record.checks for record in again[1:]] == [record.checks for record in first[1:]]
    assert checked == ["rows.jsonl:1", "rows.jsonl:3"]


def test_a_row_is_audited_again_when_the_spec_in_a_file_has_changed(tmp_path):
    (tmp_path / "data").mkdir()
    file, specs = write(tmp_path / "data", row()), tmp_path / "specs.toml"
    options = {"keep": tmp_path / "out", "spec": f"{specs}#mine"}
    specs.write_text(f'[verifiers]\nmine = "{TOTALS}"\n')
    assert audited(file, **options)[1][0]["tamper"] == "pass"
    specs.write_text("[verifiers]\nmine = \"files(exist=['totals.csv'])\"\n")
    _loaded.cache_clear()  # as in another process
    assert audited(file, **options)[1][0]["tamper"] == {"paid"}


def test_a_row_is_audited_again_when_a_file_that_it_names_has_changed(tmp_path):
    for name, text in row()["oracle"].items():
        (tmp_path / "right").mkdir(exist_ok=True)
        (tmp_path / "right" / name).write_text(text)
    file = write(tmp_path, row(oracle="right"))
    kept = {"keep": tmp_path / "out"}
    assert audited(file, **kept)[1][0]["oracle"] == "pass"
    (tmp_path / "right" / "totals.csv").write_text("city,sum\n")
    assert audited(file, **kept)[1][0]["oracle"] == {"unsolved"}


@pytest.mark.parametrize("before", [".", "./"])
def test_a_row_is_audited_again_when_a_file_of_the_rows_own_folder_has_changed(tmp_path, before):
    (tmp_path / "given.txt").write_text("Dear all,\n")
    told = row(workspace={"before": before}, checks="files(same_as={'a.txt': 'given.txt'})")
    file = write(tmp_path, told | {"oracle": {"a.txt": "Dear all,\n"}})
    out = tmp_path.with_name(f"{tmp_path.name}-out")
    first = [*audit_tasks(file, run=True, keep=out)][1].digest
    (tmp_path / "given.txt").write_text("Hello\n")
    assert first != [*audit_tasks(file, run=True, keep=out)][1].digest


def test_code_of_a_spec_that_has_changed_is_another_spec(tmp_path):
    code = tmp_path / "changed_class.py"
    text = "from verikit import Verifier\nclass V(Verifier):\n    def score_batch(self, samples):\n        return []\n"
    code.write_text(text)
    first = spec_of_row({}, f"{code}:V").identity
    code.write_text(f"{text}# changed\n")
    _loaded.cache_clear()  # as in another process
    assert spec_of_row({}, f"{code}:V").identity != first


def test_an_oracle_is_a_folder_or_a_mapping_inside_of_the_rows_folder(tmp_path):
    (tmp_path / "right").mkdir()
    for name, text in row()["oracle"].items():
        (tmp_path / "right" / name).write_text(text)
    os.symlink("/etc/passwd", tmp_path / "linked")
    file = write(tmp_path, row(oracle="right"), row(prompt="b", oracle="../x"), row(prompt="c", oracle="linked"))
    of_file, of_rows = audited(file)
    assert of_rows[0]["oracle"] == "pass"
    assert of_file["schema"] >= {"outside"}
    assert of_rows[1]["oracle"] == of_rows[2]["oracle"] == "error"


def test_judges_of_a_spec_are_checked_and_not_called(tmp_path):
    spec = f"all_of({TOTALS}, rubric('openai:https://api.openai.com/v1#gpt-4o', rubric=['It is short.']))"
    of_file, (of_row,) = audited(write(tmp_path, row()), spec=spec)
    assert of_file["judge"] == {"model"}
    assert set(of_row.values()) == {"not_run"}


@pytest.mark.parametrize("other", ["exact", "trajectory", "tool_calls", "refusal(wanted=False)", "0.5 * math"])
def test_a_spec_that_reads_the_reply_is_not_run(tmp_path, other):
    _, (of_row,) = audited(write(tmp_path, row(answer="7", checks=["files(exist=['totals.csv'])", other])))
    assert set(of_row.values()) == {"not_run"}


def test_a_verifier_of_text_may_read_a_file(tmp_path):
    checks = "0.5 * files(content={'totals.csv': \"regex('7')\"}) + 0.5 * files(exist=['totals.csv'])"
    assert audited(write(tmp_path, row(checks=checks)))[1][0]["oracle"] == "pass"


def test_the_spec_of_a_row_is_chosen_by_its_key(tmp_path):
    spec = f"by('kind', {{'sum': {TOTALS}, 'judged': rubric('openai:https://api.openai.com/v1#gpt-4o', rubric=['a'])}})"
    of_file, (of_row,) = audited(write(tmp_path, row(kind="sum")), spec=spec)
    assert (of_file["judge"], of_row["oracle"]) == ("pass", "pass")


@pytest.mark.slow(seconds=6)
def test_a_grading_that_does_not_end_is_stopped_and_the_other_rows_go_on(tmp_path):
    (tmp_path / "endless.py").write_text(
        "from verikit.types import Score\nfrom verikit.workspaces.grading import WorkspaceVerifier\n\n\n"
        "class Endless(WorkspaceVerifier):\n"
        "    name = 'endless'\n\n    def check(self, workspace, sample):\n        while sample.id == 't1':\n"
        "            pass\n        return Score(0.0, reason='no')\n\n\ngrade = Endless()\n"
    )
    file = write(tmp_path, row(), row(id="t2", prompt="Another."))
    _, first, second = audit_tasks(file, run=True, seconds=4, spec=f"{tmp_path}/endless.py:grade")
    assert {(one.status, one.needs) for name, one in first.checks.items() if name in ("oracle", "nop", "replay")} == {
        ("not_run", "more time: a grading took longer than 4 s (--seconds)")
    }
    assert second.checks["oracle"].status == "fail", second.checks["oracle"]
