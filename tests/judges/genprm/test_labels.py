"""Monte Carlo labels: how many completions, what counts as progress, and when the first wrong step is known."""

from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.judges.genprm.synth.labels import agrees, completions_for, step_labels, with_zeros

STEPS = [F(5, 10), F(4, 10), F(3, 10), F(0), F(2, 10)]


@pytest.mark.parametrize(
    ("value", "count"), [("0", 128), ("0.05", 128), ("0.1", 64), ("0.5", 64), ("0.899", 64), ("0.9", 32), ("1", 32)]
)
def test_how_many_completions_depends_on_pass_at_1(value, count):
    assert completions_for(F(value)) == count


def test_after_the_first_zero_every_value_is_zero():
    assert with_zeros(STEPS) == [F(5, 10), F(4, 10), F(3, 10), 0, 0]
    assert with_zeros([]) == []


def test_the_papers_example():
    assert step_labels(F(1, 2), STEPS) == [True, True, False, False, False]
    assert step_labels(F(1, 2), STEPS, "hard") == [True, True, True, False, False]
    assert step_labels(F(1, 2), STEPS, "difference", F(-1, 10)) == [True, True, True, False, True]


def test_a_ratio_of_exactly_the_threshold_is_progress():
    assert (3 / 5) / (3 / 4) < 0.8  # in floats it is not
    assert step_labels(F(3, 4), [F(3, 5)]) == [True]


def test_nothing_over_nothing_is_no_progress():
    assert step_labels(F(0), [F(0), F(1)]) == [False, False]


@given(st.integers(1, 128), st.lists(st.tuples(st.integers(0, 64), st.just(64)), min_size=1, max_size=8))
def test_labels_are_those_of_whole_number_arithmetic(right, counts):
    labels = step_labels(F(right, 128), [F(a, n) for a, n in counts])
    dead = False
    before = (right, 128)
    for label, (a, n) in zip(labels, counts, strict=True):
        a = 0 if dead else a
        b, k = before
        assert label == (b > 0 and 5 * a * k >= 4 * b * n)
        dead, before = a == 0, (a, n)


def test_one_disagreement_drops_the_solution():
    labels = [True, True, False]
    assert agrees(labels, [True, True, False])
    assert not agrees(labels, [True, False, False])
    assert not agrees(labels, [True, True, None])
    assert not agrees(labels, [True, True])
