"""Expectations at k against an independent brute force over all subsets."""

import json
import math
import os
import random
import statistics
from fractions import Fraction
from itertools import combinations, groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.errors import UsageError
from verikit.select import clusters as cluster
from verikit.stats import (
    Summary,
    all_at_k,
    at_k,
    best_at_k,
    mean_at_k,
    pass_at_k,
    subsets,
    vote_at_k,
    vote_weights,
    votes,
)
from verikit.types import Score

DATA = Path(os.environ.get("VERIKIT_DATA", Path(__file__).parents[3] / "shared" / "data")) / "bon"

scores_with_ties = st.sampled_from([-1.5, -0.5, 0.0, 0.25, 1.0, 3.0])
graded = st.sampled_from([0.0, 0.0, 0.25, 1.0, 1.0])
candidates = st.lists(st.tuples(graded, scores_with_ties, st.sampled_from([None, 0, 1, 2, 3])), min_size=1, max_size=8)


def brute(group, k, value):
    """The mean of `value` over all size-k subsets, exactly."""
    values = [value(subset) for subset in combinations(group, k)]
    return float(sum(values, Fraction(0)) / len(values))


def top_by_score(subset):
    best = max(score for _, score, _ in subset)
    tied = [Fraction(truth) for truth, score, _ in subset if score == best]
    return sum(tied) / len(tied)


def elected(weigh):
    """The value of the winning cluster, by fractions of the weights `weigh` gives one subset's scores."""

    def value(subset):
        voters = [(truth, weight, name) for (truth, _, name), weight in zip(subset, weigh(subset), strict=True)]
        heard = sorted((v for v in voters if v[2] is not None), key=lambda v: v[2])
        if not heard:
            return sum(Fraction(v[0]) for v in voters) / len(voters)
        tally = {}
        for name, members in groupby(heard, key=lambda v: v[2]):
            members = list(members)
            tally[name] = (sum(m[1] for m in members), sum(Fraction(m[0]) for m in members) / len(members))
        top = max(total for total, _ in tally.values())
        leaders = [truth for total, truth in tally.values() if math.isclose(total, top, rel_tol=1e-12)]
        return sum(leaders) / len(leaders)

    return value


plain = elected(lambda subset: [1] * len(subset))
raw = elected(lambda subset: [Fraction(score) for _, score, _ in subset])
sigmoid = elected(lambda subset: [Fraction(1 / (1 + math.exp(-score))) for _, score, _ in subset])
softmax = elected(lambda subset: [Fraction(math.exp(score)) for _, score, _ in subset])
WEIGHED = {"raw": raw, "sigmoid": sigmoid, "softmax": softmax}


@given(candidates, st.data())
def test_every_estimator_equals_brute_force_over_all_subsets(group, data):
    k = data.draw(st.integers(1, len(group)))
    truth, scores, names = zip(*group, strict=True)
    assert mean_at_k(truth, k) == pytest.approx(
        brute(group, k, lambda s: sum(Fraction(t) for t, _, _ in s) / k), abs=1e-9
    )
    assert best_at_k(truth, scores, k) == pytest.approx(brute(group, k, top_by_score), abs=1e-9)
    assert best_at_k(truth, truth, k) == pytest.approx(
        brute(group, k, lambda s: Fraction(max(t for t, _, _ in s))), abs=1e-9
    )
    right = sum(t == 1 for t in truth)
    assert pass_at_k(len(group), right, k) == pytest.approx(
        brute(group, k, lambda s: Fraction(any(t == 1 for t, _, _ in s))), abs=1e-9
    )
    assert vote_at_k(truth, names, k).value == pytest.approx(brute(group, k, plain), abs=1e-9)
    for weighting, value in WEIGHED.items():
        estimate = vote_at_k(truth, names, k, vote_weights(scores, weighting))
        assert estimate.method == "exact"
        assert estimate.value == pytest.approx(brute(group, k, value), abs=1e-9)


def real_groups():
    path = DATA / "qwen_math_cot_100.jsonl"
    if not path.exists():
        pytest.skip("the stored best-of-8 candidates are not here")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        [
            (float(c["correct"]), float(c["rm"]), name)
            for c, name in zip(row["candidates"], cluster([c["pred"] or None for c in row["candidates"]]), strict=True)
        ]
        for row in rows
    ]


def test_a_summary_of_stored_candidates_equals_brute_force():
    groups = real_groups()
    assert len(groups) >= 30
    for weighting, value in WEIGHED.items():
        summary = Summary(range(1, 9), weighting=weighting)
        for group in groups:
            truth, rm, names = zip(*group, strict=True)
            summary.add([Score(t) for t in truth], [Score(r) for r in rm], names)
        estimates = summary.estimates()
        for k in range(1, 9):
            expected = {
                "mean": lambda s: sum(Fraction(t) for t, _, _ in s) / len(s),
                "pass": lambda s: Fraction(max(t for t, _, _ in s)),
                "maj": plain,
                "bon": top_by_score,
                "wmaj": value,
            }
            for name, of_subset in expected.items():
                mean = statistics.fmean(brute(group, k, of_subset) for group in groups)
                assert estimates[f"{name}@{k}"].value == pytest.approx(mean, abs=1e-9), (name, k, weighting)


@given(candidates, st.randoms(use_true_random=False), st.data())
def test_the_order_of_candidates_does_not_matter(group, rng, data):
    k = data.draw(st.integers(1, len(group)))
    shuffled = rng.sample(group, len(group))
    (t1, s1, c1), (t2, s2, c2) = zip(*group, strict=True), zip(*shuffled, strict=True)
    assert best_at_k(t1, s1, k) == pytest.approx(best_at_k(t2, s2, k), abs=1e-12)
    assert vote_at_k(t1, c1, k).value == pytest.approx(vote_at_k(t2, c2, k).value, abs=1e-12)
    forth, back = (vote_at_k(t, c, k, vote_weights(w, "sigmoid")) for t, w, c in ((t1, s1, c1), (t2, s2, c2)))
    assert forth.value == pytest.approx(back.value, abs=1e-12)


@given(candidates)
def test_one_candidate_is_the_mean_and_all_candidates_are_the_selection_itself(group):
    truth, scores, names = zip(*group, strict=True)
    n, mean = len(group), statistics.fmean(truth)
    assert best_at_k(truth, scores, 1) == pytest.approx(mean, abs=1e-12)
    assert vote_at_k(truth, names, 1).value == pytest.approx(mean, abs=1e-12)
    assert best_at_k(truth, scores, n) == pytest.approx(float(top_by_score(group)), abs=1e-12)
    assert vote_at_k(truth, names, n).value == pytest.approx(float(plain(group)), abs=1e-12)


@given(st.lists(st.tuples(st.booleans(), scores_with_ties), min_size=1, max_size=12), st.data())
def test_no_selection_beats_the_best_candidate(group, data):
    k = data.draw(st.integers(1, len(group)))
    truth = [float(right) for right, _ in group]
    ceiling = pass_at_k(len(group), sum(right for right, _ in group), k) + 1e-12
    assert 0 <= best_at_k(truth, [score for _, score in group], k) <= ceiling
    assert 0 <= vote_at_k(truth, [int(2 * score) for _, score in group], k).value <= ceiling


@pytest.mark.parametrize(
    ("n", "c", "k"), [(10_000, 1, 1), (10_000, 9_999, 1), (10_000, 37, 5_000), (200, 3, 64), (8, 8, 8)]
)
def test_pass_at_k_is_exact_for_large_n(n, c, k):
    exact = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
    assert pass_at_k(n, c, k) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("k", [1, 7, 600, 2_999, 3_000])
def test_best_at_k_is_exact_for_large_n_with_and_without_numpy(k, monkeypatch):
    rng = random.Random(k)
    n = 3_000
    truth = [float(rng.random() < 0.3) for _ in range(n)]
    scores = [rng.choice([rng.random(), round(rng.random(), 2), -math.inf]) for _ in range(n)]
    exact = Fraction(0)
    above = 0
    order = sorted(zip(scores, truth, strict=True), key=lambda pair: -pair[0])
    for _, run in groupby(order, key=lambda pair: pair[0]):
        values = [Fraction(t) for _, t in run]
        leads = Fraction(math.comb(n - above, k) - math.comb(n - above - len(values), k), math.comb(n, k))
        exact += leads * sum(values) / len(values)
        above += len(values)
    assert best_at_k(truth, scores, k) == pytest.approx(float(exact), abs=1e-12)
    monkeypatch.setattr(subsets, "_numpy", lambda: None)
    assert best_at_k(truth, scores, k) == pytest.approx(float(exact), abs=1e-12)


def test_an_unscored_ranking_comes_last():
    truth, scores = [1.0, 0.0, 0.0], [-math.inf, 1.0, 2.0]
    assert best_at_k(truth, scores, 2) == 0.0
    assert best_at_k(truth, scores, 1) == pytest.approx(1 / 3)


# Votes that brute force can't reach


def test_a_vote_of_many_is_counted_where_subsets_are_beyond_counting():
    # Two clusters of 30 and 20, k = 25 (odd): the larger wins when it takes 13 seats or more.
    truth, names = [1.0] * 30 + [0.0] * 20, [0] * 30 + [1] * 20
    exact = sum(Fraction(math.comb(30, j) * math.comb(20, 25 - j), math.comb(50, 25)) for j in range(13, 26))
    estimate = vote_at_k(truth, names, 25)
    assert estimate.method == "exact"
    assert estimate.value == pytest.approx(float(exact), abs=1e-12)


def test_all_unique_answers_share_the_win():
    truth = [1.0] + [0.0] * 99
    assert vote_at_k(truth, list(range(100)), 40).value == pytest.approx(0.01, abs=1e-12)


def test_monte_carlo_agrees_with_counting_within_its_standard_error(monkeypatch):
    rng = random.Random(5)
    names = [rng.choice([None, 0, 0, 1, 1, 2, 3]) for _ in range(40)]
    truth = [float(name == 1) for name in names]
    exact = vote_at_k(truth, names, 9)
    assert exact.method == "exact"
    monkeypatch.setattr(votes, "MAX_COUNTING", 0)
    errors = []
    for seed in range(40):
        drawn = vote_at_k(truth, names, 9, draws=300, seed=seed)
        assert drawn.method == "monte carlo"
        assert drawn.n == 300
        assert drawn == vote_at_k(truth, names, 9, draws=300, seed=seed)
        errors.append((drawn.value - exact.value) / drawn.stderr)
    assert len(set(errors)) > 1
    assert abs(statistics.fmean(errors)) < 3 / math.sqrt(40)
    assert 0.7 < statistics.stdev(errors) < 1.35


def test_weighted_monte_carlo_agrees_with_enumeration_within_its_standard_error(monkeypatch):
    rng = random.Random(6)
    names = [rng.choice([None, 0, 1, 2]) for _ in range(14)]
    weights = vote_weights([rng.gauss(0, 2) for _ in names], "softmax")
    truth = [float(name == 0) for name in names]
    exact = vote_at_k(truth, names, 6, weights)
    monkeypatch.setattr(votes, "MAX_SUBSETS", 0)
    drawn = vote_at_k(truth, names, 6, weights, draws=2_000)
    assert (exact.method, drawn.method) == ("exact", "monte carlo")
    assert abs(drawn.value - exact.value) < 4 * drawn.stderr
    assert drawn.low < exact.value < drawn.high


def test_a_negative_raw_weight_counts_against_its_answer():
    truth, names = [0.0, 0.0, 1.0], [0, 0, 1]
    assert vote_at_k(truth, names, 3, vote_weights([-1.0, -1.0, -1.5], "raw")).value == 1.0
    assert vote_at_k(truth, names, 3, vote_weights([-1.0, -1.0, -1.5], "sigmoid")).value == 0.0


@pytest.mark.parametrize("weighting", ["raw", "sigmoid", "softmax"])
def test_extreme_scores_neither_overflow_nor_tie_by_mistake(weighting):
    scores = [1e308, 1e308, -1e308, 0.0]
    weights = vote_weights(scores, weighting)
    assert all(math.isfinite(weight) for weight in weights)
    assert vote_at_k([1.0, 1.0, 0.0, 0.0], [0, 0, 1, 2], 4, weights).value == 1.0


def test_a_misspelt_interval_is_refused_before_anything_is_counted():
    with pytest.raises(UsageError, match="interval 'wilsen' not found"):
        Summary([1], interval="wilsen")


def test_a_misspelt_weighting_is_refused_by_name():
    with pytest.raises(UsageError, match="weighting 'sigmiod' not found"):
        vote_weights([1.0], "sigmiod")


@pytest.mark.parametrize("k", [0, 4, -1])
def test_a_k_no_subset_has_is_refused(k):
    truth = [0.0, 1.0, 1.0]
    for call in (
        lambda: pass_at_k(3, 2, k),
        lambda: mean_at_k(truth, k),
        lambda: best_at_k(truth, truth, k),
        lambda: vote_at_k(truth, [0, 0, 1], k),
    ):
        with pytest.raises(UsageError, match="k must be between 1 and the 3"):
            call()


@pytest.mark.parametrize("n", range(1, 8))
def test_all_of_k_is_the_share_of_subsets_that_are_all_right(n):
    for right in range(n + 1):
        for k in range(1, n + 1):
            subsets = list(combinations([1] * right + [0] * (n - right), k))
            assert all_at_k(n, right, k) == pytest.approx(sum(map(all, subsets)) / len(subsets), abs=1e-15)


@pytest.mark.parametrize(
    ("metric", "named"),
    [("pass@12", ("pass@", 12)), ("pass^4", ("pass^", 4)), ("mean", None), ("acc@x", None), ("f1", None)],
)
def test_a_metric_over_k_tells_its_kind_and_k(metric, named):
    assert at_k(metric) == named
