"""boxed, column, length, regex and tags."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hostile_texts import HOSTILE
from verikit import Sample
from verikit.errors import UsageError
from verikit.replies.unseen import without_unseen
from verikit.verifiers.boxed import Boxed
from verikit.verifiers.column import Column
from verikit.verifiers.regex import Regex
from verikit.verifiers.style.length import Length
from verikit.verifiers.tags import Tags


@pytest.mark.parametrize(
    ("text", "value", "once"),
    [
        (r"\boxed{5}", 1, 1),
        (r"\boxed{5} \boxed{ 5 }", 1, 1),
        (r"\boxed{4} \boxed{5}", 1, 0),
        (r"\boxed{}", 0, 0),
        (r"\boxed{5} \boxed{ }", 0, 0),
        (r"\boxed{5", 0, 0),
        ("5", 0, 0),
    ],
)
def test_a_box_counts_when_it_is_closed_and_full(text, value, once):
    assert Boxed()(text).value == value
    assert Boxed(once=True)(text).value == once


def test_the_last_box_is_the_answer():
    assert Boxed()(r"\boxed{4} \boxed{ 5 }").answer == "5"


@pytest.mark.parametrize("number", [0, 3.5, True, -1e300])
def test_a_column_is_the_candidates_own_number(number):
    assert Column("rm")("x", rm=number).value == float(number)


@pytest.mark.parametrize(("text", "value"), [("3.5", 3.5), (" -1 ", -1.0), ("TRUE", 1.0), ("false", 0.0)])
def test_a_number_in_a_table_of_text_is_that_number(text, value):
    assert Column("rm")("x", rm=text).value == value


def test_a_dotted_key_looks_into_objects_unless_there_is_a_key_of_that_name():
    assert Column("a.b")("x", a={"b": 2}).value == 2.0
    assert Column("a.b")("x", **{"a.b": 1, "a": {"b": 2}}).value == 1.0


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"rm": "high"},
        {"rm": "nan"},
        {"rm": "1,5"},
        {"rm": float("nan")},
        {"rm": float("inf")},
        {"rm": 10**400},
        {"rm": []},
    ],
)
def test_a_column_that_is_no_number_is_the_datas_fault(meta):
    assert Column("rm")("x", **meta).status == "error"


def test_the_mean_of_a_list_of_numbers_can_be_the_score():
    assert Column("logprobs", mean=True)("x", logprobs=[-1.0, -2, 0.0]).value == -1.0
    assert Column("logprobs", mean=True)("x", logprobs=[1e308] * 4).value == pytest.approx(1e308)
    assert Column("logprobs", mean=True)("x", logprobs=[-0.1] * 7).value == -0.1  # and not -0.10000000000000002
    assert Column("logprobs", mean=True)("x", logprobs=[]).status == "abstained"
    assert Column("logprobs", mean=True)("x", logprobs=None).status == "abstained"
    with pytest.raises(UsageError, match="mean must be True or False"):
        Column("logprobs", mean="no")


@pytest.mark.parametrize("logprobs", ["-1.0", -1.0, [[-1.0]], [-1.0, "-2"], [float("-inf")], [None], [10**400]])
def test_a_mean_of_anything_else_is_the_datas_fault(logprobs):
    assert Column("logprobs", mean=True)("x", logprobs=logprobs).status == "error"


def test_a_null_column_abstains_and_a_missing_column_lists_the_keys():
    assert Column("rm")("x", rm=None).status == "abstained"
    assert "available: a, b" in Column("rm")("x", a=1, b=2).reason
    assert Column("a.b.c")("x", a={"b": 1}).status == "error"


@pytest.mark.parametrize("key", ["", None, 5])
def test_a_column_needs_a_name(key):
    with pytest.raises(UsageError):
        Column(key)


@given(st.text(), st.integers(0, 20), st.integers(0, 20))
def test_length_counts_what_it_says(text, low, extra):
    text = without_unseen(text)
    for unit, size in (("chars", len(text)), ("words", len(text.split())), ("lines", len(text.splitlines()))):
        assert Length(low, low + extra, unit)(text).value == float(low <= size <= low + extra)
        assert Length(low, None, unit)(text).value == float(low <= size)


@pytest.mark.parametrize("options", [{"min": -1}, {"min": 5, "max": 4}, {"unit": "tokens"}])
def test_lengths_that_nothing_has_are_refused(options):
    with pytest.raises(UsageError):
        Length(**options)


def test_a_pattern_occurs_and_its_first_group_is_the_answer():
    v = Regex(r"answer: (\d+)")
    assert (v("answer: 5, answer: 6").value, v("answer: 5, answer: 6").answer) == (1.0, "5")
    assert v("none").value == 0.0
    assert Regex("a|(b)")("a").value == 1.0


def test_a_pattern_can_read_the_answer_to_compare_and_the_last_match_counts():
    v = Regex(r"answer: (\d+)", match_answer=True)
    assert v("answer: 5, answer: 6", "6").value == 1.0
    assert v("answer: 6, answer: 5", ["6", "7"]).value == 0.0
    assert v("answer: 6", None).status == "error"
    assert v("none", "6").value == 0.0


@pytest.mark.parametrize("match_answer", [False, True])
def test_a_pattern_that_a_text_drives_mad_ends_in_time_and_is_the_candidates_fault(match_answer):
    v = Regex(r"x?(a|a)+$", match_answer, timeout_s=0.2)
    score = v(("a" * 40 + "!") * 50, "a")
    assert (score.value, score.status) == (0.0, "ok")
    assert "ran out of 0.2 s" in score.reason


@pytest.mark.parametrize(
    "options", [{"pattern": "("}, {"pattern": "a", "timeout_s": 0}, {"pattern": "a", "timeout_s": -1}]
)
def test_bad_patterns_and_times_are_refused(options):
    with pytest.raises(UsageError):
        Regex(**options)


@pytest.mark.parametrize(
    ("text", "strict", "loose"),
    [
        ("<think>a</think><answer>b</answer>", 1, 1),
        (" <think>a</think>\n <answer> b </answer>\n", 1, 1),
        ("x <think>a</think><answer>b</answer>", 0, 1),
        ("<think>a</think> x <answer>b</answer>", 0, 1),
        ("<think>a</think><answer>b</answer> x", 0, 1),
        ("<answer>b</answer><think>a</think>", 0, 0),
        ("<think>a</think>", 0, 0),
        ("<think>a</think><answer></answer>", 0, 0),
        ("<think>a</think><answer>b</answer><answer>c</answer>", 0, 0),
        ("<think>a<answer>b</answer></think>", 0, 0),
        ("<think>a</think><answer>b", 0, 0),
        ("</think>a<think><answer>b</answer>", 0, 0),
        ("<Think>a</Think><answer>b</answer>", 0, 0),
    ],
)
def test_tags_stand_once_in_order_and_full(text, strict, loose):
    assert Tags("think", "answer")(text).value == strict
    assert Tags("think", "answer", strict=False)(text).value == loose


def test_the_last_tag_holds_the_answer():
    assert Tags("think", "answer")("<think>a</think><answer> b </answer>").answer == "b"


@pytest.mark.parametrize("names", [(), ("a b",), ("a", "a"), ("<a>",), ("",)])
def test_tag_names_that_are_none_are_refused(names):
    with pytest.raises(UsageError):
        Tags(*names)


@pytest.mark.parametrize(
    "v", [Boxed(), Length(unit="words"), Length(unit="lines"), Regex(r"(\d+)$"), Tags("think", "answer")]
)
def test_hostile_text_costs_linear_work(v, linear):
    for hostile in HOSTILE:
        if not (isinstance(v, Regex) and hostile.strip("0123456789٣") == ""):  # the pattern's own square, timed out
            linear(lambda text: v.score([Sample(completion=text)]), hostile)
