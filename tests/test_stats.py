"""Estimators against an independent brute force over all subsets, and intervals against known values."""

import json
import math
import os
import pickle
import random
import statistics
import subprocess
import sys
from fractions import Fraction
from itertools import combinations, groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verikit.errors import UsageError
from verikit.select import clusters as cluster
from verikit.stats import (
    Mean,
    Summary,
    best_at_k,
    beta_interval,
    bootstrap,
    intervals,
    mean_at_k,
    mean_interval,
    pass_at_k,
    subsets,
    vote_at_k,
    vote_weights,
    votes,
)
from verikit.stats.beta import UNSEEN, beta_probability, beta_quantile
from verikit.types import Score

DATA = Path(os.environ.get("VERIKIT_DATA", Path(__file__).parents[2] / "shared" / "data")) / "bon"

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
    with pytest.raises(UsageError, match="no interval 'wilsen'"):
        Summary([1], interval="wilsen")


def test_a_misspelt_weighting_is_refused_by_name():
    with pytest.raises(UsageError, match="no weighting 'sigmiod'"):
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
        with pytest.raises(UsageError, match="k must lie between 1 and the 3"):
            call()


# Intervals


def binomial_tail(n, least, rate):
    """P(X >= least), X of the binomial distribution, exactly."""
    rate = Fraction(rate)
    return sum(math.comb(n, i) * rate**i * (1 - rate) ** (n - i) for i in range(least, n + 1))


@given(st.integers(1, 40), st.data())
@settings(max_examples=40)
def test_the_beta_distribution_of_whole_numbers_is_the_binomial_tail(n, data):
    successes, rate = data.draw(st.integers(1, n)), data.draw(st.floats(0.001, 0.999))
    exact = float(binomial_tail(n, successes, rate))
    assert beta_probability(rate, successes, n - successes + 1) == pytest.approx(exact, rel=1e-10, abs=1e-300)
    found = beta_quantile(exact, successes, n - successes + 1)
    assert beta_probability(found, successes, n - successes + 1) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("n", [2, 5, 10, 30, 100])
def test_intervals_of_0_1_values_cover_any_rate_by_93_percent(n):
    ends = [beta_interval(i / n, i / n * (1 - i / n), n) for i in range(n + 1)]
    rates = [j / 400 for j in range(1, 200)] + [end + step for low, end in ends for step in (1e-9,) if end < 0.5]
    for rate in rates:
        covered = math.fsum(
            math.comb(n, i) * rate**i * (1 - rate) ** (n - i)
            for i, (low, high) in enumerate(ends)
            if low <= rate <= high
        )
        assert covered >= 0.931, (rate, covered)


def test_a_whole_unseen_prompt_gives_the_exact_interval(monkeypatch):
    # Clopper and Pearson's: 0 of 10 up to 0.3085, 15 of 148 from 0.0578 to 0.1617 (Newcombe 1998).
    monkeypatch.setattr("verikit.stats.beta.UNSEEN", 1.0)
    assert beta_interval(0.0, 0.0, 10) == pytest.approx((0.0, 0.3085), abs=5e-5)
    rate = 15 / 148
    assert beta_interval(rate, rate * (1 - rate), 148) == pytest.approx((0.0578, 0.1617), abs=5e-5)


def test_a_little_spread_does_not_pass_for_certainty():
    zeros, nearly = mean_interval([0.0] * 30), mean_interval([0.0] * 29 + [0.01])
    assert nearly.high == pytest.approx(zeros.high, rel=0.01)
    assert nearly.low < 1e-4


def test_tied_prompts_leave_room_for_what_was_not_seen():
    tied = mean_interval([0.3] * 30)
    assert tied.method == "beta"
    assert tied.low < 0.3 - 0.3 * UNSEEN / (30 + UNSEEN)
    assert tied.high > 0.3 + 0.7 * UNSEEN / (30 + UNSEEN)


def test_of_equal_values_without_bounds_nothing_can_be_said():
    constant = mean_interval([3.0] * 12)
    assert (constant.value, constant.low, constant.high, constant.method) == (3.0, -math.inf, math.inf, "none")
    row = constant.as_row()
    assert (row["low"], row["high"], row["stderr"]) == (None, None, None)
    assert json.loads(json.dumps(row, allow_nan=False)) == row


def test_differences_that_all_tie_have_an_interval_on_both_sides():
    tied = mean_interval([0.0] * 30, bounds=(-1.0, 1.0))
    assert tied.low == pytest.approx(-tied.high)
    assert 0.05 < tied.high < 0.15


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.01, 0.99))
@settings(max_examples=60)
def test_the_interval_holds_the_mean_and_mirrors_with_the_values(values, level):
    found, mirrored = mean_interval(values, level), mean_interval([1 - value for value in values], level)
    assert 0 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-6)


@given(st.integers(1, 3000), st.sampled_from([0.0, 1.0]))
def test_an_interval_at_0_or_100_percent_has_a_width(n, value):
    interval = mean_interval([value] * n)
    assert interval.value == value
    assert interval.high - interval.low > 0
    assert interval.stderr > 0
    assert interval.low <= value <= interval.high


def test_rounding_does_not_pass_for_spread():
    nearly = mean_interval([1.0, 1 - 2**-53, 1 - 2**-52] * 5)
    assert (nearly.low, nearly.high) == (mean_interval([1.0] * 15).low, 1.0)
    constant = mean_interval([0.1 + 0.2, 0.3])
    assert constant.high - constant.low > 0.1


def test_a_single_prompt_is_not_certain():
    interval = mean_interval([0.5])
    assert interval.low < 0.2
    assert interval.high > 0.8


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_the_mean_is_the_same_to_the_last_bit_in_any_order(values, rng):
    assert mean_interval(values) == mean_interval(rng.sample(values, len(values)))


@given(st.lists(st.floats(0, 1, allow_subnormal=False), min_size=2, max_size=50))
@settings(max_examples=25)
def test_mean_and_standard_error_are_the_usual_ones(values):
    interval = mean_interval(values)
    assert interval.value == pytest.approx(statistics.fmean(values), abs=1e-12)
    assert interval.low <= interval.value <= interval.high or interval.value == pytest.approx(interval.low, abs=1e-12)
    if statistics.stdev(values) > 1e-6:
        assert interval.stderr == pytest.approx(statistics.stdev(values) / math.sqrt(len(values)), rel=1e-9)


def test_the_three_intervals_meet_in_the_middle():
    rng = random.Random(1)
    values = [rng.betavariate(2, 3) for _ in range(intervals.MAX_BOOTSTRAP + 1)]
    booted = mean_interval(values[:-1], interval="bootstrap")
    normal, ours = mean_interval(values, interval="bootstrap"), mean_interval(values)
    assert (booted.method, normal.method, ours.method) == ("bootstrap", "normal", "beta")
    for other in (booted, normal):
        assert other.low == pytest.approx(ours.low, abs=0.1 * (ours.high - ours.low))
        assert other.high == pytest.approx(ours.high, abs=0.1 * (ours.high - ours.low))


def test_the_bootstrap_is_seeded_and_its_ends_are_resampled_means():
    values = [0.0, 0.5, 1.0, 1.0]
    assert bootstrap(values, seed=1) == bootstrap(values[::-1], seed=1)
    ends = {bootstrap(values, 0.5, seed) for seed in range(5)}
    assert all(8 * end == int(8 * end) for pair in ends for end in pair)
    assert bootstrap([0.0, 1.0] * 200, seed=1) != bootstrap([0.0, 1.0] * 200, seed=2)
    assert bootstrap([0.3]) == (0.3, 0.3)


def test_values_outside_0_and_1_are_bootstrapped():
    interval = mean_interval([-2.0, 5.0, 0.5] * 10)
    assert interval.method == "bootstrap"
    assert interval.low < interval.value < interval.high


@pytest.mark.parametrize("level", [0.0, 1.0, -1, 95, math.nan])
def test_a_level_outside_0_and_1_is_refused(level):
    for call in (
        lambda: mean_interval([1.0], level),
        lambda: bootstrap([0.0, 1.0], level),
        lambda: Summary([1], level=level),
    ):
        with pytest.raises(UsageError, match="confidence level"):
            call()


def test_memory_does_not_grow_with_prompts():
    mean = Mean()
    for i in range(5_000):
        mean.add(i % 7 / 7)
    assert len(mean._values) == 0
    assert sys.getsizeof(mean._squares) < 64


@pytest.mark.parametrize("value", [1e101, -1e101, math.inf, math.nan])
def test_a_value_no_mean_survives_is_refused(value):
    with pytest.raises(UsageError, match="can't be averaged"):
        Mean().add(value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("interval", "prompts", "shape", "least"),
    # Each prompt has its own difficulty, Beta(shape), and 4 candidates: the clustered case; the last is near 100 %.
    [
        ("beta", 30, (1, 2), 0.93),
        ("beta", 100, (1, 2), 0.93),
        ("beta", 100, (2, 0.05), 0.93),
        ("bootstrap", 30, (1, 2), 0.90),
        ("bootstrap", 100, (1, 2), 0.92),
    ],
)
def test_95_percent_intervals_over_prompts_cover_the_truth(interval, prompts, shape, least):
    rng = random.Random(prompts)
    runs, covered = 1_000, 0
    for _ in range(runs):
        difficulties = [rng.betavariate(*shape) for _ in range(prompts)]
        found = mean_interval([sum(rng.random() < p for _ in range(4)) / 4 for p in difficulties], interval=interval)
        covered += found.low <= shape[0] / sum(shape) <= found.high
    assert least <= covered / runs <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [30, 100])
def test_intervals_cover_where_nearly_every_prompt_is_right(prompts):
    # pass@4 of 8, accuracy 0.98: here the interval at the sample's own spread covers 72 % to 80 %.
    rng, runs, covered = random.Random(prompts), 1_000, 0
    level = 49 / 50

    def prompt():
        chance = rng.betavariate(level, 1 - level)
        return pass_at_k(8, sum(rng.random() < chance for _ in range(8)), 4)

    # E[(1 - p)^4] of the beta distribution: the chance that 4 of 4 fail.
    truth = 1 - math.prod((1 - level + i) / (1 + i) for i in range(4))
    for _ in range(runs):
        found = mean_interval([prompt() for _ in range(prompts)])
        covered += found.low <= truth <= found.high
    assert covered / runs >= 0.93


# Summary


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
