import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit import PASS_MARK, Group, Sample, Score
from verikit import errors as errors_module
from verikit.errors import (
    MissingExtra,
    RateLimited,
    SchemaError,
    SpecError,
    Unscored,
    UsageError,
    VerikitError,
)
from verikit.types import STATUSES

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.none() | st.floats() | st.booleans() | st.integers(), st.sampled_from([*STATUSES, "", "OK"]))
def test_a_score_has_a_finite_value_exactly_if_it_is_ok(value, status):
    try:
        fits = status in STATUSES and (status == "ok") == (value is not None)
        fits = fits and (value is None or math.isfinite(value))
    except OverflowError:
        fits = False
    if fits:
        assert (Score(value, status).value is None) == (status != "ok")
    else:
        with pytest.raises((ValueError, OverflowError)):
            Score(value, status)


@pytest.mark.parametrize("make", [Score.error, Score.timeout, Score.abstained])
def test_a_score_without_a_value_is_no_number_and_fails_no_comparison_silently(make):
    score = make("the sandbox would not start")
    with pytest.raises(Unscored, match="the sandbox would not start"):
        float(score)
    assert not score.scored
    assert not score.passed
    assert score.filled(-1.0) == -1.0
    with pytest.raises(TypeError):
        score > 0.5  # noqa: B015


@given(finite)
def test_filled_and_float_give_the_value_that_is_there(value):
    assert float(Score(value)) == Score(value).filled(7.0) == value
    assert Score(value).passed == (value >= PASS_MARK)


def test_a_bool_becomes_a_number_so_that_files_hold_one_type():
    assert type(Score(True).value) is float


def test_scores_samples_and_groups_pickle_and_are_frozen():
    score = Score(1.0, parts={"a": Score.error("x")}, steps=(Score(0.5),), usage={"tokens": 3})
    group = Group("p", ["a", "b"], ["x", "y"], "id", {"k": 1}, [{"rm": 1}, {}])
    for thing in (score, group, *group.samples()):
        assert pickle.loads(pickle.dumps(thing)) == thing
        with pytest.raises(AttributeError):
            setattr(thing, thing.__slots__[0], 1)


def test_a_candidates_own_keys_win_over_its_groups():
    group = Group("p", ["a", "b"], "gold", "id", {"rm": 0, "task": "x"}, [{"rm": 3.5}, {}])
    assert [s.meta for s in group.samples()] == [{"rm": 3.5, "task": "x"}, {"rm": 0, "task": "x"}]
    assert [(s.prompt, s.completion, s.answer, s.id) for s in group.samples()] == [
        ("p", "a", "gold", "id"),
        ("p", "b", "gold", "id"),
    ]


def test_candidate_keys_that_are_not_one_per_candidate_are_refused():
    with pytest.raises(ValueError):
        Group(completions=["a", "b"], candidate_meta=[{}]).samples()


def test_two_samples_never_share_the_default_meta():
    assert Sample().meta is not Sample().meta


def all_errors(cls=VerikitError):
    ours = (sub for sub in cls.__subclasses__() if sub.__module__ == errors_module.__name__)  # not those of other tests
    return [cls, *(found for sub in ours for found in all_errors(sub))]


@pytest.mark.parametrize("cls", all_errors(), ids=lambda cls: cls.__name__)
def test_every_error_survives_a_process_boundary(cls):
    error = cls("what", "hf") if cls is MissingExtra else cls("what", hint="do this")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls
    assert (str(copy), vars(copy)) == (str(error), vars(error))


@pytest.mark.parametrize("cls", all_errors(), ids=lambda cls: cls.__name__)
def test_every_error_stands_in_the_drawn_tree(cls):
    assert cls.__name__ in errors_module.__doc__


def test_a_schema_error_names_file_line_and_field():
    error = SchemaError("is null", file="x.jsonl", line=7, field="answer", hint="--map")
    assert str(error) == "x.jsonl:7: field 'answer': is null"
    assert pickle.loads(pickle.dumps(error)).line == 7
    assert isinstance(error, UsageError)


def test_a_missing_extra_holds_the_line_that_adds_it():
    assert MissingExtra("reading parquet", "parquet").hint == "pip install 'verikit[parquet]'"
    assert RateLimited("slow").retryable
    assert not SpecError("x").hint
