"""Rates corrected for a judge's error: closed forms, coverage of the truth, and how many labels are missing."""

import random
from collections import Counter

import pytest

from verikit.judges.calibration.corrected import corrected_rates, labels_missing

METHODS = ("by verdict", "Rogan-Gladen", "posterior")


def judged(rng, n, rate, sensitivity, specificity):
    """What is true, and what a judge of this error says."""
    truth = [float(rng.random() < rate) for _ in range(n)]
    return truth, [float(rng.random() < (sensitivity if t else 1 - specificity)) for t in truth]


def by_method(verdicts, pairs, **options):
    return {rate.method: rate for rate in corrected_rates(verdicts, pairs, **options)}


def test_the_closed_forms_are_those_of_the_papers():
    pairs = [(1.0, 1.0)] * 40 + [(0.0, 1.0)] * 10 + [(1.0, 0.0)] * 5 + [(0.0, 0.0)] * 45
    found = by_method({1.0: 600, 0.0: 400}, pairs)
    assert found["Rogan-Gladen"].value == pytest.approx((0.6 - 0.1) / (0.8 - 0.1))
    assert found["by verdict"].value == pytest.approx(0.6 * 40 / 45 + 0.4 * 10 / 55)
    for rate in found.values():
        assert 0 <= rate.low <= rate.value <= rate.high <= 1


def test_a_judge_without_error_is_believed():
    pairs = [(1.0, 1.0)] * 200 + [(0.0, 0.0)] * 200
    for rate in corrected_rates({1.0: 7000, 0.0: 3000}, pairs):
        assert rate.value == pytest.approx(0.7, abs=0.01)
        assert rate.width < 0.05


def test_of_a_judge_that_is_no_better_than_chance_nothing_is_known_by_its_rates():
    pairs = [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0)] * 25
    found = by_method({1.0: 500, 0.0: 500}, pairs)
    assert (found["Rogan-Gladen"].low, found["Rogan-Gladen"].high) == (0.0, 1.0)
    assert found["by verdict"].width < 0.3


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
def test_the_interval_covers_the_truth(rate):
    rng, covered, seen = random.Random(rate), Counter(), Counter()
    for _ in range(60):
        truth, said = judged(rng, 1000, rate, 0.9, 0.8)
        picked = rng.sample(range(1000), 100)
        for found in corrected_rates(Counter(said), [(said[i], truth[i]) for i in picked], draws=200):
            seen[found.method] += 1
            covered[found.method] += found.low <= rate <= found.high
    for method in METHODS:
        assert covered[method] / seen[method] >= 0.88


def test_labels_drawn_by_verdict_leave_the_rate_by_verdict_right():
    rng = random.Random(3)
    truth, said = judged(rng, 20_000, 0.3, 0.9, 0.7)
    passed = [i for i, verdict in enumerate(said) if verdict]
    failed = [i for i, verdict in enumerate(said) if not verdict]
    picked = rng.sample(passed, 1000) + rng.sample(failed, 50)
    found = by_method(Counter(said), [(said[i], truth[i]) for i in picked])
    assert found["by verdict"].low <= 0.3 <= found["by verdict"].high
    assert not found["Rogan-Gladen"].low <= 0.3 <= found["Rogan-Gladen"].high


def test_ties_count_half_and_have_no_rate_by_sensitivity():
    pairs = [(1.0, 1.0)] * 20 + [(0.5, 0.5)] * 20 + [(0.0, 0.0)] * 20
    found = by_method({1.0: 100, 0.5: 100, 0.0: 200}, pairs)
    assert list(found) == ["by verdict"]
    assert found["by verdict"].value == pytest.approx(0.375)


def test_a_verdict_without_labels_has_no_corrected_rate():
    assert corrected_rates({1.0: 5, 0.0: 5}, [(1.0, 1.0), (1.0, 1.0)]) == []


def test_the_missing_labels_are_about_those_that_the_width_takes():
    rng = random.Random(4)
    truth, said = judged(rng, 20_000, 0.5, 0.85, 0.85)
    verdicts = Counter(said)
    few = [(said[i], truth[i]) for i in rng.sample(range(20_000), 80)]
    missing = labels_missing(verdicts, few, 0.1)
    enough = [(said[i], truth[i]) for i in rng.sample(range(20_000), 80 + missing)]
    assert by_method(verdicts, few)["by verdict"].width > 0.12
    assert by_method(verdicts, enough)["by verdict"].width == pytest.approx(0.1, abs=0.02)
    assert labels_missing(verdicts, enough * 3, 0.1) == 0
    assert labels_missing({1.0: 10, 0.0: 10}, few, 0.01) is None
