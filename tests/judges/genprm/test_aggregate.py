import pytest

from tests.judges.genprm.reviewer import Reviewer, careful
from verikit.judges.genprm import GenPRM, StepColumn, aggregate
from verikit.types import Sample


def test_rewards_aggregate_as_by_hand():
    rewards = [0.9, 0.5, 0.8]
    found = {how: aggregate(rewards, how) for how in ("last", "min", "mean", "product")}
    assert found == {"last": 0.8, "min": 0.5, "mean": pytest.approx(2.2 / 3), "product": pytest.approx(0.36)}


@pytest.mark.parametrize(("how", "value"), [("last", 0.8), ("min", 0.3), ("mean", 2 / 3), ("product", 0.216)])
def test_a_solution_has_the_aggregate_of_its_steps(how, value):
    shares = {1: 0.9, 2: 0.3, 3: 0.8}
    score = GenPRM(Reviewer(careful(lambda k, _: shares[k])), paths=2, aggregate=how)("a\n\nb\n\nc")
    assert score.value == pytest.approx(value)
    assert [round(float(step), 6) for step in score.steps] == [0.9, 0.3, 0.8]
    assert [step.answer for step in score.steps] == ["Yes", "No", "Yes"]
    assert score.reason == f"{how} of 3 steps; the first doubtful one is step 2"
    assert score.usage["calls"] == 2 * 3 * 3
    assert score.usage["code_runs"] == 2 * 3


def test_the_final_answer_is_kept_for_votes():
    prm = GenPRM(Reviewer(careful(lambda *_: 0.9)), paths=1)
    assert prm("a\n\nSo it is \\boxed{\\frac{1}{2}}.").answer == "\\frac{1}{2}"
    assert prm.equal("0.5", "\\frac{1}{2}") is True


def test_steps_of_the_row_win_over_splitting():
    engine = Reviewer(careful(lambda *_: 0.9))
    score = GenPRM(engine, paths=1).score([Sample("P", "a\n\nb", meta={"steps": ["a and b"]})])[0]
    assert len(score.steps) == 1
    assert engine.requests[0].prompt[1]["content"] == "P\na and b"
    score = GenPRM(engine, paths=1).score([Sample("P", "a", meta={"steps": "a"})])[0]
    assert (score.status, score.reason) == ("error", "the row's `steps` must be a list of strings")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no step"),
        ("x" * 40_000, "40000 characters, over the cap of 32000"),
        ("x\n\n" * 65, "65 steps, over the cap of 64"),
    ],
)
def test_what_the_candidate_did_wrong_is_a_zero_and_costs_no_call(text, reason):
    engine = Reviewer(careful(lambda *_: 0.9))
    score = GenPRM(engine)(text)
    assert (score.value, score.reason, engine.calls) == (0.0, reason, [])


def test_stored_step_scores_are_a_process_reward_model_too():
    samples = [
        Sample("P", "a\n\nb \\boxed{4}", meta={"prm": {"scores": [0.9, 0.4, 0.7]}}),
        Sample("P", "a", meta={"prm": {"scores": [0.9, None]}}),
        Sample("P", "a", meta={"prm": {"scores": []}}),
        Sample("P", "a", meta={}),
    ]
    scores = StepColumn("prm.scores").score(samples)
    assert [score.value for score in scores] == [0.4, None, None, None]
    assert scores[0].reason == "min of 3 steps; the first doubtful one is step 2"
    assert scores[0].answer == "4"
    assert scores[1].reason == "step 2: prm.scores must contain finite numbers, got None"
    assert [score.status for score in scores[1:]] == ["error"] * 3


def test_stored_scores_of_a_real_model_are_read_as_they_stand(rows):
    stored = rows("process/mr_math_invalid.jsonl")
    samples = [Sample(row["question"], row["model_output"], meta=row) for row in stored]
    scores = StepColumn("scores.math-shepherd_mistral-7b.scores").score(samples)
    assert len(scores) == len(stored) > 0
    for row, score in zip(stored, scores, strict=True):
        kept = row["scores"]["math-shepherd_mistral-7b"]["scores"]
        assert score.value == min(kept)
        assert [float(step) for step in score.steps] == kept
