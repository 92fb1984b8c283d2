"""Votes by fingerprints: the same clusters as all pairs compared, at a cost that doesn't grow with their number."""

import math
import random

import pytest

from tests.growth import count_calls
from verikit import load
from verikit.answers.fingerprint import fingerprint
from verikit.select import MAX_COMPARISONS, clusters
from verikit.verifiers.answer import Answer

ANSWER = Answer()
SPELLINGS = {
    "number": [["12", "12.0", "24/2", r"\frac{24}{2}", r"12\text{ cm}", "x = 12", "twelve", "XII", "12%", r"\{12\}"]],
    "third": [["1/3", r"\frac{1}{3}", r"\dfrac13", "0.33", "0.3333333333", "0.33333333333333", "2/6", r"33\frac13\%"]],
    "root": [[r"\sqrt{8}", r"2\sqrt2", r"2\sqrt{2}", "8^{1/2}", "2.82842712475", r"\frac{4}{\sqrt{2}}", "2.83"]],
    "formula": [
        ["(x+1)^2", "x^2+2x+1", "1 + 2x + x^2", r"\left(x+1\right)^{2}", "x(x+2)+1", r"x\cdot x+2x+1", "y=(x+1)^2"],
        ["x^2-1", "(x-1)(x+1)", "-(1-x)(1+x)", r"\frac{(x^2-1)(x+2)}{x+2}", "f(x)=x^2-1", "x^2-1=0"],
    ],
    "sine": [[r"\sin^2 x", r"1-\cos^2 x", r"\sin^2(x)", r"\frac{1-\cos 2x}{2}", "1-0.5"]],
    "letter": [["B", "(B)", "b", "(B) 12", "B. 12", "A, C", "AC", "C and A", "CA"]],
    "text": [["Paris", "paris", "the Paris", "Paris.", "City of Paris", "no solution", r"\emptyset", "2 solutions"]],
    "set": [[r"\{1,2\}", r"\{2,1\}", "1, 2", "(1,2)", "1 and 2", "1,2", "1.2", "12", "[1,2]", "1:2", "1/2"]],
    "big": [["1,234", "1234", "1 234", r"1{,}234", "1.234", r"1234\text{ m}", "1234m", "1234 m", "1.234e3", "1234.00"]],
}


def spelled(rng):
    """A group of answers, some of which are other spellings of one another."""
    forms = [forms for kinds in SPELLINGS.values() for forms in kinds]
    chosen = [rng.choice(rng.choice(forms)) for _ in range(rng.randint(4, 9))]
    a, b = rng.randint(-9, 9), rng.randint(2, 9)
    ours = [
        f"{a}/{b}",
        rf"\frac{{{a}}}{{{b}}}",
        rf"\frac{{{2 * a}}}{{{2 * b}}}",
        f"{a / b:.2f}",
        f"{a}x+{b}",
        f"{b}+x*{a}",
    ]
    return [*chosen, *rng.choices(ours, k=4)]


@pytest.mark.parametrize("groups", [80, pytest.param(1_000, marks=pytest.mark.slow)])
def test_votes_by_keys_are_the_votes_of_all_pairs(groups):
    rng = random.Random(groups)
    keyed = merged = 0
    for _ in range(groups):
        group = spelled(rng)
        by_keys = clusters(group, ANSWER.equal, ANSWER.keys)
        assert by_keys == clusters(group, ANSWER.equal), group
        keyed += sum(ANSWER.keys(text) is not None for text in group)
        merged += len(set(group)) - len(set(by_keys))
    assert keyed > 3 * groups
    assert merged > groups


@pytest.mark.parametrize(
    ("formula", "same"),
    [("(x+1)^2", "x^2+2x+1"), ("1/3", r"\frac{2}{6}"), (r"\sqrt{8}", r"2\sqrt{2}"), ("12", "12.00")],
)
def test_equal_formulas_share_a_fingerprint(formula, same):
    assert fingerprint(formula) is not None
    assert fingerprint(formula) == fingerprint(same)


@pytest.mark.parametrize(
    "text",
    ["B", "(C)", "AC", "12%", "1,234", "XII", "0.3333333333", "5 cm", "sin x", "x=2", r"\{1,2\}", "12:30", "\\frac{"],
)
def test_what_may_equal_something_written_otherwise_has_no_fingerprint(text):
    assert fingerprint(text) is None


def test_clusters_do_not_depend_on_the_order_of_the_answers():
    # Equality that is not transitive: neighbours are the same.
    def near(a, b):
        return abs(int(a) - int(b)) <= 1

    numbers = [str(i) for i in range(10) if i not in (3, 7)]
    expected = {frozenset("012"), frozenset("456"), frozenset("89")}
    for seed in range(5):
        shuffled = random.Random(seed).sample(numbers, len(numbers))
        found = clusters(shuffled, near)
        together = {frozenset(n for n, c in zip(shuffled, found, strict=True) if c == cluster) for cluster in found}
        assert together == expected
        assert [min(i for i, c in enumerate(found) if c == cluster) for cluster in range(3)] == sorted(
            found.index(cluster) for cluster in range(3)
        )


def counted(pairs):
    """The verifier's equality, which notes the pairs that it is asked about."""

    def equal(a, b):
        pairs.append((a, b))
        return ANSWER.equal(a, b)

    return equal


@pytest.mark.slow
@pytest.mark.parametrize("form", [r"\sin(%dx)+%d", r"%d\text{ cm} %d", "city %d of %d", "(%d,%d)"])
def test_a_thousand_different_answers_of_any_kind_cost_so_many_cheap_comparisons(form):
    group, pairs = [form % (i, i + 1) for i in range(1_000)], []
    assert len(set(clusters(group, counted(pairs), ANSWER.keys))) == 1_000
    assert len(pairs) <= MAX_COMPARISONS
    for a, b in pairs[::500]:
        count_calls(lambda a=a, b=b: ANSWER.equal(a, b), most=1_000)


@pytest.mark.parametrize(
    ("form", "again"),
    [(r"x^{%d}+%d", "8+x^{7}"), (r"\frac{%dx+1}{x^2+%d}", "(1+7x)/(8+x^2)"), ("%d.%d", "7.80")],
)
def test_a_thousand_different_numbers_and_formulas_are_told_apart_by_their_images(form, again):
    group, pairs = [form % (i, i + 1) for i in range(1_000)], []
    assert len(set(clusters([*group, again], counted(pairs), ANSWER.keys))) == 1_000
    assert len(pairs) <= 1


def test_the_comparisons_of_a_vote_are_bounded():
    asked = []

    def equal(a, b):
        asked.append((a, b))
        return False

    assert clusters([f"a{i}" for i in range(500)], equal, most=1_000) == list(range(500))
    assert len(asked) == 1_000


def test_combinations_ask_the_keys_of_their_parts():
    both = load("0.9*answer + 0.1*boxed")
    assert both.keys("x^2-1") == both.keys("(x-1)(x+1)")
    assert both.keys("12%") is None
    assert load("boxed").keys("anything") == ()
    assert load("answer(tolerance=0.1)").keys("12") is None


def test_a_tolerance_is_not_transitive_and_compares_all_pairs():
    loose = Answer(tolerance=0.02)
    assert len(set(clusters(["100", "101", "150"], loose.equal, loose.keys))) == 2
    assert math.isclose(101 / 100, 1.01)
