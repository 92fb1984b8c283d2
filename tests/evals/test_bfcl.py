"""The BFCL task on its files, and against bfcl-eval's own checker."""

import json
import random

import pytest

pytest.importorskip("lm_eval")

from tests.evals.scripted import Scripted
from verikit.errors import SchemaError
from verikit.evals.bfcl import described, prompt
from verikit.evals.data import read_docs
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings
from verikit.evals.run import run_tasks

TOOL = {
    "name": "pay",
    "description": "Pay.",
    "parameters": {"type": "dict", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
}


def row(id, question, **more):
    return {"id": id, "question": [[{"role": "user", "content": question}]], "function": [TOOL]} | more


def write(folder, name, rows, golds=None):
    path = folder / f"BFCL_v4_{name}.json"
    path.write_text("\n".join(map(json.dumps, rows)))
    if golds:
        (folder / "possible_answer").mkdir(exist_ok=True)
        (folder / "possible_answer" / path.name).write_text("\n".join(map(json.dumps, golds)))
    return str(path)


def accuracy(data, answer, tmp_path):
    lm = EngineLM(Scripted(answer), seed=0)
    found = run_tasks(["verikit_bfcl"], "scripted", lm, Settings(data=data), tmp_path / "run")["tasks"]["verikit_bfcl"]
    assert not found["unscored"], found
    return found["metrics"]["acc"]["value"]


def test_golds_come_from_the_folder_beside_as_they_are_published(tmp_path):
    rows = [row("simple_python_0", "Pay 3."), row("simple_python_1", "Pay 4.")]
    golds = [{"id": f"simple_python_{i}", "ground_truth": [{"pay": {"sum": [3 + i]}}]} for i in (0, 1)]
    data = write(tmp_path, "simple_python", rows, golds)
    assert accuracy(data, lambda request: "[pay(sum=3)]", tmp_path) == 0.5


def test_golds_may_stand_in_the_row_and_irrelevance_needs_none(tmp_path):
    rows = [
        row("simple_python_0", "Pay 3.", ground_truth=[{"pay": {"sum": [3]}}]),
        row("irrelevance_0", "Sing."),
        row("live_relevance_0-0-0", "Pay something."),
    ]
    data = write(tmp_path, "mixed", rows)
    assert [doc["category"] for doc in read_docs(data, "calls")] == ["simple_python", "irrelevance", "live_relevance"]
    assert accuracy(data, lambda request: "[pay(sum=3)]", tmp_path) == pytest.approx(2 / 3)


def test_an_item_without_a_gold_says_where_it_is_looked_for(tmp_path):
    with pytest.raises(SchemaError, match="possible_answer"):
        read_docs(write(tmp_path, "simple_python", [row("simple_python_0", "Pay 3.")]), "calls")


def test_the_prompt_shows_the_tools_and_java_parameters_as_text(tmp_path):
    rows = [row("simple_java_0", "Pay.", ground_truth=[{"pay": {"sum": ["3"]}}])]
    (doc,) = read_docs(write(tmp_path, "x", rows), "calls")
    shown = prompt(doc)
    assert "Java 8 SDK syntax" in shown
    assert "This is Java integer type parameter in string representation." in shown
    assert described(TOOL, None)["parameters"] == TOOL["parameters"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("category", ["simple_python", "simple_javascript", "live_parallel_multiple", "live_relevance"])
def test_made_outputs_get_the_leaderboards_accuracy(category, tmp_path):
    pytest.importorskip("bfcl_eval", reason="pip install --no-deps bfcl-eval")
    from benchmarks.tool_calls import Peer, outputs

    peer, draw = Peer(None), random.Random(0)
    made = {}
    for output in outputs(peer.folder):
        chance = 0.5 if output.kind in ("right", "call") else 0.1
        if (
            output.category == category
            and output.form == "source"
            and (output.item not in made or draw.random() < chance)
        ):
            made[output.item] = output
    data = str(peer.folder / f"BFCL_v4_{category}.json")
    replies = {prompt(doc): made[doc["id"]].text for doc in read_docs(data, "calls")}
    expected = sum(map(peer, made.values())) / len(made)
    assert 0 < expected < 1
    assert accuracy(data, lambda request: replies[request.prompt], tmp_path) == pytest.approx(expected)
