from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("lm_eval")

from verikit.evals.processbench import (
    GRID,
    average,
    best_threshold,
    f1_of,
    first_below,
    index_in,
    majority,
    metrics,
    prompt,
)

labels = st.lists(st.tuples(st.integers(-1, 4), st.one_of(st.none(), st.integers(-1, 4))), min_size=1, max_size=30)


def independent(predictions, golds):
    """The paper's definition, in exact arithmetic."""
    erroneous = [p == g for p, g in zip(predictions, golds, strict=True) if g >= 0]
    correct = [p == -1 for p, g in zip(predictions, golds, strict=True) if g < 0]
    a = Fraction(sum(erroneous), len(erroneous)) if erroneous else Fraction(0)
    b = Fraction(sum(correct), len(correct)) if correct else Fraction(0)
    return a, b, 2 * a * b / (a + b) if a + b else Fraction(0)


@given(labels)
def test_accuracies_and_f1_are_the_papers(pairs):
    golds, predictions = [gold for gold, _ in pairs], [guess for _, guess in pairs]
    found = metrics(predictions, golds)
    assert (found.acc_error, found.acc_correct, found.f1) == pytest.approx(
        tuple(map(float, independent(predictions, golds)))
    )
    assert f1_of([[gold == -1, float(guess == gold)] for gold, guess in pairs]) == pytest.approx(found.f1)


def test_golden_values():
    golds = [0] * 5 + [-1] * 10
    assert metrics([0, 0, 0, 1, None] + [-1] * 9 + [2], golds).f1 == pytest.approx(0.72)
    nothing = metrics([None] * 15, golds)
    assert (nothing.acc_error, nothing.acc_correct, nothing.f1) == (0.0, 0.0, 0.0)


def test_the_average_is_the_plain_mean_of_f1_whatever_the_sizes():
    small, large = metrics([0, -1], [0, -1]), metrics([None] * 100 + [-1], [0] * 100 + [-1])
    assert average({"gsm8k": small, "math": large}) == 0.5


def test_the_majority_is_of_what_could_be_read_and_the_first_on_a_tie():
    assert majority([None, None, None, 2]) == 2
    assert majority([3, 1, 1, 3]) == 3
    assert majority([None]) is None


@pytest.mark.parametrize(
    ("reply", "index"),
    [
        ("It fails in \\boxed{2}.", 2),
        ("\\boxed{0} or rather \\boxed{-1}", -1),
        ("\\boxed{\\text{paragraph_3}}", 3),
        ("\\boxed{none}", None),
        ("paragraph 4", None),
        ("\\boxed{1, 2}", None),
        ("\\boxed{1" + "0" * 50 + "}", None),
    ],
)
def test_the_index_is_read_from_the_last_box_and_nowhere_else(reply, index):
    assert index_in(reply) == index


def test_steps_are_shown_from_zero():
    text = prompt({"question": "1 + 1?", "steps": ["so 2", "thus 3"]})
    assert "<paragraph_0>\nso 2\n</paragraph_0>\n\n<paragraph_1>\nthus 3\n</paragraph_1>" in text


@pytest.mark.parametrize(
    "model", ["math-shepherd_mistral-7b", "reasoneval_wizardmath-7b-v1.1", "reasoneval_llemma-34b"]
)
def test_stored_step_scores_give_what_an_independent_count_gives(model, rows):
    stored = rows("process/mr_math_invalid.jsonl")
    scores = [step_scores(row["scores"][model]["scores"]) for row in stored]
    golds = [first_error_of(row) for row in stored]
    for threshold in (0.3, 0.5, 0.58):
        guesses = [next((i for i, s in enumerate(steps) if s < threshold), -1) for steps in scores]
        found = metrics([first_below(steps, threshold) for steps in scores], golds)
        assert (found.acc_error, found.acc_correct, found.f1) == pytest.approx(
            tuple(map(float, independent(guesses, golds)))
        )
    at, best = best_threshold(scores, golds)
    assert best.f1 == max(metrics([first_below(steps, t) for steps in scores], golds).f1 for t in GRID)
    assert at in GRID


def step_scores(stored):
    """ReasonEval gives three probabilities a step: wrong, neutral, right."""
    return [sum(step[1:]) if isinstance(step, list) else step for step in stored]


def first_error_of(row):
    label = row["model_output_solution_first_error_step"]
    return -1 if label == "N/A" else int(label) - 1
