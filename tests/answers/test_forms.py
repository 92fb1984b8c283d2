"""What of an answer is left to compute, and trees without neutral parts."""

import pytest

from verikit import Sample, load
from verikit.answers.forms import holds, ordered, plain, unevaluated, written

ANSWER = load("answer")

LEFT = [
    (r"\sum_{i=1}^{100} i", "5050", "a sum"),
    (r"\prod_{k=1}^{4} k", "24", "a product"),
    (r"\gcd(84, 36)", "12", "gcd"),
    (r"x = \gcd(84, 36)", "12", "gcd"),
    (r"\gcd(84, 36) \text{ cm}", "12", "gcd"),
    (r"7^{2023} \bmod 10", "3", "a large power"),
    (r"\int_0^1 6x^2 dx", "2", "an integral"),
    (r"\lim_{x \to 0} \frac{\sin x}{x}", "1", "a limit"),
    (r"\begin{vmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix}", "-2", "matrix arithmetic"),
    (r"\binom{10}{3}", "120", "binom"),
    ("10!", "3628800", "a factorial"),
    (r"\sqrt{144}", "12", "a root"),
    (r"\log_2 8", "3", "a logarithm"),
    (r"\sin 30^\circ", r"\frac{1}{2}", "a trigonometric function"),
    (r"\lfloor 7.5 \rfloor", "7", "floor"),
    (r"|-5|", "5", "abs"),
    (r"e^{i \pi}", "-1", "the constant e"),
    (r"3 \cdot 4 + 5 - 6", "11", "3 operations"),
    ("(1+2i)6-3i", "6+9i", "5 operations"),
    (r"(x+7)(x+8)-x^2-15x", "56", "4 operations"),
    (r"(\gcd(6, 9), 4)", "(3, 4)", "gcd"),
]
"""Right answers that are left to compute, each with its gold and what is left."""

EVALUATED = [
    ("12", "12"),
    ("-12", "-12"),
    ("x = 12", "12"),
    (r"12\text{ cm}", "12"),
    (r"\$12.00", "12"),
    (r"50\%", "50"),
    ("1{,}000", "1000"),
    (r"\frac{3}{4}", "0.75"),
    (r"-\frac{3}{4}", "-3/4"),
    (r"2\frac{1}{2}", "2.5"),
    (r"3.0 \times 10^8", "300000000"),
    ("2^{10}", "1024"),
    ("5!", "120"),
    (r"36 \cdot 1 + 0", "36"),
    ("--36", "36"),
    (r"\gcd(84, 36) = 12", "12"),
    (r"3 \cdot 4 + 1 = 13", "13"),
    (r"x = \int_0^1 x^2 dx = \frac13", r"\frac13"),
    (r"\sqrt{2}", "1.414"),
    (r"\frac{5\pi}{3}", "5.236"),
    (r"\frac{1 + \sqrt{5}}{2}", r"\frac{1}{2} + \frac{\sqrt5}{2}"),
    (r"k\pi", r"k\pi"),
    ("9i + 6", "6+9i"),
    (r"\binom{10}{3}", r"\binom{10}{3}"),
    (r"\binom{10}{7}", r"\binom{10}{3}"),
    (r"\ln 2", r"\ln 2"),
    (r"2^{100}", r"2^{100}"),
    (r"\frac15 \begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 1/5 \\ 2/5 \end{pmatrix}"),
    ("x = 3, y = 4", "(3, 4)"),
    ("twelve", "12"),
]


@pytest.mark.parametrize(("answer", "gold", "left"), LEFT)
def test_a_right_answer_that_is_left_to_compute_is_told(answer, gold, left):
    assert ANSWER.score([Sample("", rf"\boxed{{{answer}}}", gold)])[0].value == 1.0
    assert unevaluated(answer, [gold]) == left


@pytest.mark.parametrize(("answer", "gold"), EVALUATED)
def test_a_simple_form_is_evaluated(answer, gold):
    assert ANSWER.score([Sample("", rf"\boxed{{{answer}}}", gold)])[0].value == 1.0
    assert unevaluated(answer, [gold]) == ""
    assert unevaluated(answer, [gold], "Compute the value.") == ""


def test_a_question_asks_for_a_value_where_the_gold_is_no_plain_number():
    assert unevaluated(r"\arctan 1", [r"\frac{\pi}{4}"]) == ""
    told = "an inverse trigonometric function"
    assert unevaluated(r"\arctan 1", [r"\frac{\pi}{4}"], "Evaluate the integral.") == told
    assert unevaluated(r"\arctan 1", [r"\frac{\pi}{4}"], "What is the exact value of x?") == told
    assert unevaluated(r"\frac{n(n+1)}{2}", [r"\binom{n+1}{2}"], "Compute it.") == ""
    assert unevaluated(r"\binom{n+1}{2}", [r"\frac{n(n+1)}{2}"], "Compute it.") == ""
    assert unevaluated(r"\sum_{k=1}^n k", [r"\frac{n(n+1)}{2}"], "Compute it.") == "a sum"


def test_one_of_several_golds_may_have_the_kind_of_form():
    assert unevaluated(r"\binom{10}{3}", ["120", r"\binom{10}{3}"]) == ""
    assert unevaluated(r"\sum_{i=1}^{15} i", ["120", r"\binom{10}{3}"]) == "a sum"
    assert unevaluated(r"\binom{10}{3}", ["a hundred and twenty apples in all"]) == ""


def test_a_formula_far_longer_than_the_gold_is_left_to_compute():
    assert unevaluated("12" + "+0" * 1_100, ["12"]) == "2,202 characters"
    assert unevaluated("x" + "+0" * 1_100, ["x"]) == "2,201 characters"


@pytest.mark.parametrize(
    "neutral",
    [
        "{} + 0", "0.0 + {}", "{} - 0", r"1 \cdot ({})", r"({}) \cdot 1.0", "({})^1", "({})^{{1}}", "(({}))",
        "-(-({}))", "--({})", r"\frac{{{}}}{{1}}", "({})/1", "{} + 5 - 5", r"\frac{{2({})}}{{2}}", r"(({})^2)^{{1/2}}",
        "(-1)(-({}))", r"{} + 0 \cdot 7", r"({}) \cdot 2^0",
    ],
)  # fmt: skip
def test_neutral_parts_are_dropped(neutral):
    for formula in ("a + b", "3x", "7", r"\frac{a}{b}", "(x+2)(x-2)", r"2\sqrt{3}"):
        assert plain(written(neutral.format(formula))) == plain(written(formula))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("a+b", "b+a"), ("2x-3", "-3+2x"), ("(x+2)(x-2)", "(x-2)(2+x)"), ("(x+2)(x-2)", "-(2-x)(x+2)"),
        ("(x+2)(x-2)", "(-x-2)(2-x)"),
    ],
)  # fmt: skip
def test_order_and_sign_of_terms_make_no_other_formula(a, b):
    assert ordered(written(a)) == ordered(written(b))


@pytest.mark.parametrize(("a", "b"), [("a+b", "a-b"), ("a/b", "b/a"), ("a^b", "b^a"), ("(a+b)c", "a+bc"), ("2x", "3x")])
def test_other_formulas_stay_apart(a, b):
    assert ordered(written(a)) != ordered(written(b))


def test_a_formula_is_found_within_another():
    whole = ordered(written(r"\max(b + 3 + a + 5 - 1, 0)"))
    assert holds(whole, ordered(written("a + b + 3")))
    assert not holds(whole, ordered(written("a + b + 4")))
