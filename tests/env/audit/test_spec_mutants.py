"""Mutants of a row's spec: parts that decide nothing about the tried outputs are listed."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from tests.env.audit.test_row_specs import TOTALS, row, write
from verikit.env.audit import audit_tasks
from verikit.env.audit.running.box import BoxRun, TaskBox
from verikit.env.audit.running.rehearsal import OutOfTime
from verikit.env.audit.running.row_runs import RowRehearsal
from verikit.env.audit.running.spec_mutants import graded_specs, mutated_specs
from verikit.errors import HelperTimeout
from verikit.types import Score

MANY = f"files(exist={['a'] * 2490})"


def told(file, **options):
    """The notes of `mutants` about the spec, and the kinds of its findings."""
    (_, record) = audit_tasks(file, run=True, **options)
    found = record.checks["mutants"]
    return [one for one in found.notes if "spec" in one or "changes no" in one], {one.kind for one in found.findings}


def test_each_option_part_entry_and_number_is_changed_once():
    text = "all_of(files(exist=['a', 'b']), table('t.csv', expected=[{'x': 7, 'y': 'z'}]))"
    found = dict(mutated_specs(text))
    assert set(found) == {
        "files without exist", "table without expected", "without 'a'", "without 'b'", "without 'x'", "without 'y'",
        "without files(exist=['a', 'b'])", "without table('t.csv', expected=[{'x': 7, 'y': 'z'}])", "7 off by one",
    }  # fmt: skip
    assert found["without 'x'"] == text.replace("'x': 7, ", "")
    assert found["7 off by one"] == text.replace("7", "8")


@pytest.mark.parametrize("text", ["by('kind', {'a': files(exist=['a'])})", "(", "files(" * 500, "exact", "a\0b", MANY])
def test_a_spec_that_is_large_or_chooses_or_cannot_be_parsed_has_no_mutants(text):
    assert list(mutated_specs(text)) == []


@pytest.mark.parametrize("seconds_left", [10**6, 3])
def test_mutants_that_cannot_be_loaded_are_limited_and_use_up_the_time(seconds_left):
    made = []

    def check_time():
        if len(made) == seconds_left:
            raise OutOfTime

    rehearsal = SimpleNamespace(
        spec=SimpleNamespace(text=f"files(exist={['a'] * 200})"), before={}, solve=lambda: BoxRun("exit"),
        with_spec=made.append, check_time=check_time,
    )  # fmt: skip
    with pytest.raises(OutOfTime) if seconds_left == 3 else nullcontext():
        assert graded_specs(rehearsal, {}).count == 0
    assert len(made) == min(seconds_left, 48)


@pytest.mark.slow(seconds=6)
def test_a_part_that_decides_nothing_is_noted_and_the_others_are_not(tmp_path):
    notes, kinds = told(write(tmp_path, row(checks=["files(exist=['totals.csv'])", TOTALS])))
    assert not kinds
    survivors = " ".join(notes)
    assert "without table(" not in survivors
    assert "changes no reward: without files(exist=['totals.csv'])" in notes
    assert any("changed parts of the spec change a reward" in one for one in notes)


@pytest.mark.slow(seconds=6)
def test_a_spec_of_the_command_is_mutated_too(tmp_path):
    notes, _ = told(write(tmp_path, row(checks=None)), spec="files(exist=['totals.csv'], unchanged=['sales.csv'])")
    assert "changes no reward: files without unchanged" in notes
    assert "changes no reward: files without exist" not in notes


def endless(rehearsal, files):
    raise HelperTimeout("out of time")


@pytest.mark.parametrize("graded", [endless, lambda rehearsal, files: Score(None, "error", "it can't be read")])
def test_a_mutant_without_a_value_is_not_counted_and_leaves_the_row_as_it_is(tmp_path, monkeypatch, graded):
    checks = "files(exist=['totals.csv'], unchanged=['sales.csv'])"
    usual = RowRehearsal._score

    def score(rehearsal, files):
        return (usual if rehearsal.spec.text == checks else graded)(rehearsal, files)

    monkeypatch.setattr(RowRehearsal, "_score", score)
    monkeypatch.setattr(TaskBox, "end_grading", lambda box: None)  # the helper has not ended
    (_, record) = audit_tasks(write(tmp_path, row(checks=checks)), run=True)
    assert not [one for one in record.checks["mutants"].notes if "of the spec" in one]
    assert record.checks["honest"].status == "pass"
