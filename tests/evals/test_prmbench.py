"""PRMBench: the benchmark's own counts in another hand, and the task end to end."""

import json
import random

import pytest

pytest.importorskip("lm_eval")

from tests.evals.scripted import write
from verikit.errors import SchemaError
from verikit.evals.loading import Settings
from verikit.evals.models import opened_model
from verikit.evals.prmbench import StepCounts, count_steps, f1, negative_f1, prmbench_doc, prmscore
from verikit.evals.run import run_tasks


def official(solutions):
    """F1 and negative F1 of (scores, wrong steps from 1) as `eval_on_hallucination_step` counts them."""
    tp = fp = tn = fn = 0
    for scores, errors in solutions:
        wrong = [step - 1 for step in errors]
        for index, score in enumerate(scores):
            label = score >= 0.5
            if index in wrong:
                fp, tn = fp + label, tn + (not label)
            else:
                tp, fn = tp + label, fn + (not label)
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    negative, found = tn / (tn + fn), tn / (tn + fp)
    return 2 * precision * recall / (precision + recall), 2 * negative * found / (negative + found)


def made(rows, seed=0):
    """Rows with step scores of a model that is often right."""
    rng = random.Random(seed)
    for row in rows:
        wrong = set(row["error_steps"])
        row["step_scores"] = [
            min(1.0, max(0.0, rng.gauss(0.35 if number in wrong else 0.7, 0.25)))
            for number in range(1, len(row["modified_process"]) + 1)
        ]
    return rows


def written(n=40):
    """Rows of the benchmark's form."""
    rng = random.Random(1)
    kinds = ("circular", "confidence", "deception")
    for i in range(n):
        steps = [f"step {k}" for k in range(1, rng.randint(3, 9))]
        yield {
            "idx": f"p{i}",
            "modified_question": f"{i}?",
            "modified_process": steps,
            "error_steps": sorted(rng.sample(range(1, len(steps) + 1), rng.randint(0, 2))),
            "classification": kinds[i % 3],
        }


def evaluated(folder, rows):
    data = write(folder / "rows.jsonl", rows)
    with opened_model("step_column('step_scores')", {}, told=lambda done, of: None) as lm:
        found = run_tasks(["verikit_prmbench"], "stored", lm, Settings(data=data), folder / "run")
    return found["tasks"]["verikit_prmbench"]


def test_the_task_gives_the_benchmarks_own_counts(tmp_path):
    rows = made(list(written()))
    metrics = evaluated(tmp_path, rows)["metrics"]
    right, wrong = official([(row["step_scores"], row["error_steps"]) for row in rows])
    assert metrics["f1"]["value"] == pytest.approx(right)
    assert metrics["negative_f1"]["value"] == pytest.approx(wrong)
    assert metrics["prmscore"]["value"] == pytest.approx((right + wrong) / 2)
    of_kind = official([(r["step_scores"], r["error_steps"]) for r in rows if r["classification"] == "circular"])
    assert metrics["circular"]["value"] == pytest.approx(sum(of_kind) / 2)
    assert metrics["prmscore"]["low"] < metrics["prmscore"]["value"] < metrics["prmscore"]["high"]
    first = [row["step_scores"][min(row["error_steps"]) - 1] < 0.5 for row in rows if row["error_steps"]]
    assert metrics["first_error_acc"]["value"] == pytest.approx(sum(first) / len(first))


def test_the_stored_rows_of_the_benchmark_are_read(tmp_path, rows):
    stored = made(rows("process/prmbench_subset400.jsonl"))
    metrics = evaluated(tmp_path, stored)["metrics"]
    right, wrong = official([(row["step_scores"], row["error_steps"]) for row in stored])
    assert metrics["prmscore"]["value"] == pytest.approx((right + wrong) / 2)
    assert {row["classification"] for row in stored} <= set(metrics)


def test_a_solution_without_step_scores_is_left_out_and_told(tmp_path):
    rows = made(list(written(6)))
    del rows[0]["step_scores"]
    found = evaluated(tmp_path, rows)
    assert found["metrics"]["prmscore"]["n"] == 5


def test_a_step_that_there_is_not_says_nothing():
    row = next(written())
    doc = prmbench_doc(row | {"error_steps": [2, 99]})
    assert (doc["error_steps"], doc["answer"]) == ([2], ["1"])


def test_nothing_to_divide_is_zero():
    assert prmscore(StepCounts(0, 0, 0, 0)) == 0
    assert (f1(count_steps([True, True], [])), negative_f1(count_steps([True, True], []))) == (1, 0)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"error_steps": "5"}, "error_steps"),
        ({"error_steps": [0]}, "error_steps"),
        ({"modified_process": []}, "steps"),
    ],
)
def test_a_row_of_another_form_names_its_field(change, field):
    with pytest.raises(SchemaError) as raised:
        prmbench_doc(next(written()) | change)
    assert raised.value.field == field


def test_a_model_that_asks_is_refused(tmp_path):
    data = write(tmp_path / "rows.jsonl", list(written(3)))
    outputs = write(tmp_path / "out.jsonl", [{"question": f"{i}?", "output": json.dumps([1])} for i in range(3)])
    with (
        opened_model(f"replay:{outputs}", {}, told=lambda done, of: None) as lm,
        pytest.raises(SchemaError, match="no step scores"),
    ):
        run_tasks(["verikit_prmbench"], "stored", lm, Settings(data=data), tmp_path / "run")
