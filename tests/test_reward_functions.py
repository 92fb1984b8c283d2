"""Reward functions in the forms of TRL and verl are verifiers by their names; what they can't be given is told."""

import pickle

import pytest

from verikit import Sample, load
from verikit.errors import SpecError

FUNCTIONS = """
def trl(prompts, completions, answer, **columns):
    assert len(prompts) == len(completions) == len(answer) == len(columns["level"])
    return [float(gold in text) / level for text, gold, level in zip(completions, answer, columns["level"])]

def chat(completions, **columns):
    return [float(gold in turns[0]["content"]) for turns, gold in zip(completions, columns["ground_truth"])]

def logs(completions, answer, trainer_state, log_extra, log_metric, completion_ids=None):
    log_extra("seen", completions)
    log_metric("share", 1.0)
    return [None if gold == "?" else gold in text for text, gold in zip(completions, answer)]

def verl(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": float(ground_truth in solution_str), "acc": True, "from": data_source}

def single(completion, answer):
    return float(completion == answer)

def tests(completions, tests):
    return [float(len(item)) for item in tests]

def short(completions, **columns):
    return [1.0]

def neither(first, second):
    return 1.0

def brief(sample, words=3):
    return len(sample.completion.split()) <= words
"""
SAMPLES = [
    Sample("1+1?", "<think>2?</think>It is 2.", "2", meta={"level": 1, "data_source": "sums"}),
    Sample("2+2?", "It is 5.", "4", meta={"level": 2, "data_source": "sums"}),
]


@pytest.fixture
def functions(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FUNCTIONS)
    return lambda name: load(f"{path}:{name}")


@pytest.mark.parametrize("name", ["trl", "logs", "verl"])
def test_each_usual_form_is_called_as_its_stack_calls_it(functions, name):
    reward = functions(name)
    assert [score.value for score in reward.score(SAMPLES)] == [1.0, 0.0]
    assert reward.name == name
    copy = pickle.loads(pickle.dumps(reward))
    assert [score.value for score in copy.score(SAMPLES)] == [1.0, 0.0]
    assert copy.fingerprint == reward.fingerprint


def test_the_whole_completion_is_seen_and_none_abstains(functions):
    seen = functions("single").score([Sample("?", "<think>a</think>b", "<think>a</think>b")])
    assert seen[0].value == 1.0
    (score,) = functions("logs").score([Sample("?", "x", "?")])
    assert score.status == "abstained"


def test_a_conversational_prompt_has_a_conversational_completion(functions):
    prompt = [{"role": "user", "content": "1+1?"}]
    scores = functions("chat").score([Sample(prompt, "2", "2"), Sample(prompt, "3", "2")])
    assert [score.value for score in scores] == [1.0, 0.0]


def test_a_column_that_a_row_lacks_is_an_error_of_that_row_alone(functions):
    scores = functions("tests").score([Sample("?", "x", meta={"tests": ["a", "b"]}), Sample("?", "x")])
    assert scores[0].value == 2.0
    assert (scores[1].status, scores[1].reason) == ("error", "tests requires 'tests', and the row has no such column")
    (score,) = functions("single").score([Sample("?", "x")])
    assert "requires 'answer'" in score.reason


def test_as_many_rewards_as_completions_are_required(functions):
    with pytest.raises(ValueError, match="short returned 1 rewards for 2 completions"):
        functions("short").score_batch(SAMPLES)


def test_a_function_of_a_sample_stays_one_and_other_parameters_are_refused_by_name(functions):
    assert [score.value for score in functions("brief").score(SAMPLES)] == [1.0, 1.0]
    with pytest.raises(SpecError, match="neither takes first, second, and none of them is a completion") as refused:
        functions("neither")
    assert "neither(sample)" in refused.value.hint


def test_a_reward_function_stands_within_an_expression(functions, tmp_path):
    mixed = load(f"0.5*{tmp_path}/mine.py:trl + 0.5*{tmp_path}/mine.py:brief")
    assert mixed("It is 2.", "2", level=1).value == 1.0
