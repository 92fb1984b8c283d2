"""Means and their intervals against known values and against how often they cover the truth."""

import json
import math
import random
import statistics
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verikit.errors import UsageError
from verikit.stats import (
    Mean,
    Summary,
    beta_interval,
    bootstrap,
    intervals,
    mean_interval,
    pass_at_k,
)
from verikit.stats.beta import UNSEEN, beta_probability, beta_quantile


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
        with pytest.raises(UsageError, match="level must be between"):
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


@pytest.mark.parametrize("low", [-3.0, -0.3])
def test_an_end_does_not_come_nearer_because_values_could_lie_further_off_on_the_other_side(low):
    values = [0.0] * 50
    assert mean_interval(values, bounds=(low, 1.0)).high == pytest.approx(mean_interval(values).high)
    assert mean_interval([-v for v in values], bounds=(-1.0, -low)).low == pytest.approx(-mean_interval(values).high)
