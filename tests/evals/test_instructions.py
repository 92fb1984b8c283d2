import json

import pytest

pytest.importorskip("lm_eval")
pytest.importorskip("langdetect")

from tests.evals.scripted import ROWS, Scripted
from tests.evals.test_tasks import only, run
from verikit.evals.instructions import inst_level
from verikit.readers import read
from verikit.verifiers.instructions import Instructions

ASKED = [
    (["punctuation:no_comma", "detectable_format:title"], [{}, {}]),
    (["punctuation:no_comma"], [{}]),
    (["detectable_format:json_format"], [{}]),
]
ROWS_OF = [
    {"key": i, "prompt": f"Prompt {i}.", "instruction_id_list": ids, "kwargs": kwargs}
    for i, (ids, kwargs) in enumerate(ASKED)
]
SAID = {"Prompt 0.": "No title", "Prompt 1.": "None", "Prompt 2.": "Sure:\n{}"}


@pytest.mark.parametrize("task", ["ifeval", "ifbench"])
def test_the_four_accuracies_are_those_of_the_official_scorer(task, tmp_path):
    found = only(run(tmp_path, task, ROWS_OF, Scripted(lambda request: SAID[request.prompt])))
    metrics = {name: metric["value"] for name, metric in found["metrics"].items()}
    assert metrics["prompt_level_strict_acc"] == pytest.approx(1 / 3)
    assert metrics["prompt_level_loose_acc"] == pytest.approx(2 / 3)
    assert metrics["inst_level_strict_acc"] == pytest.approx(2 / 4)
    assert metrics["inst_level_loose_acc"] == pytest.approx(3 / 4)
    assert found["own"] == f"prompt_level_{'strict' if task == 'ifeval' else 'loose'}_acc"
    assert found["metrics"]["inst_level_strict_acc"]["n"] == 3


def test_a_reply_that_never_comes_follows_nothing_and_counts(tmp_path):
    said = {**SAID, "Prompt 2.": "<think>never closed"}
    found = only(run(tmp_path, "ifeval", ROWS_OF, Scripted(lambda request: said[request.prompt])))
    metrics = {name: metric["value"] for name, metric in found["metrics"].items()}
    assert metrics["prompt_level_strict_acc"] == metrics["prompt_level_loose_acc"] == pytest.approx(1 / 3)
    assert metrics["inst_level_strict_acc"] == metrics["inst_level_loose_acc"] == pytest.approx(2 / 4)
    assert (found["unscored"], found["unparsed"]) == ({}, 1)


def test_the_rows_of_a_run_are_scored_again_from_its_file(tmp_path):
    run(tmp_path, "ifeval", ROWS_OF, Scripted(lambda request: SAID[request.prompt]))
    (file,) = (tmp_path / "run").glob("samples_*.jsonl")
    samples = [sample for group in read(str(file)) for sample in group.samples()]
    assert [score.value for score in Instructions().score(samples)] == [0.0, 1.0, 0.0]


def test_a_row_with_an_unknown_instruction_takes_part_in_no_accuracy(tmp_path):
    rows = [*ROWS["ifeval"], {**ROWS["ifeval"][0], "key": 2, "instruction_id_list": ["no:such", "no:other"]}]
    found = only(run(tmp_path, "ifeval", rows, Scripted(lambda request: "* a\n* b")))
    assert found["metrics"]["prompt_level_strict_acc"]["value"] == 1.0
    assert found["metrics"]["inst_level_strict_acc"]["n"] == 1
    assert found["unscored"] == {"prompt_level_strict_acc": 1}


def test_the_interval_of_pooled_instructions_is_over_prompts():
    assert inst_level.estimate([]) is None
    some = inst_level.estimate([[1, 2], [3, 3], [0, 1]] * 20)
    assert some.value == pytest.approx(4 / 6)
    assert 0 < some.low < some.value < some.high < 1
    every = inst_level.estimate([[2, 2], [1, 1]])
    assert (every.value, every.high) == (1.0, 1.0)
    assert every.low < 1.0
    json.dumps(every.as_row())
