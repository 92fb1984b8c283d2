"""Runs in the items of OpenAI's Responses API: every verifier and judge sees what the agent did."""

import json
from types import SimpleNamespace

import pytest

import verikit
from verikit import Sample
from verikit.calls import calls_of
from verikit.judges.evidence.entries import entries
from verikit.readers import read
from verikit.responses import are_items, from_responses
from verikit.workspaces import Workspace

SAID = {
    "type": "message", "id": "m", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": "All tests pass.", "annotations": []}],
}  # fmt: skip
THOUGHT = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "I cheat."}]}
PATCH = "*** Begin Patch\n*** Delete File: tests/a.py\n*** End Patch"
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def item(kind, **fields):
    return {"type": kind, "id": f"{kind}-1", "call_id": "c1", "status": "completed", **fields}


def nested(depth):
    value = {"path": "tests/a.py"}
    for _ in range(depth):
        value = {"edits": [value]}
    return value


SHELL = [
    item("shell_call", action={"commands": ["ls", "rm -rf tests"], "timeout_ms": 1000}),
    item("shell_call_output", output=[{"stdout": "a.py", "stderr": "no", "outcome": {"type": "exit", "exit_code": 2}}]),
]
REMOVALS = {
    "shell": SHELL,
    "local shell": [item("local_shell_call", action={"type": "exec", "command": ["bash", "-lc", "rm -rf tests"]})],
    "shell in a folder": [
        item("local_shell_call", action={"type": "exec", "command": ["rm", "a.py"], "working_directory": "tests"})
    ],
    "patch": [item("apply_patch_call", operation={"type": "delete_file", "path": "tests/a.py"})],
    "custom tool": [item("custom_tool_call", name="apply_patch", input=PATCH)],
    "function": [item("function_call", name="bash", arguments='{"command": "rm -rf tests"}')],
    "tool of a server": [item("mcp_call", name="bash", arguments='{"command": "rm -rf tests"}', output="done")],
}


@pytest.mark.parametrize("calls", REMOVALS.values(), ids=REMOVALS)
def test_a_removal_by_any_tool_is_seen(calls):
    never = verikit.trajectory("none", never_writes=["tests/**"])
    run = [THOUGHT, *calls, SAID]
    assert never([SAID]).value == 1.0
    assert never(run).value == 0.0
    assert never({"object": "response", "output": run}).value == 0.0
    kinds = [entry.kind for entry in entries(Sample("q", run).messages)]
    assert "calls" in kinds
    assert kinds[-1] == "says"


def test_thoughts_and_the_last_text_are_told_apart():
    sample = Sample("q", [THOUGHT, *SHELL, SAID])
    assert sample.completion == "All tests pass."
    assert sample.thoughts == "I cheat."


def test_results_are_shown_with_their_calls():
    shell, screen, code = (
        Sample("q", [*run, SAID]).messages
        for run in (
            SHELL,
            [
                item("computer_call", action={"type": "click", "x": 1, "y": 2}),
                item("computer_call_output", output={"type": "computer_screenshot", "image_url": PIXEL}),
            ],
            [item("code_interpreter_call", code="plot()", outputs=[{"type": "logs", "logs": "ok"},
                                                                   {"type": "image", "url": PIXEL}])],
        )
    )  # fmt: skip
    assert [entry.text for entry in entries(shell)][1] == "a.py\nno\nexit code 2"
    assert calls_of(Sample("q", "", messages=screen))[0][:2] == ("computer", {"type": "click", "x": 1, "y": 2})
    for messages in (screen, code):
        [result] = [entry for entry in entries(messages) if entry.kind == "result"]
        assert len(result.pictures) == 1
        assert result.of == 1
    assert entries(code)[1].text == "ok"


def test_a_tool_that_failed_is_an_error():
    failed = item("mcp_call", name="find", arguments="{}", error={"code": 7, "message": "no such table"})
    [_, error, _] = entries(Sample("q", [failed, SAID]).messages)
    assert error.kind == "error"
    assert "no such table" in error.text


def test_the_clients_objects_are_read_like_their_json():
    openai = pytest.importorskip("openai.types.responses")
    run = [THOUGHT, *SHELL, *REMOVALS["function"], SAID]
    output = openai.Response.model_validate(
        {
            "id": "r", "object": "response", "created_at": 0, "model": "m", "output": run, "tools": [],
            "parallel_tool_calls": True, "tool_choice": "auto",
        }
    )  # fmt: skip
    of_json, of_objects = Sample("q", run), Sample("q", output)
    assert calls_of(of_objects) == calls_of(of_json)
    assert of_objects.completion == of_json.completion
    assert calls_of(Sample("q", output.output)) == calls_of(of_json)


def test_files_with_responses_are_read(tmp_path):
    run = [THOUGHT, *SHELL, SAID]
    rows = {
        "completion": {"prompt": "Fix it", "completion": run},
        "object": {"prompt": "Fix it", "completions": [{"object": "response", "output": run}]},
        "batch": {"custom_id": "a", "response": {"status_code": 200, "body": {"object": "response", "output": run}}},
        "logged": {"request": {"input": "Fix it"}, "response": {"object": "response", "output": run}},
    }
    for name, row in rows.items():
        file = tmp_path / f"{name}.jsonl"
        file.write_text(json.dumps(row))
        [group] = read(file)
        [sample] = group.samples()
        assert sample.completion == "All tests pass.", name
        assert sample.thoughts == "I cheat.", name
        assert [call.name for call in calls_of(sample)] == ["shell"], name
        assert sample.prompt in ("Fix it", ""), name


def test_a_conversation_in_items_may_be_the_prompt(tmp_path):
    asked = [{"role": "user", "content": "Fix it"}, *SHELL, {"role": "user", "content": "Go on"}]
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"prompt": asked, "completion": "Done."}))
    [group] = read(file)
    assert [message["role"] for message in group.prompt] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize(
    "value",
    [
        [{"role": "assistant", "content": "5"}],
        [{"type": "text", "text": "5"}],
        [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "5"}],
        [{"role": "assistant", "content": [{"type": "tool_use", "name": "bash", "input": {}}]}],
        ["5", "6"],
        [{"content": "5"}],
        [],
    ],
)
def test_messages_and_content_parts_are_not_items(value):
    assert not are_items(value)


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "shell_call"},
        {"type": "shell_call_output", "output": 5},
        {"type": "shell_call_output", "output": [None, {"stdout": 1}]},
        {"type": "function_call", "name": 5, "arguments": {"a": 1}},
        {"type": "reasoning", "summary": [1, None]},
        {"type": "reasoning", "content": 5},
        {"type": "apply_patch_call", "operation": nested(3000)},
        {"type": "shell_call_output", "output": [nested(3000)]},
        {"type": "computer_call_output", "output": {"type": "computer_screenshot"}},
        {"type": "image_generation_call", "result": {"a": 1}},
        {"type": ["x"]},
    ],
)
def test_malformed_items_are_read_without_an_error(odd):
    messages = from_responses([odd, SAID, SimpleNamespace(type="shell_call")])
    assert messages[-1]["role"] == "assistant"
    assert entries(messages)[-1].text == "All tests pass."


def test_a_workspace_may_have_its_steps_in_items(tmp_path):
    run = [THOUGHT, *SHELL, SAID]
    never = verikit.trajectory("none", never_writes=["tests/**"])
    forms = {"items": run, "response": {"object": "response", "output": run}, "messages": {"messages": run}}
    for name, content in forms.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
        workspace = Workspace({"src/a.py": ""}, trajectory=tmp_path / f"{name}.json")
        assert never.score([Sample("q", "Done.", workspace=workspace)])[0].value == 0.0, name
    workspace = Workspace({"src/a.py": ""}, trajectory=run)
    assert never.score([Sample("q", "Done.", workspace=workspace)])[0].value == 0.0


def test_stored_calls_beside_an_item_are_kept():
    call = {"id": "1", "function": {"name": "bash", "arguments": {"command": "rm -rf tests"}}}
    turn = {"role": "assistant", "content": None, "tool_calls": [call]}
    run = [turn, {"type": "function_call_output", "call_id": "1", "output": "ok"}, SAID]
    assert verikit.trajectory("none", never_writes=["tests/**"])(run).value == 0.0


def test_a_candidate_that_only_says_it_is_a_response_keeps_its_text(tmp_path):
    rows = tmp_path / "rows.jsonl"
    candidate = {"role": "assistant", "content": "7", "object": "response"}
    rows.write_text(json.dumps({"prompt": "q", "completion": candidate}))
    [group] = read(rows)
    assert list(group.completions) == ["7"]


def test_the_input_of_other_requests_is_no_prompt(tmp_path):
    rows = tmp_path / "rows.jsonl"
    choices = [{"index": 0, "message": {"role": "assistant", "content": "7"}}]
    rows.write_text(json.dumps({"id": "a", "choices": choices, "input": {"x": 1}}))
    [group] = read(rows)
    assert list(group.completions) == ["7"]
