"""A verifier applied to chosen turns of a conversation."""

import pytest

import verikit
from verikit import Sample, Score, load, verifier
from verikit.errors import UsageError

CALL = {"function": {"name": "f", "arguments": "{}"}}
CONVERSATION = [
    {"role": "assistant", "content": "one"},
    {"role": "user", "content": "and?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": "2"},
    {"role": "assistant", "content": "three", "reasoning_content": "hm"},
]
seen = []


@verifier
def sized(sample):
    seen.append(sample)
    return len(sample.completion) / 10


def value(part, messages=CONVERSATION, **options):
    return verikit.turns(part, **options)(messages).value


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 8 / 30),
        ({"which": "mean"}, 8 / 30),
        ({"rule": "min"}, 0.0),
        ({"which": "min"}, 0.0),
        ({"rule": "last"}, 0.5),
        ({"which": "last"}, 0.5),
        ({"which": "first"}, 0.3),
        ({"which": "said"}, 0.4),
        ({"which": "said", "rule": "min"}, 0.3),
        ({"which": 0}, 0.3),
        ({"which": -1}, 0.5),
        ({"which": "-2:"}, 0.25),
        ({"which": "0:2"}, 0.15),
        ({"which": "7"}, 0.0),
    ],
)
def test_turns_are_chosen_and_their_values_joined(options, expected):
    assert value(sized, **options) == pytest.approx(expected)


def test_a_turn_has_its_own_thoughts_and_calls_and_what_came_before_as_its_prompt():
    seen.clear()
    verikit.turns(sized)(CONVERSATION, "gold", prompt="go", level=3)
    first, second, third = seen
    assert first.prompt == [{"role": "user", "content": "go"}]
    assert second.messages[0]["tool_calls"] == [CALL]
    assert [message["content"] for message in third.prompt] == ["go", "one", "and?", "", "2"]
    assert (third.completion, third.thoughts, third.answer, third.meta) == ("three", "hm", "gold", {"level": 3})


def test_a_text_is_one_turn():
    assert value(sized, "12345") == 0.5


def test_parts_that_abstain_drop_out_and_errors_leave_no_value():
    @verifier
    def picky(sample):
        return None if sample.completion == "one" else 1.0

    @verifier
    def faulty(sample):
        return Score.error("down") if sample.completion == "three" else 1.0

    assert value(picky, which="said") == 1.0
    found = verikit.turns(faulty)(CONVERSATION)
    assert (found.status, found.reason) == ("error", "turn 3: down")
    assert [part.value for part in found.parts.values()] == [1.0, 1.0, None]
    assert verikit.turns(picky, which="first")(CONVERSATION).status == "abstained"


def test_tool_calls_of_each_turn_are_graded_by_tool_calls():
    graded = verikit.turns(verikit.tool_calls(), which=1)
    assert graded(CONVERSATION, calls=[{"name": "f", "arguments": {}}]).value == 1.0
    assert graded(CONVERSATION, calls=[{"name": "g", "arguments": {}}]).value == 0.0


def test_it_is_a_spec():
    made = load("turns(length(1, 4), which='last')")
    assert made(CONVERSATION).value == 0.0
    assert made("123").value == 1.0


@pytest.mark.parametrize("options", [{"which": "some"}, {"which": ""}, {"which": "1:2:3"}, {"rule": "max"}])
def test_what_names_no_turns_or_rule_is_refused(options):
    with pytest.raises(UsageError):
        verikit.turns(sized, **options)


def test_hostile_conversations_are_survived():
    many = [{"role": "assistant", "content": "x"}] * 5000
    assert value(sized, many) == 0.0
    odd = Sample("q", "x", messages=[{"role": "assistant", "content": 7}, {"content": ["a", None, 3]}, {"role": 5}])
    assert verikit.turns(sized).score([odd])[0].status == "ok"


def test_calls_in_what_came_before_a_turn_are_kept_in_its_prompt():
    seen = []

    @verifier
    def asked(sample):
        seen.append(sample.prompt)
        return 1.0

    call = [{"function": {"name": "f", "arguments": "{}"}}]
    prompt = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "tool_calls": call},
        {"role": "tool", "content": "r", "tool_call_id": "c"},
        {"role": "assistant", "content": None},
    ]
    messages = [
        {"role": "assistant", "content": None, "tool_calls": call, "reasoning_content": "hm"},
        {"role": "assistant", "content": "done"},
    ]
    assert verikit.turns(asked, which="last")(messages, prompt=prompt).value == 1.0
    assert seen == [
        [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "", "tool_calls": call},
            {"role": "tool", "content": "r", "tool_call_id": "c"},
            {"role": "assistant", "content": "", "tool_calls": call},
        ]
    ]
