"""The specs of docs/environments.md load, without a connection, and are as many as the page says."""

import json
import re
import socket

import pytest

import verikit
from benchmarks.environments import sample, specs
from tests.conftest import ROOT
from verikit.base import Verifier

TEXT = (ROOT / "docs" / "environments.md").read_text("utf-8")
SPECS = specs(TEXT)
OURS = re.search(r"0\.7\.0\s+has (\d+)\s+resources\s+servers\.\s+The\s+specs\s+below\s+grade\s+(\d+)\s+of\s+them", TEXT)
KINDS = re.findall(r"^\| [^`|]+ \| (\d+) \| ([\w, ]+) \|$", TEXT, re.M)
GRADERS = sorted(path.stem for path in (ROOT / "examples" / "graders").glob("*.json"))
NEEDS = {"bleu": "sacrebleu", "chrf": "sacrebleu", "rouge": "rouge_score", "wer": "jiwer", "fuzzy": "rapidfuzz"}
"""Packages of extras, by the verifier that needs them."""


@pytest.mark.parametrize("name", SPECS)
def test_each_spec_loads_without_a_connection(name, monkeypatch):
    for verifier, package in NEEDS.items():
        if re.search(rf"\b{verifier}\(", SPECS[name]):
            pytest.importorskip(package)
    if "reasoning_gym(" in SPECS[name]:
        pytest.importorskip("reasoning_gym")

    def refuse(*_args, **_options):
        raise AssertionError("a spec connects when it is loaded")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.chdir(ROOT)
    assert isinstance(verikit.load(SPECS[name]), Verifier)


def test_as_many_servers_are_graded_and_not_graded_as_the_page_says():
    held, graded = (int(number) for number in OURS.groups())
    left = [name for count, names in KINDS for name in names.split(", ")]
    assert [int(count) for count, _ in KINDS] == [len(names.split(", ")) for _, names in KINDS]
    assert len(SPECS) == graded == len(re.findall(r"^\| `\w+` (?:\|[^|\n]+){4}", TEXT, re.M)) >= 75
    assert len(left) == len(set(left)) == held - graded
    assert not set(left) & set(SPECS)


def test_every_grader_of_the_examples_is_in_the_table():
    named = [spec.split("/")[-1].removesuffix(".json") for spec in SPECS.values() if ".json" in spec]
    assert sorted(named) == GRADERS


def rollout(row, text="", calls=()):
    output = [
        {"type": "function_call", "call_id": "c", "name": name, "arguments": json.dumps(given)} for name, given in calls
    ]
    if text:
        output.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
    return row | {"responses_create_params": {"input": "?"}, "response": {"output": output}}


CIRCLES = {"circles": [{"x": 9, "y": 9, "radius": 3, "color": "red"}], "target_color": "red"}
LIST = {"outputs": ["blue", "green"], "subset": "niah"}
BOOK = {"schema_str": '{"type": "object", "properties": {"name": {"type": "string"}}}', "schema_type": "yaml"}
HALF = {"duration": 30, "min_time": "9am", "max_time": "5pm", "constraint": "before 10:30am"}
POISON = {"injection": {"target_tool": "send", "target_args": {"to": "Eve"}}, "required_tools": ["read"]}
WANTED = {"expected_call": {"name": "f", "arguments": {"x": 1}}, "tools": [{"name": "f", "parameters": {}}]}
CASES = [
    ("mrcr", {"expected_answer": "ab12 Hi", "random_string_to_prepend": "ab12"}, "ab12 Hi", "Hi", 0.0),
    ("graphwalks", {"expected_answer": '["a", "b"]'}, "So\nFinal Answer: [b, a]", "Final Answer: [a, c]", 0.5),
    ("gui_coordinate", {"expected_answer": "0.5,0.5", "max_dist": 0.2}, "<point>(500, 500)</point>", "(500, 500)", 0.0),
    ("ruler", LIST, "Green and blue.", "Green.", 0.5),
    ("format_verification", {"verifier": {"type": "regex", "verify_regex": ["^- "]}}, "Two:\n- a", "a - b", 0.0),
    ("circle_count", CIRCLES, "\\boxed{1}", "\\boxed{2}", 0.0),
    ("structured_outputs", BOOK, "name: Ann", "name: Ann\nage: 5", 0.0),
    (
        "structeval",
        {"output_type": "JSON", "raw_output_metric": ["a.b", "c[0]"]},
        '{"a": {"b": 1}, "c": [2]}',
        '{"c": [2]}',
        0.6,
    ),
    (
        "calendar",
        {"exp_cal_state": {"1": HALF}},
        '[{"event_id": 1, "start_time": "10am", "duration": 30}]',
        '[{"event_id": 1, "start_time": "10:15am", "duration": 30}]',
        0.0,
    ),
]
CALLED = [
    ("circle_click", CIRCLES, [("click", {"x": 10, "y": 10})], [("click", {"x": 1, "y": 1})], 1.0, 0.0),
    ("example_session_state_mgmt", {"initial_count": 1, "expected_count": 3},
     [("increment_counter", {"count": 2})], [("increment_counter", {"count": 1})], 1.0, 0.0),
    ("indirect_prompt_injection", POISON, [("read", {})], [("read", {}), ("send", {"to": "eve"})], 1.0, 0.0),
    ("example_tool_call_multireward", WANTED, [("f", {"x": 1})], [("f", {"x": 2})], 3.0, 2.0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "row", "right", "wrong", "value"), CASES, ids=[case[0] for case in CASES])
def test_the_graders_of_texts_tell_right_from_wrong(name, row, right, wrong, value, monkeypatch):
    monkeypatch.chdir(ROOT)
    good, bad = verikit.load(SPECS[name]).score([sample(name, rollout(row, text)) for text in (right, wrong)])
    assert (good.value, bad.value) == (1.0, value), (good.reason, bad.reason)


@pytest.mark.parametrize(("name", "row", "right", "wrong", "high", "low"), CALLED, ids=[case[0] for case in CALLED])
def test_the_graders_of_calls_tell_right_from_wrong(name, row, right, wrong, high, low, monkeypatch):
    monkeypatch.chdir(ROOT)
    good, bad = verikit.load(SPECS[name]).score([sample(name, rollout(row, calls=calls)) for calls in (right, wrong)])
    assert (good.value, bad.value) == (high, low), (good.reason, bad.reason)
