"""Spellings the parser can't read: inequalities in words against membership, matrices in code, maps, exceptions."""

import random
from fractions import Fraction

import pytest

from verikit.answers import verify
from verikit.answers.algebra.normal import normal
from verikit.answers.algebra.sets import position, to_pieces
from verikit.answers.parser import parse
from verikit.answers.spellings import SPELLINGS, respelled

PHRASES = {
    "at most {}": lambda x, a: x <= a, "no more than {}": lambda x, a: x <= a, "less than {}": lambda x, a: x < a,
    "less than or equal to {}": lambda x, a: x <= a, "at least {}": lambda x, a: x >= a, "above {}": lambda x, a: x > a,
    "no less than {}": lambda x, a: x >= a, "greater than {}": lambda x, a: x > a, "below {}": lambda x, a: x < a,
    "greater than or equal to {}": lambda x, a: x >= a, "not equal to {}": lambda x, a: x != a,
    "strictly more than {}": lambda x, a: x > a, "positive": lambda x, a: x > 0, "non-negative": lambda x, a: x >= 0,
    "negative": lambda x, a: x < 0, "nonzero": lambda x, a: x != 0,
}  # fmt: skip
GRID = [Fraction(n, 2) for n in range(-14, 15)]


def members(text):
    spelled = next(respelled(text))
    pieces = to_pieces(normal(parse(spelled)))
    assert pieces is not None, spelled
    return [
        x for x in GRID for p in pieces
        if (position(p.low) < x or (position(p.low) == x and p.low_closed))
        and (x < position(p.high) or (position(p.high) == x and p.high_closed))
    ]  # fmt: skip


@pytest.mark.parametrize("first", PHRASES)
@pytest.mark.parametrize(
    "subject", ["y is {}", "{}", "all real numbers {}", "all real numbers x that are {}", "So x is {}"]
)
def test_words_of_comparison_hold_what_they_say(first, subject):
    rng = random.Random(f"{first} {subject}")
    second, a, b = rng.choice(list(PHRASES)), rng.randint(-5, 5), rng.randint(-5, 5)
    left, right = first.format(a), second.format(b)
    if subject == "all real numbers {}" and "equal to" not in first and "than" not in first:
        return
    if subject != "{}" or "{" in first:
        assert members(subject.format(left)) == [x for x in GRID if PHRASES[first](x, a)]
    for word, joined in (("and", all), ("but", all), ("or", any)):
        text = subject.format(f"{left} {word} {right}")
        if next(respelled(text), None) is not None:
            assert members(text) == [x for x in GRID if joined((PHRASES[first](x, a), PHRASES[second](x, b)))], text


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        (r"y \le 9", "y is at most 9", True),
        (r"y \le 9", "y is at least 9", False),
        (r"y \le 9", "y is less than 9", False),
        (r"y \le 9", "x is at most 9", False),
        ("(3,7)", "greater than 3 but less than 7", True),
        ("(3,7)", "greater than 3 or less than 7", False),
        ("3 < x < 7", "x is between 3 and 7, exclusive", True),
        ("3 < x < 7", "x is between 3 and 7 inclusive", False),
        ("3 < x < 7", "between 3 and 7", False),
        (r"3 \le x \le 7", "between 3 and 7, inclusive", True),
        (r"x \ge 4", "x is 4 or more", True),
        (r"x \ge 4", "4 or greater", True),
        (r"x \ge 4", "4 or less", False),
        (r"x \ge 4", "3 or more", False),
        ("x > 0", "all positive real numbers", True),
        (r"x \ge 0", "all positive real numbers", False),
        (r"x \ge 0", "x is non-negative", True),
        ("x < 5", "whole numbers less than 5", False),
        ("x < 5", "x is less than 5 million", False),
        ("x < 5", "x is less than 5y", False),
        ("x < 5", "x is not less than 5", False),
        (r"\{1,2,3,4\}", "integers greater than 0 and less than 5", True),
        (r"\{1,2,3,4\}", "integers greater than 0 and at most 5", False),
        (r"(-\infty,3)\cup(3,\infty)", "all real numbers except 3", True),
        (r"(-\infty,3)\cup(3,\infty)", "all real numbers except -3", False),
        (r"x \ne -5 \text{ and } x \ne 4", "all real numbers except -5 and 4", True),
        (r"\mathbb{R}", "every real number", True),
        (r"\mathbb{R}", "all real numbers except 0", False),
        (r"\mathbb{R}", "all rational numbers", False),
        (r"(-\infty,\infty)", "all reals", True),
        ("[2,5)", "[2,5[", True),
        ("[2,5]", "[2,5[", False),
        (r"[1,2)\cup(3,4]", r"[1,2[ \cup ]3,4]", True),
        ("f(x)=x^2+1", r"x \mapsto x^2+1", True),
        ("f(x)=x^2+1", r"f: t \mapsto t^2+1", True),
        ("f(x)=x^2+1", r"x \mapsto x^2-1", False),
        (r"\binom{n}{2}", r"{n \choose 2}", True),
        (r"\binom{n}{2}", r"{n \choose 3}", False),
        (r"\frac{n(n-1)}{2}", r"{n \choose 2}", True),
    ],
)
def test_single_spellings(gold, answer, expected):
    assert verify(answer, gold).equal is expected
    assert verify(rf"\boxed{{{answer}}}", gold).equal is expected


@pytest.mark.parametrize("seed", range(12))
def test_matrices_in_code_notation(seed):
    rng = random.Random(seed)
    height, width = rng.choice([(1, 3), (2, 2), (2, 3), (3, 2)])
    values = rng.choice([["1", "-2", "x", "3.5", "x+1", "1/2"], ["0", "1", "7", "12"]])
    rows = [[rng.choice(values) for _ in range(width)] for _ in range(height)]

    def forms(rows):
        lists = "[" + ", ".join(f"[{', '.join(row)}]" for row in rows) + "]"
        yield r"\begin{pmatrix}" + r" \\ ".join(" & ".join(row) for row in rows) + r"\end{pmatrix}"
        yield r"\begin{bmatrix}" + r" \\ ".join(" & ".join(row) for row in rows) + r"\end{bmatrix}"
        yield r"\left[\begin{array}{ccc}" + r" \\ ".join(" & ".join(row) for row in rows) + r"\end{array}\right]"
        yield from (f"Matrix({lists})", f"np.array({lists})", f"sympy.Matrix({lists})")
        if height > 1:
            yield lists
            if all(entry.isdigit() for row in rows for entry in row):
                yield "[" + "; ".join(" ".join(row) for row in rows) + "]"
            yield "[" + "; ".join(", ".join(row) for row in rows) + "]"

    turned = [list(column) for column in zip(*rows, strict=True)]
    changed = [[*rows[0][:-1], "41"], *rows[1:]]
    golds = list(forms(rows))[:3]
    for answer in forms(rows):
        assert all(verify(rf"\boxed{{{answer}}}", gold).equal for gold in golds), answer
    for answer in (*forms(changed), *(forms(turned) if turned != rows and height > 1 else ())):
        assert not any(verify(rf"\boxed{{{answer}}}", gold).equal for gold in golds), answer


@pytest.mark.parametrize("unit", " a1,;.[({\\|-$~")
def test_work_on_hostile_texts_is_linear(linear, unit):
    for start in ("", "[", "x is ", "all ", "Matrix(", "{", r"\text{", "(a)"):
        for spelling in SPELLINGS:
            linear(lambda text, start=start, spelling=spelling: spelling(start + text + "!"), unit, most=1_900)
            linear(spelling, unit, most=16_000)
