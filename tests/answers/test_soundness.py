"""Pairs that were once accepted wrongly, each with its near misses that have to stay right."""

import random

import pytest

from tests.growth import count_calls
from verikit.answers import check_gold, verify
from verikit.answers.algebra.identity import identical
from verikit.answers.parser import parse
from verikit.verifiers.answer import Answer

ANSWER = Answer(tail_seconds=0)

PAIRS = [  # gold, answer, whether they are the same
    # and against or
    (r"x \le -5 \text{ or } x > -3", r"x \le -5 \text{ and } x > -3", False),
    (r"x > -3 \text{ and } x < 2", r"x > -3 \text{ or } x < 2", False),
    ("(-3, 2)", r"x > -3 \text{ and } x < 2", True), ("(-3, 2)", r"x > -3 \text{ or } x < 2", False),
    # roots and absolute values agree on one side of a zero only
    (r"\sqrt{1-2\sin x\cos x}", r"\sin x-\cos x", False), (r"\sqrt{1-2\sin x\cos x}", r"|\sin x-\cos x|", True),
    (r"\sqrt{(x-50)^2}", "x-50", False), (r"\sqrt{(x-50)^2}", "50-x", False), (r"\sqrt{(x-50)^2}", "|50-x|", True),
    (r"\sqrt{(x-50)^2(x-51)^2}", "(x-50)(x-51)", False), (r"\sqrt{x^2+1000x+250000}", "x+500", False),
    ("|x-1000|", "1000-x", False), ("|x+y-100|", "100-x-y", False), (r"\max(x,50)", "50", False),
    (r"\sqrt{x^2}", "x", False), (r"\sqrt{x^2}", "|x|", True), ("x|x|", "x^2", False), ("(x^2)^{3/2}", "|x|^3", True),
    (r"\sqrt{9x^2y^4}", "3xy^2", False), (r"\sqrt{9x^2y^4}", "3|x|y^2", True), (r"\ln x^2", r"2\ln x", True),
    (r"\frac{|x-7|}{x-7}", "1", False), (r"\sqrt{x}\sqrt{y}", r"\sqrt{xy}", True),
    (r"\max(x,y)", r"\frac{x+y+|x-y|}{2}", True), ("|x-50|+|x-60|", "110-2x", False),
    # times are no ratios
    ("12:00", "1:00", False), ("1:05", "2:10", False),
    ("0:5", "0:3", False), ("2:4", "1:2", True), ("15:20", r"15:20", True), ("3:4", "15:20", True),
    # lists, digit groups, decimal commas
    ("-3,0", "-3", False), ("35,000", "35", False), ("35,000", "35000", True), ("35,000", "35.000", False),
    ("1,234", "1.234", False), ("0,5", "0.5", True), ("2,75", "2.75", True), ("2,75", "275", False),
    # infinity has no arithmetic
    ("0", r"\infty-\infty", False), ("0", r"0\cdot\infty", False), ("0", r"\infty\cdot(1-1)", False),
    ("1", r"\frac{\infty}{\infty}", False), ("1", r"\infty^0", False), ("5", r"5+\infty-\infty", False),
    (r"\infty", r"+\infty", True), (r"\infty", r"-\infty", False), (r"\infty", "2", False),
    (r"\sum_{k=1}^{\infty} \frac{1}{k^2}", r"\sum_{j=1}^{\infty} \frac{1}{j^2}", True),
    (r"\sum_{k=1}^{\infty} \frac{1}{k^2}", r"\sum_{k=1}^{\infty} \frac{1}{k^3}", False),
    # names
    ("f(x)=2x", "g(x)=2x", False), ("f(2)=3", "g(2)=3", False), ("f(x)=2x", "f(t)=2t", True),
    (r"5\operatorname{erf}(1)", "5", False), (r"\operatorname{Re} z", "z", False), ("x^2+C", "x^2+5", False),
    (r"e=\frac12", r"\frac12", True), (r"\frac12", r"e=\frac12", True),
    # a pair whose second number is smaller is no empty interval
    ("(-2,-9)", "[-2,-9)", False), ("(5,-10)", "[8,2)", False), ("(5,-10)", "(8,2)", False),
    ("(0,0)", "[0,0)", False), ("(5,-10)", "(5,-10)", True),
    # signs below a fraction line are no hyphens
    ("14/M", "14/(-M)", False), (r"-V \cdot V", r"V \cdot V", False),
    # units
    ("3 MPa", "3 torr", False), ("3 torr", "3 MPa", False), ("5 cm", "5", True), ("(3 cm, 4)", "(3 torr, 4)", False),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer", "same"), PAIRS)
def test_only_what_is_the_same_is_equal(gold, answer, same):
    assert verify(rf"\boxed{{{answer}}}", gold).equal is same
    if not same:
        assert not ANSWER.equal(answer, gold)
        assert not verify(rf"\boxed{{{gold}}}", answer).equal


@pytest.mark.parametrize(
    ("question", "gold", "answer", "same"),
    [
        ("What percentage is red?", "0.99", r"0.99\%", True), ("What percentage is red?", "0.99", r"99\%", False),
        ("What percentage is red?", r"0.99\%", "0.99", True), ("What fraction is red?", r"0.99\%", "0.99", False),
        ("What fraction is red?", r"0.99\%", "0.0099", True), ("What fraction is red?", "0.99", r"0.99\%", False),
        ("What fraction is red?", "0.99", r"99\%", True), ("What fraction is red?", r"28\%", r"28\%", True),
        ("", "0.99", r"0.99\%", True), ("", r"0.99\%", "0.0099", True), ("", r"0.99\%", "0.98", False),
    ],
)  # fmt: skip
def test_the_question_says_whether_a_bare_number_counts_percents(question, gold, answer, same):
    assert verify(rf"\boxed{{{answer}}}", gold, question=question).equal is same


@pytest.mark.parametrize("gold", [r"\frac{", r"\frac{1}{2", r"\sqrt", r"\frac", r"x^{2"])
def test_a_formula_that_was_cut_short_is_no_gold(gold):
    if "\\" in gold:
        assert "unreadable" in (check_gold(gold) or "")
        assert verify("x", gold).outcome == "bad gold"


@pytest.mark.parametrize("gold", [r"\left\{1, 2\right\}", r"\text{a \{ brace}", "Paris {France", r"\frac{1}{2}"])
def test_a_whole_gold_is_readable(gold):
    assert check_gold(gold) is None


def test_many_variables_and_long_roots_stay_within_the_budget():
    rng = random.Random(3)
    text = "+".join(rf"|{a}x-{rng.randint(1, 99)}{b}|\sqrt{{{a}y^2+{b}}}" for a in "abcdk" for b in "mnpqr")
    found = []
    count_calls(lambda: found.append(identical(parse(text), parse(text + "+0"))[0]), most=500_000)
    assert found[0] is not False


def test_a_constant_that_the_question_names_is_not_arbitrary():
    assert verify(r"\boxed{x+3+K}", "x+K").equal
    assert not verify(r"\boxed{x+3+K}", "x+K", question="Express the sum in terms of x and K.").equal
