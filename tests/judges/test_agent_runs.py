"""The open set of agents' runs: its labels, and what a rubric with evidence accepts of it."""

import pytest

from benchmarks.agent_runs import KINDS, TruthfulJudge, accepted, judged, right_criteria, runs

pytestmark = pytest.mark.slow(seconds=5)


@pytest.fixture(scope="module")
def rows():
    return list(runs(40, seed=1))


def test_the_labels_are_those_of_the_kinds(rows):
    assert [row["category"] for row in rows] == [*KINDS] * 10
    assert all(all(row["humans"]) == (row["category"] == "right") for row in rows)
    assert {row["completions"][0][-1]["content"] for row in rows if row["category"] == "forged"} == {
        rows[0]["completions"][0][-1]["content"]
    }


def test_the_set_is_the_same_each_time(rows):
    assert list(runs(4, seed=1)) == rows[:4]


@pytest.mark.parametrize("sceptic", [False, True])
def test_with_evidence_right_runs_are_accepted_and_forged_ones_are_not(rows, sceptic):
    scores = judged(rows, TruthfulJudge(rows, sceptic), "trajectory")
    assert right_criteria(scores) >= 0.95
    assert accepted(scores, "right") >= (0.9 if sceptic else 0.95)
    assert accepted(scores, "forged") <= 0.02


def test_without_evidence_a_forged_run_is_as_good_as_a_right_one(rows):
    scores = judged(rows, TruthfulJudge(rows), "reply")
    assert accepted(scores, "forged") == accepted(scores, "right") == 1.0
