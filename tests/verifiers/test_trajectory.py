"""Trajectories of tool calls against references, and the limits on them."""

import itertools
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verikit
from verikit.errors import SpecError, UsageError
from verikit.stats.pairing import pairs


def turn(*calls, text=None):
    made = [{"function": {"name": name, "arguments": json.dumps(arguments)}} for name, arguments in calls]
    return {"role": "assistant", "content": text} | ({"tool_calls": made} if made else {})


def result(text="ok"):
    return {"role": "tool", "content": text, "tool_call_id": "c"}


A, B, C = ("a", {"x": 1}), ("b", {"x": 2}), ("c", {})
REFERENCE = [turn(A), result(), turn(B, C), result(), result(), turn(text="done")]


def value(messages, reference=REFERENCE, **options):
    score = verikit.trajectory(**options)(messages, trajectory=reference)
    assert score.status == "ok", score
    return score.value


SAME = [turn(A), result("other"), turn(C, B), result(), result(), turn(text="all done")]
MIXED = [turn(B), result(), turn(A), result(), turn(C), result(), turn(text="done")]
LESS = [turn(A), result(), turn(text="done")]
MORE = [turn(A), result(), turn(B, C), result(), result(), turn(A), result(), turn(text="done")]
OTHER = [turn(("a", {"x": 9})), result(), turn(B, C), result(), result(), turn(text="done")]


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ("strict", (1, 0, 0, 0, 0)),
        ("unordered", (1, 1, 0, 0, 0)),
        ("subset", (1, 1, 1, 0, 0)),
        ("superset", (1, 1, 0, 1, 0)),
        ("f1", (1, 1, 0.5, 6 / 7, 2 / 3)),
        ("none", (1, 1, 1, 1, 1)),
    ],
)
def test_each_way_of_matching_takes_what_it_should(match, expected):
    found = [value(messages, match=match) for messages in (SAME, MIXED, LESS, MORE, OTHER)]
    assert found == pytest.approx(expected)


def test_strict_order_of_plain_calls():
    reference = [{"name": name, "arguments": arguments} for name, arguments in (A, B, C)]
    assert value([turn(A), turn(B), turn(C)], reference) == 1.0
    assert value([turn(B), turn(A), turn(C)], reference) == 0.0
    assert value("[a(x=1), b(x=2), c()]", "[a(x=1), b(x=2), c()]") == 1.0
    assert value("[b(x=2), a(x=1), c()]", "[a(x=1), b(x=2), c()]") == 0.0


@pytest.mark.parametrize(
    ("arguments", "made", "right"),
    [
        ("exact", {"x": 1, "y": 2}, 1.0),
        ("exact", {"x": 1}, 0.0),
        ("exact", {"x": True, "y": 2}, 0.0),
        ("ignore", {"z": 9}, 1.0),
        ("subset", {"x": 1}, 1.0),
        ("subset", {"x": 1, "z": 0}, 0.0),
        ("superset", {"x": 1, "y": 2, "z": 3}, 1.0),
        ("superset", {"x": 1}, 0.0),
    ],
)
def test_arguments_are_compared_as_asked(arguments, made, right):
    assert value([turn(("a", made))], [turn(("a", {"x": 1, "y": 2}))], arguments=arguments) == right


def test_limits_are_zeros_with_their_reason():
    limited = verikit.trajectory("none", most=2, forbidden=["rm"])
    assert limited([turn(A, B)]).value == 1.0
    assert limited([turn(A, B, C)]).reason == "3 calls, over the most of 2"
    assert limited([turn(("rm", {}))]).reason == "calls 'rm', which is forbidden"
    assert verikit.trajectory("none", forbidden="rm")([turn(("rm", {}))]).value == 0.0


HARMLESS = [("a", {})] * 1024
HIDDEN = [
    [turn(*HARMLESS, ("rm", {}))],
    '<tool_call>{"name": "rm", "arguments": {}}</tool_call>' + "x" * 100_001,
    "rm(path='" + "x" * 30_000 + "')",
    "<tool_call>rm -r</tool_call>",
    [{"role": "assistant", "tool_calls": ["rm"]}],
]


@pytest.mark.parametrize("completion", HIDDEN, ids=lambda completion: str(completion)[:20])
def test_no_call_is_hidden_from_the_limits_by_what_cant_be_read(completion):
    for options in ({"forbidden": "rm"}, {}, {"most": 1000}):
        score = verikit.trajectory("none", **options)(completion)
        assert (score.value, score.status) == (0.0, "ok")
        assert score.reason
    for match in ("strict", "subset", "superset", "unordered", "f1"):
        assert value(completion, [turn(("a", {}))], match=match, forbidden=["rm"]) == 0.0
    assert verikit.trajectory("none", forbidden="rm")([turn(*HARMLESS)]).value == 1.0


def test_a_reference_in_text_that_is_over_a_cap_is_an_error():
    assert verikit.trajectory()([turn(A)], "a(x='" + "x" * 30_000 + "')").status == "error"


def test_a_reference_that_is_missing_abstains_and_one_that_cant_be_read_is_an_error():
    trajectory = verikit.trajectory()
    assert trajectory([turn(A)]).status == "abstained"
    assert trajectory([turn(A)], "no calls").status == "error"
    assert trajectory([turn(A)], trajectory=[7]).status == "error"
    assert trajectory([turn(A)], trajectory=[{"name": ""}]).status == "error"


def test_a_call_that_cant_be_read_matches_none():
    broken = {"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": '{"x": 1'}}]}
    assert value([broken], [turn(A)], match="unordered") == 0.0
    assert value([broken], [turn(A)], match="superset", arguments="ignore") == 0.0


WORLD = """
def balance(calls, sample):
    money = {"left": 10}
    for call in calls:
        if call["name"] == "pay":
            money["left"] -= call["arguments"].get("amount", 0)
    return money

THING = 7

def exact(calls, sample):
    return sum(call["arguments"]["amount"] for call in calls)

def broken(calls, sample):
    raise RuntimeError("our world is down")
"""


@pytest.fixture
def world(tmp_path):
    path = tmp_path / "world.py"
    path.write_text(WORLD)
    return path


def test_the_last_state_of_a_users_function_decides(world):
    trajectory = verikit.trajectory("none", state=f"{world}:balance")
    paid = [turn(("pay", {"amount": 3}))]
    assert trajectory(paid, final_state={"left": 7}).value == 1.0
    assert trajectory(paid, final_state={"left": 6}).value == 0.0
    twice = [turn(("pay", {"amount": 1})), turn(("pay", {"amount": 2}), ("look", {}))]
    assert trajectory(twice, trajectory=paid).value == 1.0
    assert trajectory(twice, trajectory=[turn(("pay", {"amount": 2}))]).value == 0.0
    both = verikit.trajectory("superset", state=f"{world}:balance")(twice, trajectory=paid)
    assert (both.value, both.parts["state"].value, both.parts["calls"].value) == (0.0, 1.0, 0.0)


def test_a_fault_of_the_function_is_ours_and_a_missing_one_is_told_at_once(world):
    trajectory = verikit.trajectory("none", state=f"{world}:broken")
    assert trajectory([turn(A)], final_state=1).status == "error"
    with pytest.raises(SpecError):
        verikit.trajectory(state=f"{world}:absent")
    with pytest.raises(UsageError):
        verikit.trajectory(state=f"{world}:THING")


def test_arguments_that_the_function_does_not_take_are_the_models_fault(world):
    trajectory = verikit.trajectory("none", state=f"{world}:exact")
    paid, misnamed = [turn(("pay", {"amount": 3}))], [turn(("pay", {"sum": 3}))]
    assert trajectory(paid, trajectory=paid).value == 1.0
    for keys in ({"trajectory": paid}, {"final_state": 3}, {"trajectory": paid, "final_state": 3}):
        score = trajectory(misnamed, **keys)
        assert (score.value, score.status) == (0.0, "ok")
        assert score.reason == "the calls can't be carried out: KeyError: 'amount'"
    assert trajectory(misnamed, trajectory=misnamed).status == "error"
    assert trajectory(misnamed, trajectory=misnamed, final_state=3).status == "error"


def test_an_edited_function_is_another_verifier(world):
    before = verikit.trajectory("none", state=f"{world}:balance").fingerprint
    other = world.with_name("other.py")
    other.write_text(WORLD.replace("10", "20"))
    assert verikit.trajectory("none", state=f"{other}:balance").fingerprint != before


@pytest.mark.parametrize("options", [{"match": "exactly"}, {"arguments": "loose"}, {"most": -1}])
def test_bad_options_are_refused(options):
    with pytest.raises(UsageError):
        verikit.trajectory(**options)


@given(st.lists(st.sets(st.integers(0, 5)), max_size=6))
def test_as_many_are_paired_as_brute_force_can_pair(edges):
    found = pairs(edges, range(6), lambda allowed, i: i in allowed)
    assert all(i in edges[want] for i, want in found.items())
    assert len({*found.values()}) == len(found)
    best = max(
        sum(i in allowed for i, allowed in zip(order, edges, strict=False))
        for order in itertools.permutations(range(6))
    )
    assert len(found) == best


def test_many_equal_calls_are_paired_quickly():
    made = [turn(*[A] * 250)]
    assert value(made, made, match="unordered") == 1.0
    shuffled = [("a", {"x": i}) for i in range(250)]
    random.Random(0).shuffle(shuffled)
    assert value([turn(*shuffled)], [turn(*sorted(shuffled, key=str))], match="unordered") == 1.0


def test_limits_alone_take_no_gold_answer_for_a_reference():
    limits = verikit.trajectory(match="none", most=1)
    assert limits([turn(A), turn(text="42")], answer="42").value == 1.0
    assert limits([turn(A, B), turn(text="42")], answer="42").value == 0.0
    assert limits([turn(A)], answer="42", trajectory="nonsense").value is None
