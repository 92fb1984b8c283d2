import math
import random
from itertools import product
from statistics import stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verikit.errors import UsageError
from verikit.report.differences import as_json
from verikit.stats.paired import (
    Outcomes,
    detectable_difference,
    holm,
    paired_difference,
    questions_needed,
    sign_flip,
)


def rows(values, questions=None):
    ids = [str(i) for i in range(len(values))]
    known = {id: value for id, value in zip(ids, values, strict=True) if value is not None}
    asked = questions or [f"q{id}" for id in ids]
    return Outcomes("t", "acc", known, dict(zip(ids, asked, strict=True)))


def test_flips_are_counted_both_ways_and_the_changed_rows_named():
    found = paired_difference(rows([1, 1, 0, 0]), rows([1, 0, 1, 1]))
    assert (found.before, found.after, found.value) == (0.5, 0.75, 0.25)
    assert (found.gained, found.lost) == (2, 1)
    assert [change.id for change in found.changed] == ["1", "3", "2"]


def test_rows_without_a_value_in_both_are_left_out_and_counted():
    found = paired_difference(rows([1, None, 0]), rows([1, 1, 1, 1]))
    assert (found.docs, found.left_out) == (2, 2)
    assert paired_difference(rows([None]), rows([1])) is None


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=8))
def test_the_exact_p_value_is_the_share_of_signs_that_give_as_much(differences):
    live = [d for d in differences if d]
    signs = list(product((-1, 1), repeat=len(live)))
    as_much = sum(abs(sum(s * d for s, d in zip(sign, live, strict=True))) >= abs(sum(live)) - 1e-9 for sign in signs)
    assert sign_flip(differences) == pytest.approx(as_much / len(signs))


def test_the_drawn_p_value_agrees_with_the_exact_binomial():
    sums = [1.0] * 25 + [-1.0] * 10
    from math import comb

    exact = 2 * sum(comb(35, k) for k in range(25, 36)) / 2**35
    assert sign_flip(sums) == pytest.approx(exact, abs=0.004)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    rng = random.Random(1)
    covered = 0
    for _ in range(100):
        before, after = ([float(rng.random() < rate) for _ in range(120)] for rate in (0.5, 0.6))
        found = paired_difference(rows(before), rows(after))
        covered += found.low <= 0.1 <= found.high
    assert covered >= 88


def sampled(rng, questions, samples, shift):
    """Two runs with so many samples a question, whose questions differ in difficulty."""
    rates = [rng.random() for _ in range(questions)]
    return [
        rows([sum(rng.random() < rate + by for _ in range(samples)) / samples for rate in rates]) for by in (0.0, shift)
    ]


@pytest.mark.parametrize(("questions", "samples"), [(12, 4), (30, 32), (50, 16), (80, 1)])
def test_the_interval_holds_no_difference_exactly_if_the_test_finds_none(questions, samples):
    rng, found = random.Random(f"{questions} {samples}"), []
    for shift in (0.0, 0.0, 0.05, 0.05, 0.1) * 6:
        difference = paired_difference(*sampled(rng, questions, samples, shift))
        found.append(difference.p < 0.05)
        assert found[-1] != (difference.low <= 0 <= difference.high), difference
    assert 0 < sum(found) < len(found)


def test_the_interval_of_means_of_many_samples_is_about_as_wide_as_their_spread_makes_it():
    rng = random.Random(4)
    first, second = sampled(rng, 50, 16, 0.0)
    found = paired_difference(first, second)
    spread = stdev(second.values[key] - value for key, value in first.values.items())
    assert 1 < (found.high - found.low) / (2 * 2.01 * spread / math.sqrt(50)) < 1.3


def test_a_single_large_loss_among_many_small_gains_is_not_called_a_gain():
    before = [0.5] * 11
    found = paired_difference(rows(before), rows([0.53] * 10 + [0.0]))
    assert found.p >= 0.05
    assert found.low < -0.1 < 0 < found.high


def loss_gate(rng, questions, loss, gains):
    """Whether a run of one sample a question with this true loss is called worse by more than 5 points."""
    values = []
    for _ in range(questions):
        drawn = rng.random()
        values.append((1.0, 0.0) if drawn < gains + loss else (0.0, 1.0) if drawn < 2 * gains + loss else (1.0, 1.0))
    found = paired_difference(rows([a for a, _ in values]), rows([b for _, b in values]))
    return found.high < -0.05


@pytest.mark.parametrize("questions", [30, 300, 2000])
@pytest.mark.parametrize("gains", [0.0, 0.1])
def test_a_loss_of_the_margin_is_called_larger_in_at_most_one_run_of_forty(questions, gains):
    rng = random.Random(f"{questions} {gains}")
    called = sum(loss_gate(rng, questions, 0.05, gains) for _ in range(120))
    assert called <= 7  # 3 expected at most; 8 or more would be a chance of 1 in 90
    assert loss_gate(rng, 2000, 0.12, gains)


def test_questions_asked_several_times_count_as_one_cluster():
    before, after = [0.0] * 40, [1.0, 1.0, 1.0, 0.0] * 10
    alone = paired_difference(rows(before), rows(after))
    same = [f"q{i // 20}" for i in range(40)]
    together = paired_difference(rows(before, same), rows(after, same))
    assert alone.clusters == 40
    assert together.clusters == 2
    assert together.p == 0.5
    assert alone.p < 0.001


def test_runs_that_agree_everywhere_may_still_differ_on_other_questions():
    tied = paired_difference(rows([1.0] * 30), rows([1.0] * 30))
    assert tied.low == pytest.approx(-tied.high)
    assert 0.05 < tied.high < 0.15


def test_of_equal_differences_without_bounds_nothing_is_known():
    shifted = paired_difference(rows([3.0] * 9), rows([4.0] * 9))
    assert (shifted.low, shifted.high) == (-math.inf, math.inf)
    assert (as_json(shifted)["low"], as_json(shifted)["high"]) == (None, None)


def test_small_clusters_do_not_make_a_large_one_look_certain():
    before, after = [0.0] * 60, [1.0] * 50 + [0.0] * 10
    questions = ["big"] * 50 + [f"q{i}" for i in range(10)]
    lopsided = paired_difference(rows(before, questions), rows(after, questions))
    even = paired_difference(rows(before), rows(after))
    assert lopsided.high - lopsided.low > 3 * (even.high - even.low)


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_monotone_and_no_smaller_than_the_p_value(ps):
    adjusted = holm(ps)
    assert all(0 <= p <= a <= 1 for p, a in zip(ps, adjusted, strict=True))
    assert [adjusted[i] for i in sorted(range(len(ps)), key=ps.__getitem__)] == sorted(adjusted)
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_equal_and_single_sizes_are_flipped_alike():
    mixed = [0.5] * 9 + [0.25, -0.75, 0.125, -0.5, 1.0]
    signs = list(product((-1, 1), repeat=len(mixed)))
    as_much = sum(abs(sum(s * d for s, d in zip(sign, mixed, strict=True))) >= abs(sum(mixed)) - 1e-9 for sign in signs)
    assert sign_flip(mixed) == pytest.approx(as_much / len(signs), abs=0.01)


def test_a_detectable_difference_is_found_as_often_as_its_power_says():
    rng = random.Random(2)
    questions, disagree, found = 300, 0.3, 0
    difference = detectable_difference(disagree, questions)
    for _ in range(200):
        up = (disagree + difference) / 2
        sums = [1.0 if (x := rng.random()) < up else -1.0 if x < disagree else 0.0 for _ in range(questions)]
        found += sign_flip(sums, seed=rng.getrandbits(30)) < 0.05
    assert 0.7 < found / 200 < 0.9
    assert questions_needed(difference, disagree) in (questions, questions + 1)


@pytest.mark.parametrize("call", [lambda: detectable_difference(0.2, 0), lambda: questions_needed(0, 0.2)])
def test_what_no_number_of_questions_shows_is_refused(call):
    with pytest.raises(UsageError, match=r"can.t be detected|n must be at least 1"):
        call()


def test_values_beyond_the_unit_get_an_interval_that_holds_their_mean():
    rng = random.Random(3)
    for size in (40, 1500):
        first, second = ([rng.gauss(mean, 2) for _ in range(size)] for mean in (5, 6))
        found = paired_difference(rows(first), rows(second))
        assert found.low < found.value < found.high
        assert 0.5 < (found.high - found.low) / (2 * 1.96 * math.sqrt(8 / size)) < 1.5
