import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("lm_eval")

from tests.evals.scripted import write
from verikit.errors import UsageError
from verikit.evals.loading import Settings
from verikit.evals.models import opened_model
from verikit.evals.processbench import (
    GRID,
    average,
    best_threshold,
    f1_of,
    first_below,
    index_in,
    majority,
    marked,
    metrics,
    prompt,
)
from verikit.evals.run import run_tasks

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


def stored_rows(rows, model="reasoneval_wizardmath-7b-v1.1"):
    """The stored solutions as rows of a benchmark file with their step scores."""
    found = []
    for number, row in enumerate(rows("process/mr_math_invalid.jsonl")):
        scores = step_scores(row["scores"][model]["scores"])
        found.append(
            {
                "id": f"math-{number}",
                "problem": row["question"],
                "steps": [f"step {i}" for i in range(len(scores))],
                "label": first_error_of(row),
                "step_scores": scores,
            }
        )
    return found


def evaluated(folder, rows, **options):
    data = write(folder / "rows.jsonl", rows)
    with opened_model("step_column('step_scores')", options, told=lambda done, of: None) as lm:
        return run_tasks(
            ["verikit_processbench_math"], "stored", lm, Settings(data=data), folder / f"run-{len(options)}"
        )["tasks"]["verikit_processbench_math"]["metrics"]


def test_a_process_reward_model_is_the_model_of_the_task(tmp_path, rows):
    made = stored_rows(rows)
    scores, labels = [row["step_scores"] for row in made], [row["label"] for row in made]
    found = evaluated(tmp_path, made)
    expected = metrics([first_below(steps, 0.5) for steps in scores], labels)
    assert (found["acc_error"]["value"], found["acc_correct"]["value"], found["f1"]["value"]) == pytest.approx(
        (expected.acc_error, expected.acc_correct, expected.f1)
    )
    pairs = [pair for steps, label in zip(scores, labels, strict=True) for pair in marked(steps, label)]
    right, wrong = ([score for score, good in pairs if good is kind] for kind in (True, False))
    above = sum((a > b) + (a == b) / 2 for a in right for b in wrong) / (len(right) * len(wrong))
    assert found["auc"]["value"] == pytest.approx(above)
    assert found["auc"]["low"] < above < found["auc"]["high"]
    assert 0 < found["brier"]["value"] < 1


def test_the_threshold_of_a_split_is_chosen_on_the_other_half(tmp_path, rows):
    made = stored_rows(rows)
    for row in made:
        row["step_scores"] = [score / 3 for score in row["step_scores"]]
    at_half = evaluated(tmp_path, made)["f1"]["value"]
    chosen = evaluated(tmp_path, made, threshold="split")["f1"]["value"]
    best = best_threshold([row["step_scores"] for row in made], [row["label"] for row in made])[1].f1
    assert at_half < chosen <= best + 1e-9


def test_a_verifier_without_step_scores_and_a_bad_threshold_are_told(tmp_path):
    made = [{"id": "math-1", "problem": "1 + 1?", "steps": ["2", "3"], "label": 1, "step_scores": [0.9]}]
    with pytest.raises(UsageError, match="a threshold must be a number"):
        evaluated(tmp_path, made, threshold="best")
    with pytest.raises(UsageError, match="no option 'device'"):
        evaluated(tmp_path, made, device="cpu")
    assert "f1" not in evaluated(tmp_path, made)
    task = json.loads((tmp_path / "run-0/results.json").read_bytes())["tasks"]["verikit_processbench_math"]
    assert "not every one of the 2 steps has a score: 1 scores" in next(iter(task["reasons"]))
