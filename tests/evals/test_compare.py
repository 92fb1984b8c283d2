import json
import math
from itertools import product

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("lm_eval")

from tests.evals.scripted import MATH, write
from verikit.cli import cli
from verikit.errors import ConfigError, UsageError
from verikit.evals.compare import as_json, compare_runs, verdict
from verikit.evals.loading import Settings
from verikit.evals.paired import compare_rows, holm, sign_flip
from verikit.evals.run import run_tasks
from verikit.evals.stored import Stored
from verikit.evals.suite import read_suite, run_suite


def row(id, value, question="q"):
    grades = [{"acc": {"value": value, "status": "ok" if value is not None else "error"}}]
    shown = {} if value is None else {"acc": value}
    return {
        "doc_id": 0,
        "doc": {"id": id, "question": question},
        "filtered_resps": [grades],
        "metrics": ["acc"],
        **shown,
    }


def rows(values, questions=None):
    return [row(str(i), value, questions[i] if questions else f"q{i}") for i, value in enumerate(values)]


def test_flips_are_counted_both_ways_and_the_changed_rows_named():
    found = compare_rows("t", "acc", rows([1, 1, 0, 0]), rows([1, 0, 1, 1]))
    assert (found.before, found.after, found.value) == (0.5, 0.75, 0.25)
    assert (found.gained, found.lost) == (2, 1)
    assert [change.id for change in found.changed] == ["1", "3", "2"]


def test_rows_without_a_value_in_both_are_left_out_and_counted():
    found = compare_rows("t", "acc", rows([1, None, 0]), [*rows([1, 1, 1]), row("other", 1)])
    assert (found.docs, found.left_out) == (2, 2)
    assert compare_rows("t", "acc", rows([None]), rows([1])) is None


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=8))
def test_the_exact_p_value_is_the_share_of_signs_that_give_as_much(differences):
    live = [d for d in differences if d]
    signs = list(product((-1, 1), repeat=len(live)))
    as_much = sum(abs(sum(s * d for s, d in zip(sign, live, strict=True))) >= abs(sum(live)) - 1e-9 for sign in signs)
    assert sign_flip(np.array(differences)) == pytest.approx(as_much / len(signs))


def test_the_drawn_p_value_agrees_with_the_exact_binomial():
    sums = np.array([1.0] * 25 + [-1.0] * 10)
    from math import comb

    exact = 2 * sum(comb(35, k) for k in range(25, 36)) / 2**35
    assert sign_flip(sums) == pytest.approx(exact, abs=0.004)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(100):
        before, after = rng.random(120) < 0.5, rng.random(120) < 0.6
        found = compare_rows("t", "acc", rows(before.astype(float)), rows(after.astype(float)))
        covered += found.low <= 0.1 <= found.high
    assert covered >= 88


def test_questions_asked_several_times_count_as_one_cluster():
    before, after = [0.0] * 40, [1.0, 1.0, 1.0, 0.0] * 10
    alone = compare_rows("t", "acc", rows(before), rows(after))
    same = [f"q{i // 20}" for i in range(40)]
    together = compare_rows("t", "acc", rows(before, same), rows(after, same))
    assert alone.clusters == 40
    assert together.clusters == 2
    assert together.p == 0.5
    assert alone.p < 0.001


def test_runs_that_agree_everywhere_may_still_differ_on_other_questions():
    tied = compare_rows("t", "acc", rows([1.0] * 30), rows([1.0] * 30))
    assert tied.low == pytest.approx(-tied.high)
    assert 0.05 < tied.high < 0.15


def test_of_equal_differences_without_bounds_nothing_is_known():
    shifted = compare_rows("t", "score_of_10", rows([3.0] * 9), rows([4.0] * 9))
    assert (shifted.low, shifted.high) == (-math.inf, math.inf)
    assert (as_json(shifted)["low"], as_json(shifted)["high"]) == (None, None)


def test_small_clusters_do_not_make_a_large_one_look_certain():
    before, after = [0.0] * 60, [1.0] * 50 + [0.0] * 10
    questions = ["big"] * 50 + [f"q{i}" for i in range(10)]
    lopsided = compare_rows("t", "acc", rows(before, questions), rows(after, questions))
    even = compare_rows("t", "acc", rows(before), rows(after))
    assert lopsided.high - lopsided.low > 3 * (even.high - even.low)


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_monotone_and_no_smaller_than_the_p_value(ps):
    adjusted = holm(ps)
    assert all(0 <= p <= a <= 1 for p, a in zip(ps, adjusted, strict=True))
    assert [adjusted[i] for i in sorted(range(len(ps)), key=ps.__getitem__)] == sorted(adjusted)
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def made(tmp_path, name, answers):
    data = write(tmp_path / "rows.jsonl", [{"id": str(i), "problem": f"{i}?", "answer": "5"} for i in range(12)])
    outputs = [{"id": str(i), "question": f"{i}?", "output": f"\\boxed{{{a}}}"} for i, a in enumerate(answers)]
    run_tasks(
        ["verikit_math500"],
        name,
        Stored(write(tmp_path / name, outputs)),
        Settings(data=data),
        tmp_path / f"run-{name}",
    )
    return tmp_path / f"run-{name}"


def test_the_command_tells_which_differences_are_real(tmp_path):
    bad, good = made(tmp_path, "bad", [5, 5] + [4] * 10), made(tmp_path, "good", [5] * 11 + [4])
    told = CliRunner().invoke(cli, ["compare", str(bad), str(good)]).output
    assert "+75.00" in told
    assert "real at 5%: verikit_math500 (+75.00)" in told
    assert "9 documents changed" in told
    (plain,) = json.loads(CliRunner().invoke(cli, ["compare", str(bad), str(good), "--json"]).output)
    assert (plain["gained"], plain["lost"], len(plain["changed"])) == (9, 0, 9)
    same = compare_runs(bad, bad)
    assert (same[0].value, same[0].p) == (0.0, 1.0)
    assert "no difference is real" in verdict([("x", same[0])])


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="holds no results"):
        compare_runs(tmp_path, tmp_path)


SUITE = """
tasks = ["verikit_math500"]
[settings]
data = "{data}"
repeats = {{ verikit_math500 = 2 }}
[[models]]
name = "one"
model = "replay:{one}"
[[models]]
name = "two"
model = "replay:{two}"
"""


def test_a_suite_gives_a_table_of_models_by_tasks_and_their_differences(tmp_path):
    data = write(tmp_path / "rows.jsonl", MATH[:2])
    files = {
        name: write(tmp_path / f"{name}.jsonl", [{"problem": row["problem"], "completions": texts} for row in MATH[:2]])
        for name, texts in (("one", ["\\boxed{5}", "\\boxed{4}"]), ("two", ["\\boxed{1}", "\\boxed{0.5}"]))
    }
    (tmp_path / "suite.toml").write_text(SUITE.format(data=data, **files))
    found = run_suite(read_suite(tmp_path / "suite.toml"), tmp_path / "out")
    assert [found["models"][name]["tasks"]["verikit_math500"]["metrics"]["acc"]["value"] for name in files] == [
        0.25
    ] * 2
    (pair,) = found["differences"]
    assert (pair["first"], pair["second"], pair["gained"], pair["lost"]) == ("one", "two", 1, 1)
    table = (tmp_path / "out/suite.md").read_text()
    assert "| one | 25.00" in table
    assert "| two - one | verikit_math500 | +0.00 |" in table


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tasks = [", "suite.toml"),
        ("tasks = []\nmodels = []", "tasks"),
        ('tasks = ["a"]\n[[models]]\nname = "../x"\nmodel = "m"', "models.0.name"),
        ('tasks = ["a"]\n[settings]\nbeams = 4\n[[models]]\nname = "x"\nmodel = "m"', "settings.beams"),
        ('tasks = ["a"]\n' + '[[models]]\nname = "x"\nmodel = "m"\n' * 2, "two models are named x"),
    ],
)
def test_a_suite_that_is_none_names_the_field(tmp_path, text, problem):
    (tmp_path / "suite.toml").write_text(text)
    with pytest.raises(ConfigError, match=problem):
        read_suite(tmp_path / "suite.toml")
