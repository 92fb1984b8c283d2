import pytest

from verikit.verifiers.overlap.f1 import F1


def test_f1_is_the_overlap_with_the_best_gold():
    score = F1()("the cat sat", ["a dog", "the cat ran off"])
    assert score.value == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3))
    assert "cat ran off" in score.reason


def test_a_padded_answer_does_not_reach_1():
    assert F1()("Paris Paris Paris", "Paris").value == pytest.approx(0.5)
