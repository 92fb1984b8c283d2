"""Conditions joined by and, or, commas: the sets they stand for, against membership checked number by number."""

import random
from fractions import Fraction

import pytest

from tests.answers.families.helpers import assert_boxed
from verikit.answers import verify
from verikit.answers.algebra.sets import position, to_pieces
from verikit.answers.parser import parse

TESTS = {
    "<": lambda x, a: x < a, r"\le": lambda x, a: x <= a, ">": lambda x, a: x > a, r"\ge": lambda x, a: x >= a,
    r"\ne": lambda x, a: x != a,
}  # fmt: skip
GRID = [Fraction(n, 2) for n in range(-14, 15)]


def members(text):
    """Numbers of the grid in the set a text stands for."""
    pieces = to_pieces(parse(text))
    assert pieces is not None, text
    return [
        x for x in GRID for p in pieces
        if (position(p.low) < x or (position(p.low) == x and p.low_closed))
        and (x < position(p.high) or (position(p.high) == x and p.high_closed))
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_and_or_and_absolute_values_hold_what_they_say(seed):
    rng = random.Random(seed)
    (left, right), (a, b) = rng.choices(list(TESTS), k=2), (rng.randint(-5, 5), rng.randint(-5, 5))
    both = [x for x in GRID if TESTS[left](x, a) and TESTS[right](x, b)]
    either = [x for x in GRID if TESTS[left](x, a) or TESTS[right](x, b)]
    assert members(rf"x {left} {a} \text{{ and }} x {right} {b}") == both
    assert members(rf"\{{x \mid x {left} {a} \text{{ or }} x {right} {b}\}}") == either
    assert members(f"|2x-{a}| {left} {abs(b)}") == [x for x in GRID if TESTS[left](abs(2 * x - a), abs(b))]
    if both and either != both:
        assert not verify(f"x {left} {a} or x {right} {b}", rf"x {left} {a} \text{{ and }} x {right} {b}").equal
        assert not verify(f"x {left} {a} and x {right} {b}", rf"x {left} {a} \text{{ or }} x {right} {b}").equal


SAME = [
    (r"x \ne -5 \text{ and } x \ne 4", r"(-\infty,-5)\cup(-5,4)\cup(4,\infty)", r"\mathbb{R}\setminus\{-5,4\}",
     r"x \neq 4, x\neq -5", r"x\ne -5, 4", r"\mathbb{R}-\{4,-5\}"),
    (r"\{x \mid x \le -1 \text{ or } x > 7\}", r"(-\infty,-1]\cup(7,\infty)", "x<=-1, x>7",
     r"x \le -1 \text{ or } x > 7"),
    ("(-1,7]", r"x > -1 \text{ and } x \le 7", "]-1,7]", r"\{x : -1 < x \le 7\}", "x > -1, x <= 7"),
    (r"\{-2,-1,0,1,2\}", r"\{x\in\mathbb{Z} \mid -2 \le x < 3\}", r"\{x\in\mathbb{Z} : |x| \le 2\}", "-2, -1, 0, 1, 2"),
    (r"\{1,2,3,4\}", r"\{n \in \mathbb{N} : n < 5\}", r"\{n \in \mathbb{N} \mid n \le 4\}"),
    (r"(-\infty,3)\cup(3,\infty)", r"x \ne 3", r"\mathbb{R}\setminus\{3\}", "x<3 or x>3", r"\{x \mid x \neq 3\}"),
    ("(1,5)", "|x-3|<2", "1<x<5"),
]  # fmt: skip
OTHER = [
    (r"x \ne -5 \text{ and } x \ne 4", r"x \ne -5 \text{ or } x \ne 4", r"\mathbb{R}\setminus\{-5\}", "x=-5, 4"),
    (r"\{x \mid x \le -1 \text{ or } x > 7\}", r"\{x \mid x \le -1 \text{ and } x > 7\}", "(-1,7]",
     r"(-\infty,-1]\cup[7,\infty)"),
    (r"(-\infty,-5]\cup(-3,\infty)", r"x \le -5 \text{ and } x > -3", "x <= -5"),
    ("(-1,7]", "x > -1 or x <= 7", "]-1,7[", "[-1,7]"),
    (r"\{-2,-1,0,1,2\}", r"\{x\in\mathbb{Z} \mid -2 \le x \le 3\}", r"\{x\in\mathbb{R} \mid -2 \le x < 3\}", "[-2,2]"),
    (r"\{x\in\mathbb{Z} \mid -2 \le x < 3\}", "[-2,3)"),
    (r"(-\infty,3)\cup(3,\infty)", "x = 3", r"x \ne -3", r"(-\infty,\infty)"),
    ("x > 3 and x < 5", "y > 3 and y < 5"),
    ("x > 3 and y < 5", "x > 3 or y < 5"),
    ("x > 2", "x > 2, x > 5"),
]  # fmt: skip


@pytest.mark.parametrize("forms", SAME)
def test_notations_of_the_same_set_match_each_other(forms):
    assert_boxed(forms, forms)


@pytest.mark.parametrize("forms", OTHER)
def test_other_sets_do_not(forms):
    for answer in forms[1:]:
        assert not verify(rf"\boxed{{{answer}}}", forms[0]).equal, answer
        assert not verify(rf"\boxed{{{forms[0]}}}", answer).equal, answer


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        (r"\sqrt5", r"x = \sqrt5 \approx 2.236", True),
        ("2.236", r"\sqrt5 \approx 2.236", True),
        (r"\frac{17}{6}", r"\frac{17}{6} = 2\frac56 \approx 2.83", True),
        (r"\frac{17}{6}", r"\frac{17}{6} \approx 2.8", True),
        (r"\frac{17}{6}", r"\frac{17}{6} \approx 3.5", False),
        (r"\frac{17}{6}", r"\frac{18}{6} \approx 2.83", False),
        (r"\frac{17}{6}", r"x \approx 2.8", False),
        ("x=1.41, y=3", r"x = \sqrt2 \approx 1.41, y = 3", True),
        ("x=1.42, y=3", r"x = \sqrt2 \approx 1.42, y = 4", False),
        (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", "[[1,2],[3,4]]", True),
        (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", "[[1,3],[2,4]]", False),
        (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", "[1,2,3,4]", False),
        (r"\langle 1,-2,0\rangle", r"\mathbf{i}-2\mathbf{j}", True),
        (r"3\mathbf{i}+4\mathbf{j}", "(3,4)", True),
        (r"3\hat{i}+4\hat{j}", r"\begin{pmatrix} 3 \\ 4\end{pmatrix}", True),
        (r"3\hat{i}+4\hat{j}", r"\begin{pmatrix} 4 \\ 3\end{pmatrix}", False),
        ("(3,4)", "3i+4", False),
        ("f(x)=x^2+1", "y=x^2+1", True),
        ("f(x)=x^2+1", "x=y^2+1", False),
        ("(0.333, 0.667)", "(1/3, 2/3)", True),
        ("(0.33, 0.67)", "(1/3, 1/3)", False),
    ],
)
def test_rounded_chains_vectors_and_matrices(gold, answer, expected):
    assert verify(rf"\boxed{{{answer}}}", gold).equal is expected
