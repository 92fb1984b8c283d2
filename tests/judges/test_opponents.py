import json

import pytest

from tests.judges.scripted import Scripted
from verikit.errors import EngineError, SchemaError, VerikitError
from verikit.judges.opponents import Opponents


def test_an_answer_is_made_once_and_found_again_from_the_file(tmp_path):
    path = tmp_path / "opponents.jsonl"
    engine = Scripted(lambda request: "answer to " + request.prompt[0]["content"])
    pool = Opponents(path)
    assert pool.fill("14B", ["p", "q", "p"], engine) == {}
    assert engine.calls == [2]
    assert pool.fill("14B", ["p", "q"], engine) == {}
    assert engine.calls == [2]
    assert Opponents(path).answer("14B", "p") == "answer to p"
    assert Opponents(path).answer("14B", [{"role": "user", "content": "p"}]) == "answer to p"


def test_a_miss_another_model_and_a_changed_prompt_are_errors(tmp_path):
    pool = Opponents(tmp_path / "o.jsonl")
    pool.fill("14B", ["p"], Scripted(lambda _: "x"))
    for model, prompt in (("32B", "p"), ("14B", "p "), ("14B", "")):
        with pytest.raises(VerikitError, match="no answer"):
            pool.answer(model, prompt)


def test_an_engine_failure_leaves_a_gap_not_an_empty_answer(tmp_path):
    pool = Opponents(tmp_path / "o.jsonl")
    failed = pool.fill("14B", ["p"], Scripted(lambda _: EngineError("down")))
    assert [str(error) for error in failed.values()] == ["down"]
    assert len(pool) == 0
    pool.fill("14B", ["p"], Scripted(lambda _: "back"))
    assert pool.answer("14B", "p") == "back"


def test_a_file_that_is_something_else_is_refused_by_line(tmp_path):
    (tmp_path / "o.jsonl").write_text(json.dumps({"model": "a", "key": "k", "completion": "x"}) + "\n[1]\n")
    with pytest.raises(SchemaError, match=":2"):
        Opponents(tmp_path / "o.jsonl")
