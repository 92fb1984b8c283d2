"""What a run counts of its groups: order, workers and what is left out."""

import pickle
import random
import subprocess
import sys

import pytest

from verikit.errors import UsageError
from verikit.stats import (
    Summary,
    intervals,
    votes,
)
from verikit.types import Score


def right(*values):
    return [Score.error("judge down") if value is None else Score(float(value)) for value in values]


def test_unscored_truth_is_left_out_and_a_group_too_small_for_k_is_counted():
    summary = Summary([1, 2, 3])
    summary.add(right(1, None, 0), clusters=[0, 0, 1])
    summary.add(right(None, None))
    estimates = summary.estimates()
    assert estimates["mean"].value == 0.5
    assert (estimates["pass@2"].value, estimates["pass@2"].n, estimates["pass@2"].left_out) == (1.0, 1, 1)
    assert estimates["maj@2"].value == 0.5
    assert "pass@3" not in estimates
    assert "bon@1" not in estimates


@pytest.mark.parametrize("weighting", ["raw", "sigmoid", "softmax"])
def test_an_unscored_candidate_is_never_selected_while_a_scored_one_exists(weighting):
    summary = Summary([3], weighting=weighting)
    summary.add(right(1, 1, 0), [Score.timeout("slow"), Score.error("down"), Score(-9.0)], [0, 0, 1])
    estimates = summary.estimates()
    assert estimates["bon@3"].value == 0.0
    assert estimates["wmaj@3"].value == 0.0
    assert estimates["maj@3"].value == 1.0


def test_a_group_whose_ranking_failed_altogether_is_left_out_of_best_of_k():
    summary = Summary([2])
    summary.add(right(1, 0), right(None, None), [0, 1])
    summary.add(right(1, 0), right(1, 0), [0, 1])
    estimates = summary.estimates()
    for name in ("bon@2", "wmaj@2"):
        assert (estimates[name].value, estimates[name].n, estimates[name].left_out) == (1.0, 1, 1)


def test_pass_at_k_counts_graded_truth_from_the_pass_mark():
    summary = Summary([1])
    summary.add(right(0.5, 0.49))
    assert summary.estimates()["pass@1"].value == 0.5


def mixed_groups(count):
    rng = random.Random(3)
    names = [0, 1, 1, None, 2, 0]
    return [
        (right(*(rng.random() < 0.4 for _ in names)), right(*(rng.random() for _ in names)), names)
        for _ in range(count)
    ]


@pytest.mark.parametrize("interval", ["beta", "bootstrap"])
def test_a_summary_has_no_order(interval):
    groups = mixed_groups(30)
    forth, back = Summary([1, 3], interval=interval), Summary([3, 1], interval=interval)
    for group in groups:
        forth.add(*group)
    for group in reversed(groups):
        back.add(*group)
    assert forth.estimates() == back.estimates()


@pytest.mark.parametrize("count", [30, intervals.MAX_BOOTSTRAP + 1])
def test_summaries_of_workers_merge_into_what_one_would_have_counted(count):
    groups = mixed_groups(count)
    alone = Summary([2, 9], interval="bootstrap")
    workers = [Summary([2, 9], interval="bootstrap") for _ in range(3)]
    for i, group in enumerate(groups):
        alone.add(*group)
        workers[i % 3].add(*group)
    merged = Summary([2, 9], interval="bootstrap")
    for worker in workers:
        merged.merge(pickle.loads(pickle.dumps(worker)))
    assert merged.estimates() == alone.estimates()
    assert merged.groups == count


def test_summaries_of_different_settings_do_not_merge():
    with pytest.raises(UsageError, match="different settings"):
        Summary([1]).merge(Summary([2]))


def test_the_method_says_how_many_groups_were_not_exact(monkeypatch):
    monkeypatch.setattr(votes, "MAX_COUNTING", 0)
    monkeypatch.setattr(votes, "MAX_SUBSETS", 0)
    summary = Summary([2])
    summary.add(right(1, 0, 0), clusters=[0, 1, 1])
    summary.add(right(1, 1, 1), clusters=[0, 1, 1])
    assert summary.estimates()["maj@2"].method == "beta, 1 groups by monte carlo"


def test_a_truth_beyond_averaging_is_refused_and_leaves_the_summary_as_it_was():
    summary = Summary([1, 2])
    summary.add(right(1, 0))
    before = summary.estimates()
    with pytest.raises(UsageError, match="can't be averaged"):
        summary.add([Score(1e308), Score(1e308)])
    assert summary.estimates() == before


def test_lists_that_do_not_belong_together_are_refused():
    with pytest.raises(UsageError, match="for 2 candidates"):
        Summary([1]).add(right(1, 0), right(1))
    with pytest.raises(UsageError, match="at least 1"):
        Summary([0])


def test_importing_the_estimators_loads_no_numpy():
    code = "import sys, verikit.stats, verikit.select; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_intervals_of_sums_with_rare_penalties_cover_the_mean_by_their_bounds(rate):
    rng, covered = random.Random(f"penalty {rate}"), 0
    for _ in range(200):
        summary = Summary([1], bounds=(-1.0, 1.0))
        for _ in range(20):
            summary.add([Score(float(rng.random() < 0.05) - float(rng.random() < rate))])
        mean = summary.estimates()["mean"]
        assert mean.method == "beta"
        covered += mean.low <= 0.05 - rate <= mean.high
    assert covered >= 186
