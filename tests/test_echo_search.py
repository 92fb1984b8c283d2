"""No restatement of the question is paid under the echo guard: a standing search with a fixed number of questions.

Questions are generated with their values. A formula of the question goes through up to three wrappers that change its
looks and not its value; beside each stands the evaluated answer, which is paid. `VERIKIT_FORGERIES=50` tries 50 times
as many, from another seed.
"""

import os
import random
from fractions import Fraction
from math import comb, gcd

from verikit import Sample, load

EFFORT = int(os.environ.get("VERIKIT_FORGERIES", "1"))
PLAIN, GUARDED = load("answer(tail_seconds=0)"), load("echo_guard(answer(tail_seconds=0))")
WRAPPERS = [
    "{} + 0", "0 + {}", "{} - 0", "{} + 0.0", r"1 \cdot ({})", r"({}) \cdot 1", r"({}) \times 1.0", "({})^1",
    "({})^{{1}}", "({})", "(({}))", r"\left({}\right)", "{{{}}}", "-(-({}))", "--({})", r"\frac{{{}}}{{1}}", "({})/1",
    "{} + 5 - 5",
    "3 - 3 + {}", r"\frac{{2({})}}{{2}}", r"2({}) \cdot \frac{{1}}{{2}}", r"\frac{{{}}}{{2}} + \frac{{{}}}{{2}}",
    r"({}) \cdot 2^0", r"{} + 0 \cdot 7", r"({}) \cdot (3 - 2)", r"\max({}, {})", r"\lim_{{t \to 0}} ({} + t)",
    r"\sum_{{j=1}}^{{1}} ({})", "\u200b{}", "{}\u2060", "\ufeff{}\u200d", r"\,{}\,", "{{}}{}", r"{}\phantom{{9}}",
    r"{}\quad",
    r"\sqrt{{({})^2}}", "|{}|", "({})^{{2-1}}", r"{} \cdot \frac{{3}}{{3}}", r"\frac{{({}) \cdot 7}}{{7}}",
    "5 - (5 - ({}))",
    "x = {}", r"{}\text{{ cm}}", "{}.", r"\displaystyle {}",
]  # fmt: skip
REPLIES = [r"\boxed{{{}}}", "The answer is ${}$.", r"So it is \[\boxed{{{}}}\]"]


def asked(draw: random.Random) -> tuple[str, str, str]:
    """A question, a formula that restates it, and its evaluated answer."""
    a, b, c, d = (draw.randrange(2, 30) for _ in range(4))
    kind = draw.randrange(12)
    if kind == 0:
        return f"Compute ${a} \\cdot {b} + {c}$.", f"{a} \\cdot {b} + {c}", str(a * b + c)
    if kind == 1:
        return f"What is $({a} + {b}) \\cdot {c} - {d}$?", f"({a} + {b}) \\cdot {c} - {d}", str((a + b) * c - d)
    if kind == 2:
        value = Fraction(a, b) + Fraction(c, d)
        shown = str(value) if value.denominator == 1 else rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
        formula = rf"\frac{{{a}}}{{{b}}} + \frac{{{c}}}{{{d}}}"
        return f"Simplify ${formula}$.", formula, shown
    if kind == 3:
        formula = f"(x + {a})(x - {b})"
        return f"Expand ${formula}$.", formula, f"x^2 + {a - b}x - {a * b}" if a != b else f"x^2 - {a * b}"
    if kind == 4:
        return f"Factor $x^2 - {a * a}$.", f"x^2 - {a * a}", f"(x - {a})(x + {a})"
    if kind == 5:
        formula = f"({a} + {b}i)({c} - {d}i)"
        return f"Compute ${formula}$.", formula, f"{a * c + b * d} + {b * c - a * d}i".replace("+ -", "- ")
    if kind == 6:
        return (
            f"How large is the greatest common divisor of {a * c} and {b * c}?",
            f"\\gcd({a * c}, {b * c})",
            str(gcd(a * c, b * c)),
        )
    if kind == 7:
        n = a + 10
        return f"Add the numbers from 1 to {n}.", rf"\sum_{{k=1}}^{{{n}}} k", str(n * (n + 1) // 2)
    if kind == 8:
        return (
            f"What remains of {a} to the power {b + 70} modulo {c}?",
            rf"{a}^{{{b + 70}}} \bmod {c}",
            str(pow(a, b + 70, c)),
        )
    if kind == 9:
        n = a % 8 + 4
        return f"How many pairs have {n + 6} people?", rf"\binom{{{n + 6}}}{{2}}", str(comb(n + 6, 2))
    if kind == 10:
        return f"A square has the area {a * a}. How long is its side?", rf"\sqrt{{{a * a}}}", str(a)
    return f"Evaluate ${a} - {b}x$ at $x = {c}$.", f"{a} - {b} \\cdot {c} + {d} - {d}", str(a - b * c)


def test_no_wrapped_restatement_is_paid_and_the_evaluated_answer_is():
    draw = random.Random(EFFORT)
    found, tried = [], 0
    for _ in range(250 * EFFORT):
        question, formula, answer = asked(draw)
        reply = draw.choice(REPLIES)
        honest = Sample(question, reply.format(answer), answer)
        assert GUARDED.score([honest])[0].value == 1.0, honest
        wrapped = formula
        for wrapper in draw.sample(WRAPPERS, draw.randrange(4)):
            wrapped = wrapper.format(wrapped, wrapped)
        sample = Sample(question, reply.format(wrapped), answer)
        tried += PLAIN.score([sample])[0].value == 1.0
        score = GUARDED.score([sample])[0]
        assert score.status == "ok"
        if score.value:
            found.append((question, wrapped, answer))
    assert found == []
    assert tried > 100 * EFFORT  # most restatements equal the answer: the search tries what would be paid


def test_the_search_finds_restatements_where_nothing_guards():
    draw = random.Random(1)
    rows = [asked(draw) for _ in range(60)]
    unguarded = load("echo_guard(answer(tail_seconds=0), evaluated=False)")
    scores = unguarded.score([Sample(question, rf"\boxed{{{formula}}}", answer) for question, formula, answer in rows])
    assert sum(score.value == 1.0 for score in scores) > 10
