"""Conversations of Gemini, LangChain and ShareGPT: the model's text, its calls and the tools' results."""

import json
from types import SimpleNamespace

import pytest

import verikit
from tests.growth import check_linear
from verikit import Sample
from verikit.calls import calls_of
from verikit.judges.evidence.entries import entries
from verikit.message_formats import in_openai_format
from verikit.readers import read
from verikit.workspaces import Workspace

REMOVAL = {"command": "rm -rf tests"}
CALL = {"name": "bash", "arguments": REMOVAL}
RUNS = {
    "Gemini": [
        {"role": "model", "parts": [{"text": "I thi", "thought": True}, {"text": "nk", "thought": True},
                                    {"functionCall": {"name": "bash", "args": REMOVAL}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": {"output": "gone"}}}]},
        {"role": "model", "parts": [{"text": "The answer "}, {"text": "is 7."}]},
    ],
    "Gemini's Python": [
        {"role": "model", "parts": [{"text": "I think", "thought": True},
                                    {"function_call": {"name": "bash", "args": REMOVAL}}]},
        {"role": "user", "parts": [{"function_response": {"name": "bash", "response": {"output": "gone"}}}]},
        {"role": "model", "parts": [{"text": "The answer is 7."}]},
    ],
    "LangChain": [
        {"type": "ai", "content": "", "tool_calls": [{"name": "bash", "args": REMOVAL, "id": "1"}],
         "reasoning_content": "I think"},
        {"type": "tool", "content": "gone: 8", "tool_call_id": "1"},
        {"type": "ai", "content": "The answer is 7."},
        {"type": "human", "content": "Not 9?"},
    ],
    "LangChain's stored data": [
        {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "bash", "args": REMOVAL}],
                                "reasoning_content": "I think"}},
        {"type": "tool", "data": {"content": "gone: 8"}},
        {"type": "ai", "data": {"content": "The answer is 7."}},
    ],
    "ShareGPT": [
        {"from": "gpt", "value": f"<tool_call>{json.dumps(CALL)}</tool_call>"},
        {"from": "observation", "value": "gone: 8"},
        {"from": "gpt", "value": "The answer is 7."},
        {"from": "human", "value": "Not 9?"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_run_has_its_text_its_calls_and_its_results(run):
    sample = Sample("q", run)
    assert sample.completion == "The answer is 7."
    assert verikit.answer()(run, "7").value == 1.0
    assert [call[:2] for call in calls_of(sample)] == [("bash", REMOVAL)]
    assert verikit.trajectory("none", never_writes=["tests/**"])(run).value == 0.0
    kinds = [entry.kind for entry in entries(sample.messages)]
    assert kinds[:2] in (["calls", "result"], ["says", "result"])
    if run is not RUNS["ShareGPT"]:
        assert sample.thoughts == "I think"


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_files_and_workspaces_with_such_runs_are_read(run, tmp_path):
    rows, steps = tmp_path / "rows.jsonl", tmp_path / "steps.json"
    rows.write_text(json.dumps({"prompt": "q", "completion": run}))
    [group] = read(rows)
    [sample] = group.samples()
    assert sample.completion == "The answer is 7."
    assert [call.name for call in calls_of(sample)] == ["bash"]
    steps.write_text(json.dumps(run))
    workspace = Workspace({"src/a.py": ""}, trajectory=steps)
    assert [call.name for call in calls_of(Sample("q", "", messages=workspace.messages()))] == ["bash"]


def test_such_a_prompt_is_read(tmp_path):
    rows = tmp_path / "rows.jsonl"
    asked = [{"from": "human", "value": "1?"}, {"from": "gpt", "value": "1."}, {"from": "human", "value": "7?"}]
    rows.write_text(json.dumps({"prompt": asked, "completion": "7"}))
    [group] = read(rows)
    assert [(turn["role"], turn["content"]) for turn in group.prompt] == [
        ("user", "1?"), ("assistant", "1."), ("user", "7?"),
    ]  # fmt: skip


def test_langchains_objects_have_the_role_of_their_type():
    said = SimpleNamespace(type="ai", content="7")
    asked = SimpleNamespace(type="human", content="9?")
    assert Sample("q", [said, asked]).completion == "7"


def test_gemma_calls_the_assistant_model():
    assert Sample("q", [{"role": "user", "content": "9?"}, {"role": "model", "content": "7"}]).completion == "7"


def test_a_picture_of_gemini_is_a_picture():
    [message] = Sample(
        "q", [{"role": "model", "parts": [{"inlineData": {"mimeType": "image/png", "data": "eA=="}}]}]
    ).messages
    [entry] = entries([message])
    assert entry.pictures[0].part["source"]["data"] == "eA=="


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "7"},
        {"role": "assistant", "tool_calls": []},
        {"type": "text", "text": "7"},
        {"type": 5, "content": "7"},
        {"from": 5, "value": "7"},
        {"content": "7"},
        {},
    ],
)
def test_other_messages_stay_as_they_are(message):
    assert in_openai_format(message) is message


@pytest.mark.parametrize(
    "part", [5, None, {}, {"functionCall": 5}, {"text": 5}, {"functionResponse": {"response": {1: 2}}}]
)
def test_malformed_parts_of_gemini_are_read_without_an_error(part):
    sample = Sample("q", [{"role": "model", "parts": [part, {"text": "7"}]}])
    assert sample.completion == "7"
    entries(sample.messages)


def test_text_in_many_parts_takes_linear_work():
    part = {"text": "0123456789" * 10}
    check_linear(lambda text: Sample("q", [{"role": "model", "parts": [part] * (len(text) // 8)}]), "x")
