"""One edit away from a gold: what changes its value is no longer right, and what only changes its dress still is."""

import pytest

from verikit.answers import Equality, verify
from verikit.answers.algebra.equality import EqualityResult

UNEQUAL = [
    # signs, digits and words right beside a formula
    ("5", "The answer is ≥$5$."), ("$3$", "The answer is 2$3$."), ("n^2", "The answer is half $n^2$."),
    ("$k=n+1$", "The answer is $k=n+1$2."), (r"$28\%$", r"The answer is <$28\%$."), ("$100$", "The answer is $100$>."),
    ("5", "The total cost is therefore -$5$"),
    ("$x$", "The answer is minus $x$."), ("$5", "The answer is the square of $5."),
    ("5 km", "It is 5 km and above."), ("5 km", "The answer is 5 km minus one."),
    # numbers in words
    ("twelve", "-twelve"), ("twelve", "twelve squared"), ("twelve", "twelve negated"),
    ("twelve", "twelve or more"), ("twelve", "twelve is wrong"), ("twelve", "twelve x"), ("-twelve", "twelve"),
    ("1 million", "1 million million"),
    # digit groups and decimal commas
    ("135,000", "135,00"), ("14,000", "14,.000"), ("276,000", "276, 0"), ("0,5", "-0,5"), ("1,045", "{1, 45}"),
    # marks of a base
    ("-7", "0x-7"), (r"-\frac{1}{2}", r"\boxed{0x-\frac{1}{2}}"),
    # dates
    ("December 13, 1877", "non-December 13, 1877"), ("December 1974", "mid-December 1974"),
    ("23 December 1893", "23 December 1893e"),
    # names and abbreviations
    ("WB Television Network", r"\boxed{WB Television Netork}"), ("UDC", r"\boxed{UCD}"), ("C#", r"\boxed{<C#}"),
    # labels
    ("x = 2, y = 3", "The answer is at most x = 2, y = 3."),
    ("5 apples", "multiple of 5 apples"),
]  # fmt: skip
EQUAL = [
    ("5", "The answer is x =$5$."), ("7/2", r"The answer is 3$\frac{1}{2}$."), ("5", "The answer is <b>$5$</b>."),
    ("5", "We find the value – $5$."), ("8", "So we end with a $8$-gon, and that is all of it."),
    ("twelve", "12"), ("-12", "minus twelve"), ("-12", "-twelve"), ("twelve", "twelve red apples"),
    ("-0.5", "-0,5"), ("135,000", "135000"), ("2,125", "2, 125"), ("5", "5 more apples"), ("5", "But the answer: 5"),
    ("31", "0x1F"), ("x^2-4", "x^2+0x-4"), ("March 5, 2021", "2021年3月5日生まれ"), ("13 May 1877", "May 13th, 1877"),
    ("UDC", r"\boxed{UDC}"), ("AB", r"\boxed{BA}"), ("m/s", r"\boxed{metres per second}"),
    ("C_1=2, C_2=-3", "C_{1}=2, C_{2}=-3"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), UNEQUAL)
def test_an_edit_that_changes_the_value_is_refused(gold, answer):
    assert not verify(answer, gold).equal


@pytest.mark.parametrize(("gold", "answer"), EQUAL)
def test_an_edit_that_keeps_the_value_is_right(gold, answer):
    assert verify(answer, gold).equal


def test_a_remembered_verdict_counts_for_its_question_and_its_rules_alone():
    assert verify("0,5", "0.5", question="Wie viel? Rechne mit 1,5 Euro.").equal
    assert not verify("0,5", "0.5").equal
    assert verify("5 kg", "5", equality=Equality(units="ignored")).equal
    assert not verify("5", "5 kg", equality=Equality(units="required")).equal
    assert verify("5", "5 kg").equal


def test_computer_algebra_is_asked_however_often_a_pair_was_left_undecided():
    asked = []

    def tail(gold, answer):
        asked.append(answer)
        return EqualityResult("equal", "by hand")

    gold, answer = r"\int_0^1 x^2 dx", r"\boxed{1/3}"
    assert verify(answer, gold).outcome == "undecided"
    assert verify(answer, gold, tail=tail).equal
    assert verify(answer, gold).outcome == "undecided"
    assert asked
