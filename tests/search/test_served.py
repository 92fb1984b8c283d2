"""The loop through an OpenAI-compatible server, by text and by conversation."""

import pytest

from tests.engines.server import Server
from tests.search.scripted import Table
from verikit.engines.openai import OpenAI
from verikit.retrieval import Passage
from verikit.search import evidence, search

LINES = ["first <|begin_of_query|>x<|end_of_query|> ignored", "then <answer>1</answer> ignored"]
BLOCK = evidence([Passage("T", "text")])


def completion(body, k):
    """Say the line that follows what was said, cut at the first stop as servers do."""
    chat = "messages" in body
    said = "".join(str(message["content"]) for message in body["messages"]) if chat else body["prompt"]
    text = LINES["<|end_of_query|>" in said]
    text = text[: min(at for stop in body["stop"] if (at := text.find(stop)) >= 0)]
    return {
        "choices": [
            {"index": 0, "finish_reason": "stop", **({"message": {"content": text}} if chat else {"text": text})}
        ]
    }


@pytest.mark.parametrize("prompt", ["Q", [{"role": "user", "content": "Q"}]], ids=["text", "chat"])
def test_a_servers_cut_stop_texts_are_put_back(prompt):
    with (
        Server(completion, models=[{"id": "m", "owned_by": "vllm"}]) as server,
        OpenAI(server.url, "m", server="vllm") as engine,
    ):
        (trace,) = search(engine, Table({"x": [Passage("T", "text")]}), [prompt])
    assert trace.error is None
    assert trace.text == f"first <|begin_of_query|>x<|end_of_query|>{BLOCK}then <answer>1</answer>"
    assert (trace.answer, trace.finished, trace.ids) == ("1", True, [])


def test_a_chat_server_that_cannot_continue_is_named_and_works_by_turns():
    question = [[{"role": "user", "content": "Q"}]]
    with Server(completion) as server, OpenAI(server.url, "m", server="openai") as engine:
        (trace,) = search(engine, Table({"x": [Passage("T", "text")]}), question)
        assert "only vLLM continues" in str(trace.error)
        (trace,) = search(engine, Table({"x": [Passage("T", "text")]}), question, turns=True)
    assert trace.answer == "1"
    assert [message["role"] for message in server.bodies[-1]["messages"]] == ["user", "assistant", "user"]
