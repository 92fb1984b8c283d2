"""Two million random and mutated answers (some hours): nothing raises, hangs, or scores that should not."""

import os
import random

import pytest

from tests.growth import count_calls
from verikit.answers import Equality, choices, verify
from verikit.answers.claims.statements import FoundAnswer
from verikit.answers.families.text import compare_texts
from verikit.answers.gold import read_gold
from verikit.answers.judging import Terms, judge
from verikit.answers.parser.clean import same_but_spacing
from verikit.verifiers.answer import Answer

PAIRS = int(os.environ.get("VERIKIT_FUZZ_PAIRS", "2_000_000"))
"""A count, not a time: the same pairs come on a fast and on a slow machine."""
SEEDS = [
    r"\frac{1}{2}", r"\boxed{\sqrt{2}+x^{2}}", r"(1,2]\cup[3,\infty)", r"\{x \mid x > 0\}",
    r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
    r"\sum_{k=1}^{10} k^2", r"\int_0^1 x\,dx", r"\lim_{x\to 0} \frac{\sin x}{x}", "The answer is (B).",
    "#### 1,234.50",
    r"5 \text{ cm}^2", r"x = 1 \text{ or } x = -2", "3 1/2", "60°", "10^{10^{10}}",
    "<think>a</think><answer>b</answer>",
    r"\log_2 8 \pm \binom{5}{2}!", "12:30 p.m.", "Paris, France", "8 January 1891", r"|x-1| \le 3", r"2516_8",
    "答案是 12。",
]  # fmt: skip
CHARS = "0123456789xyie+-*/^_=<>!|()[]{}\\$%&,.;:'\" \n\tπ√°²½∞≤é四\x00\ud7ff"


def mutate(text, rng):
    """Splice, repeat, drop, swap or insert somewhere."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            text = text[:at] + rng.choice(CHARS) * rng.choice((1, 1, 1, 3, 50)) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + rng.randint(1, 5) :]
        elif kind == 2:
            other = rng.choice(SEEDS)
            text = text[:at] + other[rng.randrange(len(other)) :]
        elif kind == 3:
            text = (
                text[:at]
                + rng.choice((r"\frac", "{", "}", r"\left(", r"\right)", r"\text{", r"\boxed{", "^{", "!"))
                + text[at:]
            )
        elif kind == 4:
            piece = text[at : at + rng.randint(1, 8)]
            text = text[:at] + piece * rng.choice((2, 3, 40)) + text[at:]
        else:
            text = rng.choice(SEEDS) + " " + text
    return text[:20_000]


@pytest.mark.slow(seconds=PAIRS / 170)
def test_mutated_answers_never_raise_hang_or_match_another_gold():
    rng = random.Random(20_26)
    verifier, lenient = Answer(tail_seconds=0), Equality(policy="lenient")
    pool = list(SEEDS)
    for number in range(PAIRS):
        answer, gold = mutate(rng.choice(pool), rng), rng.choice(pool)
        verdict = verify(answer, gold)
        verify(answer, gold, equality=lenient)
        if number % 20 == 0:  # counting takes time itself
            count_calls(lambda answer=answer, gold=gold: verify(answer, gold), most=1_000_000)
        assert verifier.equal(answer, gold) == verifier.equal(gold, answer), (answer, gold)
        if verdict.equal and verdict.extracted:
            again = equal_by_itself(verdict, gold)
            assert again, (answer, gold, verdict)
        if len(answer) < 200 and len(pool) < 500 and rng.random() < 0.02:
            pool.append(answer)


def equal_by_itself(verdict, gold):
    """Whether what the verdict shows as extracted is the gold without the text around it."""
    if verdict.rule == "same text":
        return verdict.extracted == verdict.gold or same_but_spacing(verdict.extracted, verdict.gold)
    read = read_gold(gold)
    if read.kind == "letter":
        _, option = choices.gold_letter(read.text)
        return all(letter in verdict.extracted.upper() for letter in read.letters) or bool(
            compare_texts(option, verdict.extracted, Equality())
        )
    again = judge(FoundAnswer(verdict.extracted, verdict.form), read, Terms())
    return again.outcome in ("equal", "undecided", "limit")
