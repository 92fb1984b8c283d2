"""Expected calls from tables, which give all rows the same keys: what a row did not have is null."""

import json

import pytest

import verikit
from verikit.adapters import to_trl

ADD = {"name": "add", "arguments": {"a": 1, "b": 2}}
FIND = {"name": "find", "arguments": {"query": {"text": "x"}}}


def made(name, arguments):
    called = {"type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return [{"role": "assistant", "tool_calls": [called]}]


def through_a_table(*rows):
    return list(pytest.importorskip("datasets").Dataset.from_list([{"calls": calls} for calls in rows])["calls"])


def test_a_call_is_right_if_the_dataset_has_rows_with_calls_of_other_tools():
    sort = {"name": "find", "arguments": {"query": {"text": "y", "sort": "up"}}}
    calls = through_a_table([ADD], [FIND], [sort])
    reward = to_trl("tool_calls")
    replies = [made(call["name"], call["arguments"]) for call in (ADD, FIND, sort)]
    assert reward(prompts=["", "", ""], completions=replies, calls=calls) == [1.0, 1.0, 1.0]
    near = [made("add", {"a": 1}), made("find", {"query": {}}), made("find", {"query": {"text": "y"}})]
    assert reward(prompts=["", "", ""], completions=near, calls=calls) == [0.0, 0.0, 0.0]
    more = [made(call["name"], call["arguments"] | {"extra": 1}) for call in (ADD, FIND, sort)]
    assert reward(prompts=["", "", ""], completions=more, calls=calls) == [0.0, 0.0, 0.0]


def test_calls_in_bfcls_format_are_read_from_a_table():
    calls = through_a_table([{"add": {"a": [1], "b": [2]}}], [{"find": {"text": ["x"]}}], [{"find": {"sort": ["up"]}}])
    replies = [made("add", {"a": 1, "b": 2}), made("find", {"text": "x"}), made("find", {"text": "x"})]
    assert to_trl("tool_calls")(prompts=[""] * 3, completions=replies, calls=calls) == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("match", ["strict", "unordered", "subset", "superset", "f1"])
def test_a_trajectory_of_a_table_is_the_same_as_without_its_nulls(match):
    padded = [{"name": "add", "arguments": {"a": 1, "b": 2, "query": None}}]
    verifier = verikit.trajectory(match=match)
    assert verifier(made("add", {"a": 1, "b": 2}), trajectory=padded).value == 1.0
    assert verifier(made("add", {"a": 1}), trajectory=padded).value == 0.0
    assert verifier(made("add", {"a": 1, "b": 2, "query": "x"}), trajectory=padded).value == 0.0


@pytest.mark.parametrize("arguments", ["subset", "superset"])
def test_nulls_of_a_table_do_not_count_in_a_subset_of_arguments(arguments):
    padded = [{"name": "add", "arguments": {"a": 1, "query": None}}]
    verifier = verikit.trajectory(arguments=arguments)
    assert verifier(made("add", {"a": 1}), trajectory=padded).value == 1.0
    assert verifier(made("add", {"a": 2}), trajectory=padded).value == 0.0


def tool(**schema):
    properties = {"text": {"type": "string"}, "days": {"type": ["integer", "null"], "default": 3}}
    return [{"name": "note", "parameters": {"type": "object", "properties": properties, **schema}}]


def value(arguments, expected, tools):
    score = verikit.tool_calls()(made("note", arguments), calls=[{"name": "note", "arguments": expected}], tools=tools)
    return score.value


def test_null_for_an_argument_that_the_tool_requires_must_be_given():
    expected = {"text": None, "days": 1}
    assert value({"text": None, "days": 1}, expected, tool(required=["text"])) == 1.0
    assert value({"days": 1}, expected, tool(required=["text"])) == 0.0
    assert value({"days": 1}, expected, tool()) == 1.0


def test_null_for_an_argument_with_a_default_is_null_or_missing():
    expected = {"text": "x", "days": None}
    assert value({"text": "x"}, expected, tool()) == 1.0
    assert value({"text": "x", "days": None}, expected, tool()) == 1.0
    assert value({"text": "x", "days": 4}, expected, tool()) == 0.0


@pytest.mark.parametrize("required", [None, 7, "text", {"text": True}, [["text"], None]])
def test_a_malformed_list_of_required_arguments_does_not_matter(required):
    assert value({"text": "x"}, {"text": "x", "days": None}, tool(required=required)) == 1.0
