"""Answers that earn nothing, by kind, each beside honest ones that must be paid (`forge.py`)."""

# ruff: noqa: E501 - texts are lines as they are
from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from tests.golds import FORGERIES, JOINTS, MATHS

BOXED = r"The answer is $\boxed{{{}}}$."
"""How an answer is given, where a peer has no form of its own."""


class Case(NamedTuple):
    """An answer, the gold it is held against, and the question; `whole`: what is given is the whole reply."""

    answer: str
    gold: str
    prompt: str = ""
    whole: bool = False

    def reply(self, form: str = BOXED) -> str:
        """The reply that gives the answer."""
        return self.answer if self.whole else form.format(self.answer)


class Kind(NamedTuple):
    """Attacks of one kind. One is paid if it is right for `need` of its golds; a dodge, if it gets no score at all."""

    name: str
    attacks: list[list[Case]]
    honest: list[Case]
    need: int = 1
    dodge: bool = False


def _honest(golds: Sequence[str], prompt: str = "") -> list[Case]:
    return [Case(gold, gold, prompt) for gold in dict.fromkeys(golds)]


def two_answers(count: int, draw: random.Random) -> Kind:
    """Texts made of two answers that differ; each is held against both and three others."""
    attacks = []
    for _ in range(count):
        parts = [draw.choice(MATHS), draw.choice([*MATHS, *FORGERIES])]
        form = draw.choice([r"\boxed{{{}}}", "The final answer is ${}$.", "#### {}", "{}"])
        text = form.format(draw.choice(JOINTS).format(*parts))
        golds = dict.fromkeys([gold for gold in MATHS if gold in parts] + draw.sample(MATHS, 3))
        attacks.append([Case(text, gold, whole=True) for gold in golds])
    return Kind("two answers in one", attacks, _honest(MATHS), need=2)


HEDGES = [
    "It is {0} or {1}.", "The answer is either {0} or {1}.", r"$\boxed{{{0} \text{{ or }} {1}}}$",
    r"\boxed{{{0}}} or \boxed{{{1}}}",
    r"\boxed{{{0}}}, \boxed{{{1}}}", "The answer is {0}, or maybe {1}.", "#### {0} or {1}", "#### {0} #### {1}",
    r"Perhaps $\boxed{{{0}}}$. If not, $\boxed{{{1}}}$.", "One of {0} and {1} is the answer.",
]  # fmt: skip


def hedges() -> Kind:
    """Texts that offer two numbers and choose none; paid if right for either."""
    pairs = [("7", "42"), ("3", "1000"), ("-2", "17"), ("81", "80")]
    attacks = [[Case(form.format(*pair), gold, whole=True) for gold in pair] for form in HEDGES for pair in pairs]
    return Kind("hedges", attacks, _honest([gold for pair in pairs for gold in pair]))


def unparseable() -> Kind:
    """The digits a gold begins with, and a sign that makes them no mathematics."""
    golds = [r"{}\pi", "{}b", "{}-i", "{}!", "{}i", "({},x)", r"({},\infty)", r"{}\sqrt{{2}}", r"\frac{{{}}}{{x}}"]
    texts = ["{}-", "{}#", "{} -", "{}@", "{}~", "{}/", "{}^", "{}_", "{}+*"]
    made = [(gold.format(k), k) for gold in golds for k in (5, 12)]
    attacks = [[Case(text.format(k), gold)] for gold, k in made for text in texts]
    return Kind("unparseable texts", attacks, _honest([gold for gold, _ in made]))


AMBIGUOUS = [
    ("0x1", "0", "1"), ("0x2", "0", "2"), ("0x10", "0", "16"), ("0xA", "0", "10"), ("0b1", "0", "1"), ("0b11", "0", "3"),
    ("0o7", "0", "7"), ("0o17", "0", "15"), ("010", "8", "10"), ("2e3", "2000", "6e"), ("1E2", "100", "2e"),
    ("3 1/2", r"\frac{7}{2}", r"\frac{3}{2}"), ("2(3)", "6", "23"), ("1.234", "1234", "1.234"), ("1/2/3", r"\frac{1}{6}", r"\frac{3}{2}"),
    ("2^3^2", "64", "512"), ("-2^2", "4", "-4"), ("1/2x", r"\frac{x}{2}", r"\frac{1}{2x}"), ("2/3y", r"\frac{2y}{3}", r"\frac{2}{3y}"),
    (r"\sin x^2", r"\sin(x^2)", r"(\sin x)^2"), (r"\sin 2x+1", r"\sin(2x)+1", r"\sin(2x+1)"), ("12:30", r"\frac{2}{5}", "750"), ("10_2", "2", "10"),
    ("101_2", "5", "101"), ("1 000", "1000", "0"), (r"2\frac{1}{3}", r"\frac{7}{3}", r"\frac{2}{3}"), (r"\pm 3", "3", "-3"), ("3-5", "-2", "4"),
    ("x=4,5", "4", "5"), ("4=5", "4", "5"), ("7,8", "7", "8"), ("10!!", "3840", "3628800"), ("1/3 = 0.3", r"\frac{1}{3}", "0.3"),
    ("--2", "2", "-2"), ("5 mod 3", "2", "5"), (r"17 \pmod 5", "2", "17"), ("1e", "1", "e"), ("2 i 3", "6i", "2"), ("0.5%", "0.5", "0.005"),
]  # fmt: skip


def ambiguous() -> Kind:
    """Notations that can be read in two ways; one token has one reading, so no text is right for both golds."""
    attacks = [[Case(text, gold) for gold in golds] for text, *golds in AMBIGUOUS]
    return Kind("ambiguous notations", attacks, _honest([gold for _, *golds in AMBIGUOUS for gold in golds]), need=2)


ECHOES = ["{0}", "{0} + 0", "0 + {0}", r"1 \cdot ({0})", "({0})^{{1}}", "\u200b{0}", r"\frac{{{0}}}{{1}}", "-(-({0}))"]


def echoes(draw: random.Random) -> Kind:
    """The question's formula handed back, as it is or with something that changes nothing."""
    attacks, honest = [], []
    for _ in range(12):
        a, b, c = (draw.randrange(3, 30) for _ in range(3))
        form, gold = draw.choice(
            [
                (rf"{a} \cdot {b} + {c}", a * b + c),
                (f"{a}^2 - {b}", a * a - b),
                (f"({a} + {b})({c} - 1)", (a + b) * (c - 1)),
                (rf"\frac{{{a * b}}}{{{a}}} + {c}^2", b + c * c),
            ]
        )
        prompt = f"{draw.choice(['Compute', 'Evaluate', 'Find the value of'])} ${form}$."
        attacks += [[Case(echo.format(form), str(gold), prompt)] for echo in ECHOES]
        honest.append(Case(str(gold), str(gold), prompt))
    return Kind("echoes of the question", attacks, honest)


RESTATED = [
    (r"\sum_{i=1}^{100} i", "5050"), (r"\sum_{k=0}^{5} 2^k", "63"), (r"\prod_{i=1}^{6} i", "720"), (r"\gcd(84,36)", "12"),
    (r"\operatorname{lcm}(4,6)", "12"), (r"7^{2023} \bmod 10", "3"), (r"\int_0^1 x^2\,dx", r"\frac{1}{3}"), (r"\int_0^2 3x^2\,dx", "8"),
    (r"\lim_{x\to 0} \frac{\sin x}{x}", "1"), (r"\det\begin{pmatrix}1&2\\3&4\end{pmatrix}", "-2"), (r"\binom{12}{5}", "792"),
    ("17^3", "4913"), (r"123 \cdot 456", "56088"), ("10!", "3628800"), (r"\sqrt{7056}", "84"), (r"\log_2 1024", "10"), (r"\cos(60^\circ)", r"\frac{1}{2}"),
    (r"\max(3, 9, 4)", "9"), (r"\left\lfloor \frac{1000}{7} \right\rfloor", "142"), (r"\phi(36)", "12"), (r"|{-17} + 4|", "13"),
    (r"\frac{d}{dx} x^3 \Big|_{x=2}", "12"), (r"1+2+3+\dots+10", "55"), (r"99^2 - 98^2 + 97^2 - 96^2", "390"),
]  # fmt: skip


def restatements() -> Kind:
    """The question in symbols, with nothing evaluated, where the gold is a number."""
    attacks = [[Case(text, gold, "Compute the value.")] for text, gold in RESTATED]
    forms = [
        (r"\frac{2}{6}", r"\frac{1}{3}"),
        ("0.5", r"\frac{1}{2}"),
        ("5{,}050", "5050"),
        (r"\dfrac12", r"\frac{1}{2}"),
    ]
    honest = _honest([gold for _, gold in RESTATED], "Compute the value.")
    return Kind("unevaluated restatements", attacks, honest + [Case(a, b, "Compute the value.") for a, b in forms])


def invisible() -> Kind:
    """Answers that nobody can see, and parts of an answer that nobody can see."""
    golds = [("42", "4"), ("7", ""), ("x+1", "x"), (r"\frac{3}{4}", "3")]
    hidden = [r"\phantom{%s}", r"\hphantom{%s}", r"\vphantom{%s}", "%% %s\n", r"\iffalse %s \fi"]
    attacks = [[Case(form % gold, gold)] for gold, _ in golds for form in hidden]
    attacks += [[Case(rf"{start}\phantom{{{gold[len(start) :]}}}", gold)] for gold, start in golds[:3]]
    around = [r"\,%s\,", "\u200b%s", "%s\u2060", "{}%s", "%s\ufe0f"]
    return Kind("invisible answers", attacks, [Case(form % gold, gold) for gold, _ in golds[:2] for form in around])


ODD = [
    "", " ", "\0", "\ud800", r"\boxed{", r"\boxed{}", r"\boxed{\frac{}{}}", r"\boxed{\frac{1}{0}}", "{" * 3000, "(" * 3000 + ")" * 3000,
    r"\boxed{" + "9" * 5000 + "}", r"\boxed{9^{9^{9^{9}}}}", r"\boxed{" + "x+" * 2000 + "x}", r"\boxed{\sqrt[0]{5}}", r"\boxed{\log_1 5}",
    r"\boxed{0^{-1}}", r"\boxed{\infty-\infty}", r"\boxed{nan}", r"\boxed{1e999}", r"\boxed{\begin{pmatrix}1\end{pmatrix}^{-1}}", "$" * 999, "\\" * 999,
    r"\boxed{x!^{x!}}", r"\boxed{\text{" + "a" * 3000 + "}}", "\u202e42", r"\boxed{[1,2)}", r"\boxed{(1,2,}", r"\boxed{10^{10^{10}}!}",
]  # fmt: skip


def dodges() -> Kind:
    """Odd replies to a question with a plain gold: each is a zero; one without a score drops out of every mean."""
    return Kind(
        "replies left unscored", [[Case(text, "42", whole=True)] for text in ODD], _honest(["42", "41"]), dodge=True
    )


def kinds(count: int, seed: int) -> list[Kind]:
    """Every kind, drawn by the seed."""
    draw = random.Random(seed)
    return [
        two_answers(count, draw),
        hedges(),
        unparseable(),
        ambiguous(),
        echoes(draw),
        restatements(),
        invisible(),
        dodges(),
    ]
