import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.engines import Engine, Generation, Output, Recorder, Replay, Request, Structured, TopLogprob, load_engine
from verikit.engines.errors import NotRecorded, Unreachable
from verikit.engines.records import (
    generation_from_json,
    generation_to_json,
    request_from_json,
    request_key,
    request_to_json,
)
from verikit.errors import ContextOverflow, EngineError, SchemaError, SpecError, UsageError

LOGPROB = st.floats(-9999, 0)
TEXT = st.text(max_size=20)
TOPS = st.lists(st.builds(TopLogprob, TEXT, LOGPROB, st.none() | st.integers(0, 9)), max_size=3).map(tuple)
OUTPUTS = st.builds(
    Output,
    TEXT,
    st.lists(st.integers(0, 99), max_size=3).map(tuple),
    st.lists(TEXT, max_size=3).map(tuple),
    st.lists(LOGPROB, max_size=3).map(tuple),
    st.lists(TOPS, max_size=3).map(tuple),
    st.sampled_from(["stop", "length"]),
)
GENERATIONS = st.builds(
    Generation,
    st.lists(OUTPUTS, max_size=3).map(tuple),
    st.lists(st.integers(0, 99), max_size=3).map(tuple),
    st.lists(st.none() | LOGPROB, max_size=3).map(tuple),
    st.lists(TOPS, max_size=3).map(tuple),
    st.dictionaries(TEXT, LOGPROB, max_size=2),
)
STRUCTURED = st.one_of(
    st.builds(Structured, choice=st.lists(TEXT, min_size=1, max_size=3).map(tuple)),
    st.builds(Structured, regex=st.text(min_size=1, max_size=9)),
    st.builds(Structured, json=st.dictionaries(TEXT, TEXT, max_size=2)),
)
PROMPTS = (
    TEXT
    | st.lists(st.fixed_dictionaries({"role": TEXT, "content": TEXT}), min_size=1, max_size=3)
    | st.lists(st.integers(0, 99), min_size=1, max_size=3)
)
REQUESTS = st.builds(
    Request,
    PROMPTS,
    n=st.integers(1, 3),
    max_tokens=st.integers(0, 9),
    temperature=st.floats(0, 2),
    stop=st.lists(st.text(min_size=1, max_size=3), max_size=2),
    seed=st.none() | st.integers(),
    logprobs=st.none() | st.integers(0, 5),
    structured=st.none() | STRUCTURED,
)


class Counter(Engine):
    """Answers with the number of the call."""

    name = "counter"

    def __init__(self):
        self.calls = 0

    def generate(self, requests):
        results = []
        for request in requests:
            self.calls += 1
            results.append(Generation((Output(f"{self.calls}"),) * request.n))
        return results


@given(REQUESTS)
def test_a_request_survives_json_and_keeps_its_key(request_):
    again = request_from_json(json.loads(json.dumps(request_to_json(request_))))
    assert again == request_
    assert request_key(again) == request_key(request_)


@given(GENERATIONS)
def test_a_generation_survives_json(generation):
    assert generation_from_json(json.loads(json.dumps(generation_to_json(generation)))) == generation


def test_an_error_survives_json_with_its_type_message_and_hint():
    for kind in (ContextOverflow, Unreachable, EngineError):
        record = json.loads(json.dumps(generation_to_json(Generation(error=kind("too long", hint="cut it")))))
        error = generation_from_json(record).error
        assert (type(error), str(error), error.hint) == (kind, "too long", "cut it")
        assert pickle.loads(pickle.dumps(error)).hint == "cut it"


def test_an_unknown_error_type_is_an_engine_error_never_another_class():
    for name in ("KeyError", "VerikitError", "core_errors", "os"):
        assert type(generation_from_json({"error": {"type": name, "message": "m"}}).error) is EngineError


def test_meta_is_not_part_of_a_request_and_everything_else_is():
    base = Request("a")
    assert request_key(base) == request_key(Request("a", meta={"row": 7}))
    others = [
        Request("b"),
        Request("a", n=2),
        Request("a", seed=0),
        Request("a", logprobs=0),
        Request("a", stop=("x",)),
    ]
    others += [
        Request([97]),
        Request([{"role": "user", "content": "a"}]),
        Request("a", structured=Structured(regex="a")),
    ]
    assert len({request_key(request) for request in [base, *others]}) == len(others) + 1


@pytest.mark.parametrize(
    "options",
    [
        {"n": 0},
        {"max_tokens": -1},
        {"temperature": -1},
        {"temperature": float("nan")},
        {"top_p": 0},
        {"top_k": -1},
        {"stop": ("",)},
    ],
)
def test_a_request_that_no_engine_could_answer_is_refused(options):
    with pytest.raises(ValueError, match="invalid request"):
        Request("a", **options)
    with pytest.raises(ValueError, match="empty prompt"):
        Request([])


def test_structured_output_is_exactly_one_kind():
    assert Structured(json={}).kind == "json"
    assert Structured(choice=["A", "B"]) == Structured(choice=("A", "B"))
    for wrong in ({}, {"choice": ("A",), "regex": "A"}):
        with pytest.raises(ValueError, match="exactly one"):
            Structured(**wrong)


def test_a_recording_replays_what_the_engine_said(tmp_path):
    requests = [Request("a", n=2), Request("b"), Request("a", n=2)]
    with Recorder(Counter(), tmp_path / "r.jsonl") as engine:
        recorded = engine.generate(requests)
    assert load_engine(f"replay:{tmp_path / 'r.jsonl'}").generate(requests) == recorded


def test_a_request_recorded_twice_is_replayed_in_order_and_then_stays_at_the_last(tmp_path):
    with Recorder(Counter(), tmp_path / "r.jsonl") as engine:
        engine.generate([Request("a")])
        engine.generate([Request("a")])
    replay = Replay(tmp_path / "r.jsonl")
    assert [replay.generate([Request("a")])[0].text for _ in range(4)] == ["1", "2", "2", "2"]


def test_what_was_not_recorded_is_an_error_that_says_what_differs(tmp_path):
    (tmp_path / "r.jsonl").write_text('{"request": {"prompt": "a"}, "generation": {"outputs": [{"text": "x"}]}}\n')
    found, changed, missing = Replay(tmp_path / "r.jsonl").generate(
        [Request("a"), Request("a", max_tokens=3, seed=1), Request("b")]
    )
    assert found.text == "x"
    assert isinstance(changed.error, NotRecorded)
    assert changed.error.hint.endswith("other max_tokens, seed")
    assert missing.error.hint == "its prompt was never recorded"
    with pytest.raises(NotRecorded):
        missing.text  # noqa: B018


@pytest.mark.parametrize(
    "row",
    ["not json", "[]", "{}", '{"request": {"prompt": "a"}}', '{"request": {}, "generation": {}}',
     '{"request": {"prompt": "a", "n": 0}, "generation": {}}', '{"request": {"prompt": 3}, "generation": {}}',
     '{"request": {"prompt": "a"}, "generation": {"outputs": [3]}}',
     '{"request": {"prompt": ["a", 1]}, "generation": {}}', '{"request": {"prompt": "a", "x": 1}, "generation": {}}',
     '{"request": {"prompt": "a"}, "generation": {"error": 1}}', "[" * 100_000],
)  # fmt: skip
def test_a_row_that_is_no_record_is_named_by_file_and_line(tmp_path, row):
    (tmp_path / "r.jsonl").write_text(f"\n{row}\n")
    with pytest.raises(SchemaError, match=r"r\.jsonl:2: invalid record"):
        Replay(tmp_path / "r.jsonl")


def test_a_spec_that_is_no_engine_says_which_there_are(tmp_path):
    for spec in ("gpt-4", "replay:", "http://x", ""):
        with pytest.raises(SpecError) as caught:
            load_engine(spec)
        assert "openai:http://host:8000/v1#model" in caught.value.hint
    with pytest.raises(UsageError, match="can't read"):
        load_engine(f"replay:{tmp_path / 'none'}")
    with pytest.raises(SpecError, match="option 'speed' not found"):
        load_engine(f"replay:{tmp_path / 'none'}", speed=1)
