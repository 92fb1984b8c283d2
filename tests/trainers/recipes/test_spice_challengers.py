"""A Challenger that is not the policy: a served model, and the start's weights as they were."""

import json
from collections import Counter

import pytest

from tests.engines.server import Server, chat_reply
from tests.trainers.recipes.scripted import Scripted
from tests.trainers.recipes.test_spice import DOCUMENT, KIND, made, reply
from verikit.errors import EngineError, VerikitError


@pytest.fixture
def served():
    """A server whose Challenger is right every second time; and the spec that asks it."""

    def answer(body, k):
        content = body["messages"][-1]["content"]
        if "First decide which kind" in content:
            return chat_reply(json.dumps(KIND))
        choices = [
            {"index": n, "message": {"content": reply() if n % 2 == 0 else "no"}, "finish_reason": "stop"}
            for n in range(body.get("n", 1))
        ]
        return {"choices": choices, "usage": {"prompt_tokens": 3, "completion_tokens": 4}}

    with Server(answer) as server:
        yield server, f"openai:{server.url}#strong"


def solver(prompt, number):
    return f"so \\boxed{{{12 if number % 2 else 13}}}"


@pytest.mark.parametrize("formats", ["model", "free_form"])
def test_a_served_challenger_asks_and_the_policy_alone_answers_and_learns(tmp_path, served, formats):
    server, spec = served
    recipe = made(tmp_path, challenger=spec, formats=formats, documents=3)
    sampler = Scripted(solver)
    rows = recipe.collect(sampler, 1)
    recipe.close()
    assert Counter(row.role for row in rows) == {"reasoner": 12}
    assert recipe.metrics()["challenger/valid"] == 0.5
    # The server saw the documents; the policy never did, and was never asked to write a question.
    sent = [body["messages"][-1]["content"] for body in server.bodies]
    assert len(sent) == (6 if formats == "model" else 3)
    assert all(DOCUMENT in content for content in sent)
    assert not any(DOCUMENT in sampler.decode(request.prompt) for request in sampler.requests)


def test_the_policy_s_own_replies_are_still_trained_without_another_challenger(tmp_path):
    from tests.trainers.recipes.test_spice import Half

    recipe = made(tmp_path)
    assert recipe.other is None
    assert {row.role for row in recipe.collect(Scripted(Half()), 1)} == {"challenger", "reasoner"}


def test_a_challenger_that_is_down_stops_the_run_by_name(tmp_path, served):
    _, spec = served
    recipe = made(tmp_path, challenger=spec)
    recipe.other.engine.submits = False
    recipe.other.engine.generate = lambda requests: Scripted(solver, failing=1).generate(requests)
    with pytest.raises(VerikitError, match=r"Challenger .*strong.* can't answer: down"):
        recipe.collect(Scripted(solver), 1)
    with pytest.raises(EngineError):
        next(probe for name, probe in recipe.probes() if name == "challenger")()


def test_replies_that_are_lost_are_asked_for_again(tmp_path, served):
    _, spec = served
    recipe = made(tmp_path, challenger=spec, documents=3)
    whole, calls = recipe.other.engine.generate, []

    def losing(requests):
        calls.append(len(requests))
        done = whole(requests)
        return [Scripted(solver, failing=1).generate(requests[:1])[0], *done[1:]] if len(calls) == 1 else done

    recipe.other.engine.submits = False
    recipe.other.engine.generate = losing
    rows = recipe.collect(Scripted(solver), 1)
    assert calls == [3, 1]
    assert Counter(row.group for row in rows) == {0: 4, 1: 4, 2: 4}


def test_a_challenger_may_be_asked_by_the_transcript(tmp_path, served):
    recipe = made(tmp_path, challenger=served[1], challenger_chat=False)
    asked = recipe._to_challenger(Scripted(solver), "Why?")
    assert asked == recipe.prompts.text("Why?")
    assert made(tmp_path, challenger=served[1])._to_challenger(None, "Why?") == [{"role": "user", "content": "Why?"}]


def test_another_challenger_s_connections_are_given_back(tmp_path, served):
    recipe, closed = made(tmp_path, challenger=served[1]), []
    recipe.other.engine.close = lambda: closed.append(True)
    recipe.close()
    assert closed
    made(tmp_path).close()


def test_a_frozen_challenger_keeps_the_start_s_weights_while_the_policy_learns(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests.trainers.conftest import make
    from tests.trainers.recipes.test_self_play_tiny import short
    from verikit.trainers.recipes.spice.tiny import SpiceTiny, SpiceTinyOptions

    model, tokenizer = SpiceTiny.make_model(SpiceTinyOptions(), 0)
    model.save_pretrained(tmp_path / "start")
    tokenizer.save_pretrained(tmp_path / "start")
    frozen = f"hf:{tmp_path / 'start'}"
    trainer = make(tmp_path / "run", short("spice-tiny", options__challenger=frozen, run__steps=2))
    try:
        own = trainer.recipe.other.engine.model.state_dict()
        before = {name: value.clone() for name, value in own.items()}
        trainer.run()  # its warm-up alone changes the policy
        learnt = {name.rpartition("model.")[2]: value for name, value in trainer.policy.named_parameters()}
        assert all(torch.equal(before[name], value) for name, value in own.items())
        assert not torch.equal(before["model.embed_tokens.weight"], learnt["embed_tokens.weight"])
        assert trainer.recipe.metrics()["attempts"] == 2
    finally:
        trainer.close()
        trainer.folder.close()
