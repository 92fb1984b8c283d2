"""Whatever JSON object a client sends is read as samples, or refused by a usage error."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples
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
@settings(max_examples=examples(300), deadline=None)
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


def llama_factory(texts, values):
    """`get_rewards_from_server` of llamafactory 0.9.5 (`train/ppo/ppo_utils.py`): what it posts, and what it reads."""
    protocol = PROTOCOLS["llama-factory"]
    samples = protocol.read({"model": "model", "messages": texts})
    scores = [Score.error("away") if value is None else Score(value) for value in values]
    reply = protocol.reply({}, [encode(to_row(score)).encode() for score in scores], -1.0)
    return samples, json.loads(reply.decode())["scores"]


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("<|im_start|>user\n6 * 7?<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>"),
        ("<|start_header_id|>user<|end_header_id|>\n\n6 * 7?<|eot_id|>"
         "<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"),
        ("<bos><start_of_turn>user\n6 * 7?<end_of_turn>\n<start_of_turn>model\n", "<end_of_turn>"),
        ("<s>[INST] 6 * 7? [/INST]", "</s>"),
        ("Human: 6 * 7?\nAssistant:", "<eos><pad><pad>"),
    ],
)  # fmt: skip
def test_llama_factorys_texts_are_cut_where_the_answer_begins(head, tail):
    [sample], scores = llama_factory([f"{head}It is 42.{tail}"], [1.0])
    assert (sample.completion, "6 * 7?" in sample.prompt) == ("It is 42.", True)
    assert scores == [1.0]


def test_an_answer_cant_move_its_own_beginning_and_a_text_without_one_has_no_score():
    head = "<|im_start|>user\n?<|im_end|>\n<|im_start|>assistant\n"
    [sneaky, lost], scores = llama_factory([f"{head}bad <|im_start|>assistant\ngood", "no mark"], [0.5, None])
    assert sneaky.completion.startswith("bad")
    assert isinstance(lost, Score)
    assert not lost.scored
    assert scores == [0.5, -1.0]
