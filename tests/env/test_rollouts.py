"""Stored rollouts of other stacks: what is read of them, and whether a verifier agrees with their rewards."""

import asyncio
import json
import math
import re

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT
from verikit import Sample, Score, verifier
from verikit.cli import cli
from verikit.cli.env import _completions
from verikit.env import Rollout, check, read
from verikit.env.gym_fields import TaskIndex, prepared
from verikit.env.rollouts import FORMS, _of_row
from verikit.errors import SchemaError, UsageError
from verikit.readers import read as read_rows


def gym(text, reward, **fields):
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    asked = {"input": [{"role": "user", "content": "6 * 7?"}], "tools": [{"name": "f"}]}
    return {"responses_create_params": asked, "response": {"output": [message]}, "reward": reward} | fields


def trace(text, score, **fields):
    nodes = [
        {"message": {"role": "user", "content": "6 * 7?"}},
        {"message": {"role": "assistant", "content": "a dead branch"}, "parent": 0},
        {"message": {"role": "assistant", "content": text}, "parent": 0, "sampled": True},
    ]
    data = {"idx": 3, "prompt": "6 * 7?", "answer": "42", "level": 2}
    rewards = {"right": None if score is None else {"score": score, "weight": 0.5}}
    return {"task": {"type": "T", "data": data}, "nodes": nodes, "rewards": rewards, "ok": True} | fields


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_nemo_gyms_rollouts_are_samples_with_their_rewards(tmp_path):
    rows = [
        gym("42", 1.0, expected_answer="42", _ng_task_index=0, verifier_metadata={"level": 3}),
        gym("41", 0, expected_answer="42", reward_components={"right": 0, "note": "x"}),
        gym("41", 0.0, expected_answer="42", mask_sample=True, failure_kind="judge_failed", failure_reason="away"),
        gym("41", 0.0, expected_answer="42", instance_config={"mask_sample": True}),
        gym("41", float("nan")),
    ]
    found = list(read(written(tmp_path / "rollouts.jsonl", rows)))
    assert [item.reward for item in found] == [1.0, 0.0, None, None, None]
    first = found[0].sample
    assert (first.id, first.answer, first.completion) == ("0", "42", "42")
    assert first.prompt == [{"role": "user", "content": "6 * 7?"}]
    assert (first.meta["level"], first.meta["tools"]) == (3, [{"name": "f"}])
    assert "reward" not in first.meta
    assert found[1].rewards == {"right": 0.0}
    assert found[2].why == "judge_failed: away"
    assert found[0].where.endswith("rollouts.jsonl:1")


def test_verifiers_traces_give_the_last_branch_and_the_weighted_sum(tmp_path):
    lost = trace("?", None, ok=False, errors=[{"type": "E", "message": "the judge is away"}])
    episode = {"id": "e", "task": {}, "traces": [trace("42", 1.0), lost, trace("ignored", 1.0, root_reply="43")]}
    written(tmp_path / "traces.jsonl", [episode])
    right, failed, other = read(tmp_path)  # the run's folder
    assert (right.reward, right.rewards) == (0.5, {"right": 1.0})
    assert (right.sample.completion, right.sample.answer, right.sample.meta) == ("42", "42", {"idx": 3, "level": 2})
    assert [message["role"] for message in right.sample.messages] == ["assistant"]
    assert (failed.reward, failed.why) == (None, "the judge is away")
    assert other.sample.completion == "43"


def test_verifiers_older_results_keep_their_info_as_meta(tmp_path):
    rows = [
        {"example_id": 0, "prompt": "6 * 7?", "completion": "42", "answer": "42", "reward": 1.0, "info": {"level": 2}},
        {"example_id": 1, "prompt": "?", "completion": [{"role": "assistant", "content": "5"}], "reward": None},
        {"example_id": 2, "prompt": "?", "completion": "", "reward": 0.0, "error": "ModelError"},
    ]
    first, second, third = read(written(tmp_path / "results.jsonl", rows))
    assert (first.sample.meta["level"], first.reward) == (2, 1.0)
    assert (second.sample.completion, second.reward) == ("5", None)
    assert (third.reward, third.why) == (None, "ModelError")


def trial(folder, rewards, text="42", error=None):
    (folder / "agent").mkdir(parents=True)
    steps = [
        {"step_id": 1, "source": "user", "message": "Write 6 * 7."},
        {
            "step_id": 2,
            "source": "agent",
            "message": [{"type": "text", "text": "I look."}],
            "tool_calls": [{"tool_call_id": "c", "function_name": "ls", "arguments": {"path": "."}}],
            "observation": {"results": [{"source_call_id": "c", "content": "a.txt"}]},
        },
        {"step_id": 3, "source": "agent", "message": text},
    ]
    (folder / "agent" / "trajectory.json").write_text(json.dumps({"schema_version": "ATIF-v1.7", "steps": steps}))
    result = {"trial_name": folder.name, "task_name": "sums", "verifier_result": {"rewards": rewards}}
    result["exception_info"] = error and {"exception_type": "Timeout", "exception_message": error}
    (folder / "result.json").write_text(json.dumps(result))


def test_harbors_trials_give_the_agents_messages_and_what_the_tests_wrote(tmp_path):
    trial(tmp_path / "a", {"reward": 1})
    trial(tmp_path / "b", {"speed": 0.5, "right": 1.0})
    trial(tmp_path / "c", None, error="600 s")
    trial(tmp_path / "d", {"accuracy": 0.25})
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "result.json").write_text('{"trial_name": "e", "verifier_result": {"rewards": {"reward": NaN}}}')
    (tmp_path / "result.json").write_text('{"n_total_trials": 5}')  # the job's own
    found = list(read(tmp_path))
    assert [item.reward for item in found] == [1.0, None, None, 0.25, None]
    assert [message["role"] for message in found[0].sample.messages] == ["assistant", "tool", "assistant"]
    assert found[0].sample.messages[0]["tool_calls"][0]["function"] == {"name": "ls", "arguments": '{"path": "."}'}
    assert (found[0].sample.prompt, found[0].sample.completion) == ("Write 6 * 7.", "42")
    assert "several rewards" in found[1].why
    assert found[2].why == "Timeout: 600 s"
    assert check(tmp_path, "regex('4')").compared == 2


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "a", "assistant", "text"])
KEYS = st.sampled_from(
    "responses_create_params response output input reward traces task data nodes message prompt completion rewards "
    "errors info role content parent score tool_calls".split()
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))


@pytest.mark.parametrize("keys", [known for _, known, _ in FORMS], ids=[name for name, _, _ in FORMS])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_row_of_a_form_is_rollouts_or_a_usage_error(keys, data):
    row = data.draw(st.dictionaries(KEYS, VALUES, max_size=3)) | {key: data.draw(VALUES) for key in keys}
    try:
        found = list(_of_row(row, "f:1", None))
    except UsageError:
        return
    for item in found:
        assert isinstance(item.sample, Sample)
        assert item.reward is None or math.isfinite(item.reward)
        json.dumps(item.row(), default=str)


def test_completions_that_cant_be_read_are_named_not_dropped(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"completion": "1"}\n{broken\n{"completion": "2"}\n')
    first, bad, last = _completions(str(tmp_path / "rows.jsonl"))
    assert (first["completion"], last["completion"]) == ("1", "2")
    assert "rows.jsonl:2" in str(bad)


def test_what_is_told_of_a_row_holds_no_control_characters_of_it(tmp_path):
    (tmp_path / "rows.jsonl").write_text(json.dumps({"\x1b]0;title\x07": 1}) + "\n")
    told = CliRunner().invoke(cli, ["env", "read", str(tmp_path / "rows.jsonl")])
    assert "skipped" in told.stderr
    assert not {"\x1b", "\x07"} & set(told.stderr)


def test_a_row_of_no_form_is_left_out_by_name(tmp_path):
    path = written(
        tmp_path / "x.jsonl", [{"question": "?"}, gym("42", 1.0), {"responses_create_params": 1, "response": 2}]
    )
    bad, good, worse = read(path)
    assert "must be a rollout" in str(bad)
    assert "question" in bad.hint
    assert isinstance(good, Rollout)
    assert (worse.line, worse.field) == (3, "responses_create_params")


@verifier
def moody(sample):
    return Score.error("away") if "fail" in sample.completion else float(sample.completion == sample.answer)


def test_agreement_tells_equal_different_unscored_and_unrewarded_apart(tmp_path):
    rows = [
        gym("42", 0.9999, expected_answer="42"),
        gym("41", 1.0, expected_answer="42"),
        gym("fail", 0.0, expected_answer="42"),
        gym("42", 0.0, expected_answer="42", mask_sample=True),
        {"question": "?"},
    ]
    found = check(written(tmp_path / "rollouts.jsonl", rows), moody)
    assert (found.equal, found.compared, found.share) == (1, 2, 0.5)
    assert [(item.reward, item.score.value) for item in found.differ] == [(1.0, 0.0)]
    assert [item.score.reason for item in found.unscored] == ["away"]
    assert (len(found.unrewarded), len(found.unreadable)) == (1, 1)
    assert check(read(tmp_path / "rollouts.jsonl"), moody, tolerance=1e-6).equal == 0
    assert check([], moody).share is None


def test_the_command_checks_and_writes_rows_that_verikit_reads(tmp_path):
    rows = [gym("42", 1.0, expected_answer="42"), gym("\\boxed{4\x1b[31m}", 1.0, expected_answer="5")]
    path = written(tmp_path / "rollouts.jsonl", rows)
    run = CliRunner().invoke
    told = run(cli, ["env", "check", str(path), "answer"])
    assert (told.exit_code, told.output.splitlines()[0]) == (0, "equal: 1 of 2 (50.0 %)")
    assert "\x1b" not in told.output
    assert (
        run(cli, ["env", "check", str(path), "answer", "--fail-under", "60%"], standalone_mode=False).return_value == 4
    )
    as_json = json.loads(run(cli, ["env", "check", str(path), "answer", "--json"]).output)
    assert (as_json["share"], as_json["differ"][0]["value"]) == (0.5, 0.0)
    out = tmp_path / "rows.jsonl"
    assert run(cli, ["env", "read", str(path), "-o", str(out)]).exit_code == 0
    assert isinstance(run(cli, ["env", "read", str(path), "-o", str(out)]).exception, UsageError)
    again = CliRunner().invoke(cli, ["env", "check", str(out), "answer"])  # our own rows keep their rewards
    assert again.output.splitlines()[0] == "equal: 1 of 2 (50.0 %)"
    group, *_ = [item for item in read_rows(str(out)) if not isinstance(item, SchemaError)]
    assert group.answer == "42"


@pytest.mark.filterwarnings("ignore")
def test_verifiers_own_traces_are_read_as_verifiers_reads_them(tmp_path):
    vf = pytest.importorskip("verifiers.v1")
    from verifiers.v1.utils.trace_store import append_trace

    class Data(vf.TaskData):
        answer: str

    nodes = [
        vf.MessageNode(message={"role": "user", "content": "6 * 7?"}),
        vf.MessageNode(message={"role": "assistant", "content": "It is 42."}, parent=0, sampled=True),
    ]
    made = vf.Trace[Data, vf.State, vf.AgentConfig](
        task=vf.TraceTask(type="T", data=Data(prompt="6 * 7?", answer="42")),
        agent=vf.AgentInfo(config=vf.AgentConfig()),
        nodes=nodes,
        ok=True,
    )
    made.record_reward("right", 1.0, 0.25)
    made.record_reward("short", 0.5, 1.0)
    asyncio.run(append_trace(tmp_path, made, asyncio.Lock()))
    (found,) = read(tmp_path)
    assert found.reward == made.reward == 0.75
    assert (found.sample.completion, found.sample.answer) == (made.last_reply, "42")


CALL = {"name": "f", "arguments": "{}", "type": "function_call"}
FIELDS = [
    ({"expected_action": CALL}, "calls", [{"name": "f", "arguments": "{}"}]),
    ({"expected_action": {"type": "message", "content": "hi"}}, "calls", []),
    ({"ground_truth": [CALL, CALL]}, "trajectory", [{"name": "f", "arguments": "{}"}] * 2),
    ({"ground_truth": "42"}, "calls", None),
    ({"unit_tests": {"inputs": ["1"], "outputs": ["2"]}}, "tests", [{"input": "1", "output": "2"}]),
    ({"unit_tests": {"inputs": ["1"], "outputs": []}}, "tests", None),
    ({"expected_output": [[1, 0], [0, 1]]}, "expected_answer", "[[1, 0], [0, 1]]"),
    ({"verifier_metadata": {"correct_index": 2}}, "expected_answer", "2"),
    ({"verifier_metadata": {"ideal": "GATC"}}, "expected_answer", "GATC"),
    ({"expected_judgement": "Judgement: Yes"}, "expected_answer", "Yes"),
    ({"expected_answer": "A", "reference": "B"}, "expected_answer", "A"),
    ({"answer": "A", "reference": "B"}, "expected_answer", None),
]


@pytest.mark.parametrize(("row", "key", "value"), FIELDS)
def test_nemo_gyms_references_come_under_the_names_that_verifiers_read(row, key, value):
    assert prepared(row).get(key) == value


def test_rollouts_stored_without_their_tasks_are_joined_by_the_prompt(tmp_path):
    tasks = [gym("", None, expected_answer="42"), gym("", None, expected_answer="7")]
    tasks[1]["responses_create_params"] = {"input": "3 + 4?"}
    bare = [gym("It is 42.", 1.0), gym("8", 0.0), gym("42", 1.0)]
    bare[1]["responses_create_params"] = {"input": " 3 +  4?"}
    bare[2]["responses_create_params"] = {"input": "something else"}
    paths = written(tmp_path / "rollouts.jsonl", bare), written(tmp_path / "data.jsonl", tasks)
    assert [item.sample.answer for item in read(paths[0], tasks=paths[1])] == ["42", "7", None]
    found = check(paths[0], "answer", tasks=paths[1])
    assert (found.equal, len(found.unscored)) == (2, 1)
    told = CliRunner().invoke(cli, ["env", "check", str(paths[0]), "answer", "--with", str(paths[1])])
    assert told.output.startswith("equal: 2 of 2")


def test_tasks_that_share_a_prompt_are_told_apart_by_their_number():
    index = TaskIndex([gym("", None, expected_answer=letter) for letter in "ABC"])
    assert index.joined(gym("?", 0, _ng_task_index=2))["expected_answer"] == "C"
    assert index.joined(gym("?", 0, expected_answer="own"))["expected_answer"] == "own"


def test_the_pages_example_runs(tmp_path, monkeypatch, capsys):
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "environments.md").read_text("utf-8"), re.DOTALL)[1]
    written(tmp_path / "rollouts.jsonl", [gym("The answer is (B).", 1.0, expected_answer="B")])
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert capsys.readouterr().out.splitlines()[-1] == "1 1 []"
