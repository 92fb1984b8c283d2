"""Logs of other evaluation tools are read as rows, and bad ones become errors that name file, line and field."""

import io
import json
import random
import struct
import zipfile
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.errors import SchemaError, UsageError
from verikit.readers import logs, read
from verikit.types import Group

SAMPLE = {
    "id": "q1",
    "epoch": 1,
    "input": "1+0?",
    "target": "1",
    "messages": [
        {"id": "a", "content": "1+0?", "source": "input", "role": "user"},
        {
            "id": "b",
            "content": "",
            "source": "generate",
            "role": "assistant",
            "tool_calls": [{"id": "c1", "function": "add", "arguments": {"x": 1, "y": 0}, "type": "function"}],
        },
        {"id": "c", "content": "1", "role": "tool", "tool_call_id": "c1", "function": "add"},
        {"id": "d", "content": "The answer is 1.", "source": "generate", "role": "assistant", "model": "m/x"},
    ],
    "output": {"model": "m/x", "choices": [{"message": {"role": "assistant", "content": "The answer is 1."}}]},
    "scores": {"includes": {"value": "C", "answer": "1"}, "length": {"value": 16}, "words": {"value": "many"}},
    "metadata": {"level": 1},
    "events": [{"event": "sample_init"}],
}
PLAIN = {**SAMPLE, "messages": [SAMPLE["messages"][0], SAMPLE["messages"][-1]]}


def document(*samples, **more):
    head = {"version": 2, "status": "success", "eval": {"task": "t"}, "plan": {}, **more}
    return json.dumps({**head, "samples": list(samples)}, indent=2).encode()


def archive(*samples, method=zipfile.ZIP_DEFLATED, more=()):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as packed:
        packed.writestr("_journal/start.json", "{}")
        for sample in samples:
            packed.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        for name, data in more:
            packed.writestr(name, data)
        packed.writestr("header.json", "{}")
    return made.getvalue()


@pytest.fixture
def rows(tmp_path):
    def run(data, name="log.json", **options):
        path = tmp_path / name
        path.write_bytes(data)
        reader = read(path, **options)
        found = list(reader)
        return found, reader

    return run


@pytest.mark.parametrize("make", [document, archive, lambda *some: json.dumps(json.loads(document(*some))).encode()])
def test_an_inspect_sample_becomes_a_group_with_its_epochs_calls_and_scores(rows, make):
    second = {**PLAIN, "epoch": 2, "scores": {"includes": {"value": "I"}}}
    [group, other], reader = rows(make(SAMPLE, {**PLAIN, "id": 7, "target": ["2", "two"]}, second))
    assert reader.format == "inspect"
    assert (group.id, group.prompt, group.answer) == ("q1", "1+0?", "1")
    assert group.completions == ["The answer is 1.", "The answer is 1."]
    first, again = group.candidate_meta
    assert first["scores"] == {"includes": 1.0, "length": 16, "words": "many"}
    assert again["scores"] == {"includes": 0.0}
    assert (first["epoch"], again["epoch"]) == (1, 2)
    called = {"name": "add", "arguments": '{"x": 1, "y": 0}'}
    assert first["messages"][0]["tool_calls"] == [{"id": "c1", "type": "function", "function": called}]
    assert first["messages"][1] == {"role": "tool", "content": "1", "tool_call_id": "c1", "name": "add"}
    assert (group.meta["model"], group.meta["metadata"]) == ("m/x", {"level": 1})
    assert (other.id, other.answer) == ("7", ["2", "two"])
    assert "events" not in group.meta


def test_a_sample_without_a_key_that_it_must_have_is_an_error_that_names_it(rows):
    found = []
    for key in ("id", "epoch", "input", "target", "messages", "output", "scores", "metadata"):
        bad = {name: value for name, value in PLAIN.items() if name != key}
        [_, item], _ = rows(document(SAMPLE, {**bad, "id": "bad"} if key != "id" else bad))
        found.append((key, getattr(item, "field", "")))
    read_anyway = ("epoch", "target", "messages", "output", "scores", "metadata")
    assert found == [(key, "" if key in read_anyway else key) for key, _ in found]


def test_a_few_shot_prompt_is_not_part_of_the_completion(rows):
    shots = [
        {"role": "user", "content": "0+0?"},
        {"role": "assistant", "content": "0"},
        {"role": "user", "content": "1?"},
    ]
    reply = {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "1"}]}
    sample = {**PLAIN, "input": shots, "messages": [{"role": "system", "content": "Be brief"}, *shots, reply]}
    [group], _ = rows(document(sample))
    assert group.prompt == shots
    assert group.completions == ["1"]


def test_letters_of_a_scorer_with_several_values_are_numbers(rows):
    several = {"style": "C", "facts": "I", "words": 7, "tone": "calm"}
    [group], _ = rows(document({**PLAIN, "scores": {"both": {"value": several}}}))
    assert group.meta["scores"]["both"] == {"style": 1.0, "facts": 0.0, "words": 7, "tone": "calm"}


@pytest.mark.parametrize("make", [document, archive])
def test_a_sample_marked_as_invalid_is_an_error_with_the_reason(rows, make):
    marked = {"timestamp": "2026-01-01T00:00:00Z", "author": "me", "reason": "the tool was down"}
    [error, group], _ = rows(make({**PLAIN, "invalidation": marked}, {**PLAIN, "id": "q2", "invalidation": None}))
    assert (error.line, error.field) == (1, "invalidation")
    assert "the tool was down" in error.problem
    assert (group.id, "invalidation" in group.meta) == ("q2", False)


def test_a_stored_text_is_put_in_the_place_of_its_reference(rows):
    messages = [SAMPLE["messages"][0], {"role": "assistant", "content": "attachment://abc"}]
    [group], _ = rows(document({**PLAIN, "messages": messages, "attachments": {"abc": "a long text"}}))
    assert group.completions == ["a long text"]


@pytest.mark.parametrize(
    ("change", "field", "told"),
    [
        ({"error": {"message": "server down"}}, "error", "server down"),
        ({"messages": [], "output": {"choices": []}}, "output", "no reply"),
        ({"messages": "x"}, "messages", "a string"),
        ({"messages": [1]}, "messages[0]", "a number"),
        ({"scores": [1]}, "scores", "a list"),
        ({"target": {"a": 1}}, "answer", "an object"),
        ({"input": []}, "prompt", "an empty list"),
        ({"input": None}, "input", "no input"),
        ({"input": "x", "choices": "ab", "scores": {"a": {"value": "C"}}, "error": {"message": 3}}, "error", "3"),
        (
            {"messages": [{"role": "assistant", "content": "", "tool_calls": [{"function": 1}]}]},
            "messages[0].tool_calls",
            "function",
        ),
    ],
)
def test_a_bad_sample_is_an_error_that_names_file_line_and_field(rows, change, field, told):
    for data in (document(PLAIN, {**PLAIN, "id": "bad", **change}), archive(PLAIN, {**PLAIN, "id": "bad", **change})):
        [good, error], _ = rows(data)
        assert isinstance(good, Group)
        assert isinstance(error, SchemaError)
        assert error.file.endswith("log.json")
        assert (error.line, error.field) == (2, field)
        assert told in error.problem


def test_deep_and_huge_samples_are_errors_and_their_events_do_not_count(rows, monkeypatch):
    deep = "[" * 2_000 + "]" * 2_000
    number = "9" * 10_000
    text = json.dumps(PLAIN)
    events = text.replace('[{"event": "sample_init"}]', deep)
    bad = [text.replace('"level": 1', f'"level": {value}').replace("q1", value[:3]) for value in (deep, number)]
    data = document().replace(b'"samples": []', b'"samples": [%b]' % ",".join([events, *bad]).encode())
    [good, *errors], _ = rows(data)
    assert isinstance(good, Group)
    assert ["nested deeper" in errors[0].problem, "too many digits" in errors[1].problem] == [True, True]
    monkeypatch.setattr(logs, "MAX_LOG", 1000)
    with pytest.raises(UsageError, match="more than 1,000 bytes"):
        rows(data)


def test_an_archive_that_unpacks_to_more_than_a_row_may_have_is_an_error_in_bounded_memory(rows, monkeypatch):
    monkeypatch.setattr(logs, "MAX_LOG", 2**20)
    bomb = ("samples/bomb_epoch_1.json", b'{"id": 1, "input": "' + b"x" * 2**23 + b'"}')
    [error, group], _ = rows(archive(more=[bomb, ("samples/q1_epoch_1.json", json.dumps(PLAIN))]))
    assert "the limit of 1,048,576" in error.problem
    assert isinstance(group, Group)


def test_an_archive_packed_by_zstd_is_read(rows):
    zstandard = pytest.importorskip("zstandard")
    packer = zstandard.ZstdCompressor()
    text = json.dumps(PLAIN).encode()
    packed = packer.compress(text[:100]) + packer.compress(text[100:])  # two frames: inspect writes long ones so
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as stored:
        stored.writestr("samples/q1_epoch_1.json", packed)
    info = zipfile.ZipFile(made).infolist()[0]
    whole = bytearray(made.getvalue())
    for offset, header in ((8, info.header_offset), (10, whole.rindex(b"PK\x01\x02"))):
        struct.pack_into("<H", whole, header + offset, logs.ZSTD)
        struct.pack_into("<I", whole, header + offset + 6, zlib.crc32(text))
        struct.pack_into("<I", whole, header + offset + 14, len(text))
    [group], _ = rows(bytes(whole))
    assert group.completions == ["The answer is 1."]
    whole[info.header_offset + 60] ^= 255
    [error], _ = rows(bytes(whole))
    assert isinstance(error, SchemaError)
    assert "samples/q1_epoch_1.json can't be read" in error.problem


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (document()[:-20], "cut short"),
        (document(PLAIN)[:-30], "cut short"),
        (document().replace(b'"samples": []', b'"more": []'), "no samples"),
        (document().replace(b'"samples": []', b'"samples": 3'), "list of samples"),
        (document(), "no rows"),
        (archive(), "without samples"),
        (archive(PLAIN)[:200], "damaged"),
    ],
)
def test_a_log_that_is_bad_as_a_whole_raises_and_is_named(rows, data, told):
    with pytest.raises(UsageError, match=told) as caught:
        rows(data)
    assert "log.json" in str(caught.value)


RESULT = {
    "id": "u",
    "promptIdx": 0,
    "testIdx": 3,
    "prompt": {"raw": "Capital of France?", "label": "p"},
    "provider": {"id": "openai:m", "label": ""},
    "response": {"output": "Paris", "tokenUsage": {"total": 9}},
    "testCase": {"vars": {"q": "France"}, "assert": [{"type": "equals", "value": "Paris"}, {"type": "latency"}]},
    "vars": {"q": "France"},
    "success": True,
    "score": 0.75,
    "namedScores": {"style": 0.5},
    "gradingResult": {"pass": True},
    "failureReason": 0,
}


def promptfoo(*results):
    summary = {"version": 3, "timestamp": "t", "prompts": [], "results": list(results), "stats": {}}
    return json.dumps({"evalId": "eval-1", "results": summary, "config": {}, "shareableUrl": None}).encode()


def test_promptfoo_results_are_read_and_each_provider_has_its_own_id(rows):
    chat = '[{"role": "user", "content": "Capital?"}]'
    other = {**RESULT, "provider": {"id": "b"}, "prompt": {"raw": chat}, "response": {"output": {"city": "Rome"}}}
    failed = {**RESULT, "testIdx": 4, "response": {"error": "429"}, "error": "429 too many", "success": False}
    wrong = {**RESULT, "testIdx": 5, "prompt": "text"}
    [group, second, error, bad], reader = rows(promptfoo(RESULT, other, failed, wrong))
    assert reader.format == "promptfoo"
    assert (group.id, group.prompt, group.completions, group.answer) == (
        "3",
        "Capital of France?",
        ["Paris"],
        ["Paris"],
    )
    assert (group.meta["score"], group.meta["success"], group.meta["namedScores"]) == (0.75, True, {"style": 0.5})
    assert (second.id, second.completions) == ("3 b prompt 0", ['{"city": "Rome"}'])
    assert second.prompt == [{"role": "user", "content": "Capital?"}]
    assert (error.line, error.field) == (3, "response.output")
    assert "429 too many" in error.problem
    assert (bad.line, bad.field) == (4, "prompt.raw")


def test_ids_of_promptfoo_results_do_not_depend_on_which_finished_first(rows):
    results = [{**RESULT, "promptIdx": n, "provider": {"id": name}} for n, name in enumerate("abc")]
    ids = ["3", "3 b prompt 1", "3 c prompt 2"]
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        found, _ = rows(promptfoo(*(results[n] for n in order)))
        assert [group.id for group in found] == [ids[n] for n in order]


def test_promptfoo_result_lines_are_read_too(rows):
    [group], reader = rows(json.dumps(RESULT).encode(), "results.jsonl")
    assert (reader.format, group.id) == ("promptfoo", "3")


def evals(*events):
    spec = {"spec": {"completion_fns": ["gpt"], "eval_name": "e.dev.v0"}}
    return "".join(json.dumps(row) + "\n" for row in (spec, *events)).encode()


def event(sample, kind, **data):
    return {"run_id": "r", "event_id": 0, "sample_id": sample, "type": kind, "data": data, "created_by": ""}


def test_openai_evals_events_are_gathered_by_sample(rows):
    chat = [{"role": "user", "content": "2+2?"}]
    data = evals(
        event("a.0", "sampling", prompt=chat, sampled=["4"]),
        event("a.1", "sampling", prompt="3+3?", sampled="6"),
        event("a.0", "raw_sample", input=1),
        event("a.1", "match", correct=True, expected="6", picked="6"),
        event("a.0", "sampling", prompt="Grade this: 4", sampled=["Y"]),
        event("a.0", "sampling", prompt=chat, sampled=["5"]),
        event("a.0", "match", correct=False, expected=["4", "four"], picked=None),
        event("a.2", "match", correct=True, expected="x"),
        event("a.3", "sampling"),
        {**event("a.4", "match"), "data": 3},
        {"final_report": {"accuracy": 0.5}},
    )
    found, reader = rows(data, "log.jsonl")
    first, second, unsampled, empty, bad = found
    assert reader.format == "openai-evals"
    assert (first.id, first.prompt, first.completions, first.answer) == ("a.0", chat, ["4", "5"], ["4", "four"])
    assert (second.completions, second.answer, second.meta["correct"]) == (["6"], "6", True)
    assert (unsampled.line, unsampled.field) == (3, "completions")
    assert (empty.line, empty.field) == (4, "completions[0]")
    assert (bad.line, bad.field) == (5, "data")
    assert "line 11 of the log" in bad.problem


def test_a_sample_of_openai_evals_that_failed_is_an_error_and_is_not_lost(rows):
    failed = event("a.0", "error", type="RateLimitError", message="429")
    late = [event("a.1", "sampling", prompt="?", sampled=["4"]), event("a.1", "error", type="E", message="grader")]
    [error, group], _ = rows(evals(failed, *late), "log.jsonl")
    assert (error.line, error.field, error.problem) == (1, "error", "the sample failed: 429")
    assert (group.id, group.completions) == ("a.1", ["4"])


def test_rows_that_only_begin_like_a_log_are_rows(rows):
    row = {"version": 1, "status": "ok", "prompt": "p", "completion": "c"}
    found, reader = rows(json.dumps(row).encode() + b"\n" + json.dumps({**row, "prompt": "q"}).encode(), "rows.json")
    assert len(found) == 2
    assert reader.format == "verikit"


@given(st.integers(0, 2**32))
def test_damaged_logs_give_groups_or_errors_and_nothing_else(tmp_path_factory, seed):
    rng = random.Random(seed)
    log = bytearray(
        rng.choice([document(SAMPLE, PLAIN), archive(SAMPLE), promptfoo(RESULT), evals(event("a", "sampling"))])
    )
    for _ in range(rng.randint(1, 4)):
        log[rng.randrange(len(log))] = rng.choice(b'{}[]",:0x\x00\xff')
    path = tmp_path_factory.getbasetemp() / "damaged.log"
    path.write_bytes(log[: rng.choice([len(log), rng.randrange(len(log))])])
    with suppress(UsageError):
        assert all(isinstance(item, Group | SchemaError) for item in read(path))


@pytest.mark.parametrize("kind", ["eval", "json"])
def test_a_log_that_inspect_wrote_is_read(tmp_path, kind):
    log = pytest.importorskip("inspect_ai.log")
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
    from inspect_ai.scorer import Score

    def sample(name, epoch, text):
        reply = ChatMessageAssistant(content=text, source="generate")
        return log.EvalSample(
            id=name,
            epoch=epoch,
            input="1+1?",
            target="2",
            messages=[ChatMessageUser(content="1+1?", source="input"), reply],
            output=ModelOutput.from_message(reply),
            scores={"match": Score(value="C" if text == "2" else "I")},
        )

    config = log.EvalConfig(epochs=2)
    dataset = log.EvalDataset(name="d", samples=2)
    spec = log.EvalSpec(created="2026-01-01T00:00:00+00:00", task="t", dataset=dataset, model="m/x", config=config)
    samples = [sample(name, epoch, text) for epoch, text in ((1, "2"), (2, "3")) for name in ("a", "b")]
    path = tmp_path / f"log.{kind}"
    log.write_eval_log(log.EvalLog(status="success", eval=spec, samples=samples), str(path))
    found = list(read(path))
    assert [(group.id, group.prompt, group.completions, group.answer) for group in found] == [
        (name, "1+1?", ["2", "3"], "2") for name in ("a", "b")
    ]
    assert [[own["scores"]["match"] for own in group.candidate_meta] for group in found] == [[1.0, 0.0]] * 2
