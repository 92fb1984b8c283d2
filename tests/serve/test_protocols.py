"""Whatever JSON object a client sends is read as samples, or refused by a usage error."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verikit import Sample, Score
from verikit.errors import SchemaError, UsageError
from verikit.scoring.rows import encode, to_row
from verikit.serve.nemo_gym import UnscoredRollout
from verikit.serve.protocols import NATIVE, PROTOCOLS

KEYS = [
    "samples",
    "completion",
    "completions",
    "prompt",
    "answer",
    "meta",
    "id",
    "query",
    "prompts",
    "labels",
    "response",
]
KEYS += ["label", "responses_create_params", "output", "input", "content", "role", "text", "type", "expected_answer"]
WORDS = st.sampled_from(["assistant", "user", "message", "a", "", "\ud800", "p x</s>"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)
BODIES = (
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6)
    | st.fixed_dictionaries({"query": st.lists(WORDS, max_size=3)}, optional={"prompts": VALUES, "labels": VALUES})
    | st.fixed_dictionaries({"responses_create_params": OBJECTS, "response": OBJECTS})
    | st.fixed_dictionaries(
        {"responses_create_params": OBJECTS, "response": st.just({"output": [{"type": "message"}]})}
    )
)
ALL = {"native": NATIVE, **PROTOCOLS}


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=300, deadline=None)
@given(body=BODIES)
def test_any_object_gives_samples_and_a_reply_or_a_usage_error(name, body):
    protocol = ALL[name]
    try:
        samples = protocol.read(body)
    except UsageError:
        return
    for sample in samples:
        assert isinstance(sample, (Sample, Score))
        if isinstance(sample, Sample):
            assert isinstance(sample.completion, str)
    rows = [encode(to_row(Score.error("away"))).encode() for _ in samples]
    if name == "nemo-gym":
        with pytest.raises(UnscoredRollout):
            protocol.reply(body, rows, 0.0)
    elif rows or name in ("native", "openrlhf"):
        assert isinstance(json.loads(protocol.reply(body, rows, 0.0)), dict)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"samples": [{"completion": "5"}, {"prompt": "?"}]}, "samples[1].completion"),
        ({"samples": [{"completion": "5"}, "6"]}, "samples[1]"),
        ({"prompt": "?", "completions": ["5", {"text": "6"}, 6]}, "completions[2]"),
    ],
)
def test_a_sample_that_cant_be_used_is_named_among_its_neighbours(body, field):
    with pytest.raises(SchemaError) as caught:
        NATIVE.read(body)
    assert caught.value.field == field


def test_a_candidate_with_text_keeps_its_own_keys():
    (sample,) = NATIVE.read({"prompt": "?", "completions": [{"text": "5", "rm": 2}], "level": 1})
    assert (sample.completion, sample.meta) == ("5", {"level": 1, "rm": 2})
