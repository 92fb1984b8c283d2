import random

import pytest

from verikit.answers import verify
from verikit.answers.parser import parse
from verikit.answers.parser.letters import split_letters
from verikit.answers.parser.lexer import lex
from verikit.answers.parser.tree import NotMath, show
from verikit.verifiers.answer import Answer

PRODUCTS = [
    ("xy^2", "mul(x, pow(y, 2))"), ("xe^x", "mul(x, pow(e, x))"), ("3x^2y", "mul(3, pow(x, 2), y)"),
    (r"4\pi abc", "mul(4, pi, a, b, c)"), ("5/ab", "mul(div(5, a), b)"), ("a_nb_n", "mul(a_n, b_n)"),
    ("e^xy", "mul(pow(e, x), y)"), (r"\frac ab", "div(a, b)"), (r"\sqrt ab", "mul(pow(a, 1/2), b)"),
    (r"\frac{mg}{k}", "div(mul(m, g), k)"), (r"\frac12 mgh", "mul(div(1, 2), m, g, h)"),
    ("abcd+1", "add(mul(a, b, c, d), 1)"), ("my - x", "add(mul(m, y), neg(x))"), ("2 xy", "mul(2, x, y)"),
    ("Ax+By", "add(mul(A, x), mul(B, y))"), ("2xyzw", "mul(2, x, y, z, w)"), (r"\theta*x", "mul(theta, x)"),
    ("2sinx", "mul(2, fn(sin, x))"), ("xlnx", "mul(x, fn(ln, x))"), ("2pir", "mul(2, pi, r)"),
    (r"\int xdx", "int(x, 0, 0, x, False)"), ("x=1orx=2", "list(rel([=], x, 1), rel([=], x, 2))"),
]  # fmt: skip
NAMES = [
    ("AB^2", "pow(mul(A, B), 2)"), ("2AB", "mul(2, mul(A, B))"), (r"\mathrm{AB}^2", "pow(mul(A, B), 2)"),
    ("x_{max}", "x_max"), ("v_final", "v_final"), ("speed: 5", "5"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tree"), PRODUCTS + NAMES)
def test_a_run_of_letters_is_what_the_text_says(text, tree):
    assert show(parse(text)) == tree


@pytest.mark.parametrize(
    "text", ["5 cm", "5mg", r"10\pi cm^2", "60 km/hr", "12 apples", "5 men", "2x cm", r"4\pi units"]
)
def test_a_unit_or_noun_after_a_number_stays_whole(text):
    assert parse(text).op == "qty"


@pytest.mark.parametrize("text", ["cat", "even", "is -3", "MAKE", "NaCl", "15th Day", "red and blue", "Let's go"])
def test_words_stay_words(text):
    with pytest.raises(NotMath):
        parse(text)


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("xy^2", r"x\cdot y^2", True), ("xy^2", "x^2y^2", False), ("3x^2y", "3yx^2", True), ("2xy^2", "2y^2x", True),
        ("xe^x", "x e^{x}", True), ("xe^x", "(xe)^x", False), (r"4\pi abc", r"4\pi", False), ("5/ab", "5", False),
        ("2AB", "2", False), ("abc", "abd", False), ("2xyz", "2xy", False), ("cat", "act", False),
    ],
)  # fmt: skip
def test_letters_neither_vanish_nor_share_a_power(gold, answer, right):
    assert verify(answer, gold).equal is right


def test_splitting_is_linear_in_the_letters():
    for text in ("ab " * 800, "2ab+" * 600, "x" * 9_000, "abc^2" * 600, r"\pi abc " * 600, "sin" * 3_000):
        tokens = lex(text)
        assert len(split_letters(tokens)) <= len(text) + len(tokens)


def test_no_run_of_letters_is_lost():
    rng = random.Random(5)
    for _ in range(3_000):
        parts = rng.choices(["ab", "xyz", "cat", "2", "+", " ", "(", ")", "^", "_", r"\pi ", "AB", "-", "abcd"], k=8)
        tokens = lex("".join(parts))
        before = "".join(token.text for token in tokens)
        assert "".join(token.text for token in split_letters(tokens)) == before


def test_a_formula_over_a_budget_is_no_letter_and_raises_nothing():
    score = Answer(tail_seconds=0)(r"\boxed{\frac{B}{1 = 2}}", "A")
    assert (score.value, score.status) == (0, "ok")
