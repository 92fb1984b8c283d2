"""Messages as a completion: the same text, thoughts and tool calls whatever stack or file they come from."""

import asyncio
import json
import pickle
from dataclasses import replace
from types import SimpleNamespace

import pytest

from verikit import Sample, verifier
from verikit.adapters import to_lm_eval, to_trl, to_verifiers, to_verl
from verikit.adapters.ray_data import ScoreBatch
from verikit.errors import UsageError
from verikit.messages import content_text, continuation
from verikit.names.spec import load
from verikit.readers import read
from verikit.responses import from_responses
from verikit.serve.protocols import NATIVE, PROTOCOLS

CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "tea"}'}}
TURNS = [
    {"role": "assistant", "content": "I look it up.", "reasoning_content": "need facts", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "search", "content": "hot"},
    {"role": "assistant", "content": [{"type": "text", "text": "It is hot."}]},
]
ASKED = [{"role": "user", "content": "tea?"}]
seen: list[Sample] = []


@verifier
def noting(sample):
    seen.append(sample)
    return 1.0


def the_sample():
    return seen.pop()


def is_whole(sample, turns=TURNS):
    return sample.completion == "It is hot." and [*sample.messages] == turns


def test_a_list_of_messages_is_a_completion():
    sample = Sample(ASKED, TURNS)
    assert (sample.completion, sample.thoughts) == ("It is hot.", "need facts")
    assert [*sample.messages] == TURNS
    assert is_whole(pickle.loads(pickle.dumps(sample)))
    assert [*replace(sample, completion="x").messages] == TURNS
    assert replace(sample, completion="").completion == ""


def test_a_text_has_no_messages():
    assert Sample("q", "text").messages == ()


def test_a_completion_that_only_calls_has_no_text():
    sample = Sample("q", [{"role": "assistant", "content": None, "tool_calls": [CALL]}])
    assert sample.completion == ""
    assert sample.messages[0]["tool_calls"] == [CALL]


@pytest.mark.parametrize("completion", [7, None, [7], [["role", "assistant"]]])
def test_what_is_neither_text_nor_messages_is_refused(completion):
    with pytest.raises(UsageError):
        Sample("q", completion)


def test_a_verifier_is_called_with_messages():
    assert noting(TURNS).value == 1.0
    assert is_whole(the_sample())


ROWS = {
    "verikit": {"prompt": ASKED, "completions": [TURNS]},
    "trl": {"prompt": ASKED, "completion": TURNS, "ground_truth": "hot"},
    "verl": {"data_source": "x", "prompt": ASKED, "reward_model": {"ground_truth": "hot"}, "responses": [TURNS]},
    "verifiers": {"example_id": 3, "prompt": ASKED, "completion": TURNS, "answer": "hot"},
    "lm-eval": {"doc_id": 0, "doc": {}, "resps": [[TURNS]], "target": "hot", "filter": "none", "arguments": {}},
    "openai": {"messages": ASKED + TURNS},
}


@pytest.mark.parametrize("name", ROWS)
def test_every_reader_keeps_calls_and_results(tmp_path, name):
    path = tmp_path / "rows.jsonl"
    row = ROWS[name] if name != "lm-eval" else ROWS[name] | {"arguments": {"gen_args_0": {"arg_0": "tea?"}}}
    path.write_text(json.dumps(row))
    reader = read(path)
    [group] = reader
    assert reader.format == name
    [sample] = group.samples()
    assert is_whole(sample)
    assert sample.thoughts == "need facts"


def test_a_verl_rollouts_messages_are_its_completion(tmp_path):
    path = tmp_path / "rows.jsonl"
    row = {
        "data_source": "x",
        "prompt": ASKED,
        "reward_model": {"ground_truth": "hot"},
        "messages": {"messages": TURNS},
    }
    path.write_text(json.dumps(row))
    [group] = read(path)
    assert is_whole(group.samples()[0])


def test_openai_choices_are_one_message_each(tmp_path):
    path = tmp_path / "batch.jsonl"
    message = {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_content": "need facts"}
    choices = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
    path.write_text(json.dumps({"custom_id": "q", "response": {"status_code": 200, "body": {"choices": choices}}}))
    [group] = read(path)
    [sample] = group.samples()
    assert (sample.completion, sample.thoughts) == ("", "need facts")
    assert sample.messages[0]["tool_calls"] == [CALL]
    assert sample.messages[0]["role"] == "assistant"


def test_a_plain_text_read_from_a_file_has_no_messages(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"prompt": "q", "completions": ["a", {"text": "b", "rm": 0.5}]}))
    [group] = read(path)
    assert [sample.messages for sample in group.samples()] == [(), ()]


def as_objects(turns):
    """As OpenAI's client and verifiers have them."""
    for turn in turns:
        calls = [
            SimpleNamespace(id=call["id"], function=SimpleNamespace(**call["function"]))
            for call in turn.get("tool_calls", [])
        ]
        yield SimpleNamespace(**{**turn, "tool_calls": calls or None})


def test_trl_hands_over_all_messages():
    assert to_trl(noting)(prompts=[ASKED], completions=[TURNS]) == [1.0]
    assert is_whole(the_sample())


def test_verifiers_hands_over_all_messages_as_mappings_or_objects():
    for completion in (TURNS, list(as_objects(TURNS))):
        asyncio.run(to_verifiers(noting)(prompt=ASKED, completion=completion, answer="hot"))
        sample = the_sample()
        assert sample.completion == "It is hot."
        assert sample.messages[0]["tool_calls"] == [CALL]
        assert sample.thoughts == "need facts"


def test_a_v1_trace_hands_over_what_follows_its_prompt():
    calls = [SimpleNamespace(id="c1", name="search", arguments='{"q": "tea"}')]
    turns = [
        {"role": "system", "content": "s"},
        *ASKED,
        SimpleNamespace(role="assistant", content=None, tool_calls=calls),
    ]
    trace = SimpleNamespace(last_reply="It is hot.", messages=[*turns, *TURNS[1:]])
    task = SimpleNamespace(prompt="tea?", answer="hot")
    asyncio.run(to_verifiers(noting)(task=task, trace=trace))
    sample = the_sample()
    assert sample.messages[0]["tool_calls"][0]["function"] == CALL["function"]
    assert [*sample.messages[1:]] == TURNS[1:]


def test_verl_hands_over_the_messages_under_the_key_it_is_told():
    info = {"prompt": ASKED, "messages": {"messages": ASKED + TURNS}}
    to_verl(noting)("x", "I look it up. hot It is hot.", "hot", info)
    assert the_sample().messages == ()
    to_verl(noting, messages="messages")("x", "I look it up. hot It is hot.", "hot", info)
    assert is_whole(the_sample())


def test_lm_eval_and_ray_hand_over_all_messages():
    to_lm_eval(noting)([[TURNS]], [{"question": "tea?"}])
    assert is_whole(the_sample())
    batch = ScoreBatch("length(0, 99)")({"completion": [TURNS, "text"]})
    assert batch["score_status"].tolist() == ["ok", "ok"]


def test_the_server_reads_messages():
    for body in ({"prompt": ASKED, "completion": TURNS}, {"prompt": ASKED, "completions": [TURNS]}):
        [sample] = NATIVE.read(body)
        assert is_whole(sample)
        assert sample.thoughts == "need facts"


def test_responses_items_become_messages():
    items = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "need facts"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look it up."}]},
        {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"q": "tea"}'},
        {"type": "function_call", "call_id": "c2", "name": "search", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "hot"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is hot."}]},
    ]
    said, called, result, last = from_responses(items)
    assert said["reasoning_content"] == "need facts"
    assert [call["function"]["arguments"] for call in called["tool_calls"]] == ['{"q": "tea"}', "{}"]
    assert (result["role"], result["tool_call_id"]) == ("tool", "c1")
    body = {"responses_create_params": {"input": "tea?"}, "response": {"output": items}, "expected_answer": "hot"}
    [sample] = PROTOCOLS["nemo-gym"].read(body)
    assert sample.completion == last["content"][0]["text"]
    assert len(sample.messages) == 4


def test_what_follows_the_prompt_is_the_completion():
    shots = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, *ASKED]
    assert [*continuation(shots + TURNS, shots)] == TURNS
    assert [*continuation(ASKED + TURNS, "tea?")] == TURNS
    assert [*continuation(TURNS, ASKED)] == TURNS
    assert [*continuation(ASKED, ASKED)] == []


def test_content_that_is_one_part_is_that_parts_text():
    assert content_text({"type": "text", "text": "hello"}) == "hello"
    assert content_text({"type": "thinking", "thinking": "hm", "text": "hm"}) == ""
    assert Sample("q", [{"role": "assistant", "content": {"type": "text", "text": "hello"}}]).completion == "hello"


def test_a_gold_answer_in_content_parts_reaches_a_reward_as_its_text():
    reward = to_trl(load("answer"))
    gold = [{"type": "text", "text": "7"}]
    said = [[{"role": "assistant", "content": text}] for text in ("7", "8")]
    assert reward(prompts=["q", "q"], completions=said, answer=[gold, gold]) == [1.0, 0.0]
