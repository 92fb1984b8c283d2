"""Rates corrected for a judge's error: closed forms, coverage of the truth, and how many labels are missing."""

import random
from collections import Counter

import pytest

from verikit.judges.calibration.corrected import Labelled, advise, corrected_rates

METHODS = ("by verdict", "Rogan-Gladen", "posterior")


def judged(rng, n, rate, sensitivity, specificity):
    """What is true, and what a judge of this error says."""
    truth = [float(rng.random() < rate) for _ in range(n)]
    return truth, [float(rng.random() < (sensitivity if t else 1 - specificity)) for t in truth]


def apart(counts, pairs):
    """Verdicts so often, each of a prompt of its own, and labels that make these pairs with some of them."""
    verdicts = {(f"{said}-{i}", 0): said for said, count in counts.items() for i in range(count)}
    free = {said: iter([key for key, verdict in verdicts.items() if verdict == said]) for said in counts}
    return Labelled(verdicts, {next(free[said]): label for said, label in pairs})


def single(said, truth, picked):
    """One candidate a prompt, of which some are labelled."""
    return Labelled({(str(i), 0): verdict for i, verdict in enumerate(said)}, {(str(i), 0): truth[i] for i in picked})


def by_method(known, **options):
    return {rate.method: rate for rate in corrected_rates(known, **options)}


def clustered(rng, prompts, candidates, rate, alike, labels, error=0.05):
    """Candidates whose truth is alike within a prompt, a judge of this error, and labels at random."""
    verdicts, truth = {}, {}
    for i in range(prompts):
        level = rng.betavariate(rate * (1 / alike - 1), (1 - rate) * (1 / alike - 1))
        for j in range(candidates):
            truth[f"p{i}", j] = float(rng.random() < level)
            verdicts[f"p{i}", j] = abs(truth[f"p{i}", j] - (rng.random() < error))
    return Labelled(verdicts, {key: truth[key] for key in rng.sample(sorted(truth), labels)})


def test_the_closed_forms_are_those_of_the_papers():
    pairs = [(1.0, 1.0)] * 40 + [(0.0, 1.0)] * 10 + [(1.0, 0.0)] * 5 + [(0.0, 0.0)] * 45
    found = by_method(apart({1.0: 600, 0.0: 400}, pairs))
    assert found["Rogan-Gladen"].value == pytest.approx((0.6 - 0.1) / (0.8 - 0.1))
    assert found["by verdict"].value == pytest.approx(0.6 * 40 / 45 + 0.4 * 10 / 55)
    for rate in found.values():
        assert 0 <= rate.low <= rate.value <= rate.high <= 1


def test_a_judge_without_error_is_believed():
    pairs = [(1.0, 1.0)] * 200 + [(0.0, 0.0)] * 200
    for rate in corrected_rates(apart({1.0: 7000, 0.0: 3000}, pairs)):
        assert rate.value == pytest.approx(0.7, abs=0.01)
        assert rate.width < 0.05


def test_of_a_judge_that_is_no_better_than_chance_nothing_is_known_by_its_rates():
    pairs = [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0)] * 25
    found = by_method(apart({1.0: 500, 0.0: 500}, pairs))
    assert (found["Rogan-Gladen"].low, found["Rogan-Gladen"].high) == (0.0, 1.0)
    assert found["by verdict"].width < 0.3


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
def test_the_interval_covers_the_truth(rate):
    rng, covered, seen = random.Random(rate), Counter(), Counter()
    for _ in range(60):
        truth, said = judged(rng, 1000, rate, 0.9, 0.8)
        picked = rng.sample(range(1000), 100)
        for found in corrected_rates(single(said, truth, picked), draws=200):
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
    found = by_method(single(said, truth, picked))
    assert found["by verdict"].low <= 0.3 <= found["by verdict"].high
    assert not found["Rogan-Gladen"].low <= 0.3 <= found["Rogan-Gladen"].high


def test_ties_count_half_and_have_no_rate_by_sensitivity():
    pairs = [(1.0, 1.0)] * 20 + [(0.5, 0.5)] * 20 + [(0.0, 0.0)] * 20
    found = by_method(apart({1.0: 100, 0.5: 100, 0.0: 200}, pairs))
    assert list(found) == ["by verdict"]
    assert found["by verdict"].value == pytest.approx(0.375)


def test_a_verdict_without_labels_has_no_corrected_rate():
    assert corrected_rates(apart({1.0: 5, 0.0: 5}, [(1.0, 1.0), (1.0, 1.0)])) == []


def test_advice_is_about_the_labels_that_the_width_takes():
    rng = random.Random(4)
    truth, said = judged(rng, 20_000, 0.5, 0.85, 0.85)
    few = single(said, truth, rng.sample(range(20_000), 80))
    first = by_method(few)["by verdict"]
    advice = advise(few, first, 0.1)
    assert first.width > 0.12
    assert (advice.width, advice.prompts) == (0.1, 20_000)
    enough = single(said, truth, rng.sample(range(20_000), 80 + advice.more))
    assert by_method(enough)["by verdict"].width == pytest.approx(0.1, abs=0.02)
    narrow = single(said, truth, rng.sample(range(20_000), 1_000))
    assert advise(narrow, by_method(narrow)["by verdict"], 0.1).more == 0


@pytest.mark.parametrize("width", [0.2, 0.15, 0.1, 0.01])
def test_advice_never_asks_for_more_labels_than_the_run_has_verdicts(width):
    rng = random.Random(5)
    truth, said = judged(rng, 50, 0.6, 0.85, 0.85)
    known = single(said, truth, rng.sample(range(50), 40))
    found = by_method(known)["by verdict"]
    advice = advise(known, found, width)
    assert advice.more == 10
    assert width < advice.width < found.width
    assert advice.prompts > 50


def test_the_advised_number_of_prompts_gives_the_width():
    rng = random.Random(6)
    truth, said = judged(rng, 100, 0.6, 0.85, 0.85)
    known = single(said, truth, range(60))
    advice = advise(known, by_method(known)["by verdict"], 0.1)
    truth, said = judged(rng, advice.prompts, 0.6, 0.85, 0.85)
    all_labelled = single(said, truth, range(advice.prompts))
    assert by_method(all_labelled)["by verdict"].width == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("alike", [0.5, 0.8])
def test_the_interval_covers_the_truth_where_candidates_of_a_prompt_are_alike(alike):
    rng, covered, runs = random.Random(alike), Counter(), 100
    for _ in range(runs):
        for found in corrected_rates(clustered(rng, 60, 8, 0.6, alike, 300), draws=100):
            covered[found.method] += found.low <= 0.6 <= found.high
    assert min(covered[method] for method in METHODS) >= 0.9 * runs


def test_copies_of_a_candidate_tell_no_more_than_one():
    rng = random.Random(7)
    truth, said = judged(rng, 60, 0.6, 0.9, 0.8)
    one = single(said, truth, range(60))
    copied = Labelled(
        {(id, copy): verdict for (id, _), verdict in one.verdicts.items() for copy in range(8)},
        {(id, copy): label for (id, _), label in one.labels.items() for copy in range(8)},
    )
    for few, many in zip(corrected_rates(one), corrected_rates(copied), strict=True):
        assert (few.value, few.low, few.high) == pytest.approx((many.value, many.low, many.high), abs=1e-9)


def test_every_prompt_counts_the_same_however_many_candidates_it_has():
    truth = {("many", index): 1.0 for index in range(9)} | {("one", 0): 0.0}
    found = corrected_rates(Labelled(truth, truth))
    assert [rate.value for rate in found[:2]] == pytest.approx([0.5, 0.5])


def test_labels_stand_for_their_own_category_only():
    easy = {(f"e{i}", 0): 1.0 for i in range(50)}
    hard = {(f"h{i}", 0): 1.0 for i in range(50)}
    labels = dict.fromkeys(list(easy)[:40], 1.0) | dict.fromkeys(list(hard)[:5], 0.0)
    categories = dict.fromkeys(easy, "easy") | dict.fromkeys(hard, "hard")
    told = by_method(Labelled(easy | hard, labels, categories))["by verdict"]
    assert told.value == pytest.approx(0.5)
    assert by_method(Labelled(easy | hard, labels))["by verdict"].value == pytest.approx(40 / 45)
    unspoken = Labelled(easy | hard, dict.fromkeys(list(easy)[:40], 1.0), categories)
    assert corrected_rates(unspoken) == []


def test_the_posterior_covers_a_rate_near_one_of_a_weak_judge():
    rng, covered, runs = random.Random(8), 0, 0
    while runs < 100:
        truth, said = judged(rng, 1000, 0.98, 0.7, 0.6)
        found = by_method(single(said, truth, rng.sample(range(1000), 60)), draws=100)
        if "posterior" in found:
            runs += 1
            covered += found["posterior"].low <= 0.98 <= found["posterior"].high
    assert covered >= 0.93 * runs
