"""Arbitrary constants: the same antiderivative where sympy's derivatives agree, and no other."""

import random

import pytest

from verikit.answers import verify

FUNCTIONS = {
    r"\frac{x^2}{2}": "x**2/2", r"x^3-x": "x**3-x", r"\sin^2 x": "sin(x)**2", r"-\cos^2 x": "-cos(x)**2",
    r"-\frac{1}{2}\cos 2x": "-cos(2*x)/2", r"\ln(x^2+1)": "log(x**2+1)", r"\ln(3x^2+3)": "log(3*x**2+3)",
    r"e^{2x}": "exp(2*x)", r"xe^x-e^x": "x*exp(x)-exp(x)", r"(x-1)e^{x}": "(x-1)*exp(x)", r"\arctan x": "atan(x)",
    r"\frac{x^2+2}{2}": "(x**2+2)/2", r"-\frac{1}{x}": "-1/x", r"\frac{x-1}{x}": "(x-1)/x", r"\frac{x^2}{3}": "x**2/3",
    r"\sqrt{x^2+1}": "sqrt(x**2+1)", r"\cos^2 x": "cos(x)**2", r"\tan x": "tan(x)",
    r"\frac{\sin x}{\cos x}": "sin(x)/cos(x)",
}  # fmt: skip


@pytest.fixture(scope="module")
def slopes():
    """Values of each function's derivative at three points."""
    sympy = pytest.importorskip("sympy")
    x = sympy.Symbol("x")
    points = [sympy.Rational(4, 7), sympy.Rational(9, 8), sympy.Rational(-5, 6)]
    derivatives = {name: sympy.diff(sympy.sympify(text), x) for name, text in FUNCTIONS.items()}
    return {name: [round(float(d.subs(x, p).evalf(20)), 12) for p in points] for name, d in derivatives.items()}


@pytest.mark.parametrize("gold", FUNCTIONS)
def test_antiderivatives_match_where_their_derivatives_do(gold, slopes):
    rng = random.Random(gold)
    alike = [name for name in FUNCTIONS if slopes[name] == slopes[gold]]
    for answer in (*alike, *rng.sample(list(FUNCTIONS), 5)):
        same = answer in alike
        constant, shift = rng.choice(["C", "K", "c", r"\text{constant}"]), rng.choice(["", "+5", r"-\frac{\pi}{2}"])
        assert verify(rf"\boxed{{{answer}{shift} + {constant}}}", f"{gold} + C").equal is same, answer
        assert not verify(rf"\boxed{{{answer} + {constant}x}}", f"{gold} + C").equal


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        (r"\ln|x| + C", r"\ln|3x| + C", True),
        (r"\ln|x| + C", r"2\ln|x| + C", False),
        (r"\frac{x^2}{2} + C", r"\frac{x^2}{2}", False),
        (r"\frac{x^2}{2} + c", r"\frac{x^2}{2} + C", True),
        (r"\frac{x^2}{2} + C", r"C\frac{x^2}{2}", False),
        (r"y = Ce^{2x}", r"y = 3Ae^{2x}", True),
        (r"y = Ce^{2x}", r"y = e^{2x}+C", False),
        (r"y = C_1 e^{x} + C_2 e^{-x}", r"y = A e^{-x} + B e^{x}", True),
        (r"y = C_1 e^{x} + C_2 e^{-x}", r"y = A \cosh x + B \sinh x", True),
        (r"y = C_1 e^{x} + C_2 e^{-x}", r"y = A e^{-x} + B e^{2x}", False),
        (r"y = C_1 e^{x} + C_2 e^{-x}", r"y = A e^{-x} + A e^{x}", False),
        (r"y = C_1\cos x + C_2 \sin x + x", r"y = A\cos x + B \sin x + x + \sin x", True),
        (r"y = C_1\cos x + C_2 \sin x + x", r"y = A\cos x + B \sin x - x", False),
        (r"y=\frac{1}{C-x}", r"y=\frac{1}{K-x}", True),
        (r"y=\frac{1}{C-x}", r"y=\frac{1}{K+2x}", False),
        (r"e^{x} + C", r"e^{x} + C, \text{ where } C \text{ is an arbitrary constant}", True),
        ("A+B+C", "A+B+K", False),
        ("180-C", "180-B", False),
        ("ax + c", "ax + k", False),
    ],
)
def test_general_solutions(gold, answer, expected):
    assert verify(rf"\boxed{{{answer}}}", gold).equal is expected
