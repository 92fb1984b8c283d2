"""Properties over random formulas: rewriting keeps the verdict, perturbing changes it, no text breaks anything."""

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from tests.growth import count_calls
from verikit.answers import Equality, verify
from verikit.answers.algebra.evaluate import exact
from verikit.answers.algebra.identity import identical
from verikit.answers.parser import parse
from verikit.verifiers.answer import Answer

LENIENT = Equality(policy="lenient")
IN_PROCESS = Answer(tail_seconds=0)

atoms = st.one_of(
    st.integers(0, 99).map(str),
    st.sampled_from(["x", "y", "n", r"\pi", r"\sqrt{2}", r"\sqrt[3]{5}", r"\frac{3}{7}", r"\sin x", "2.5", "e^{x}"]),
)


def combine(inner):
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map(lambda p: f"{p[0]}+{p[1]}"),
        pair.map(lambda p: f"({p[0]})-({p[1]})"),
        pair.map(lambda p: rf"({p[0]})\cdot({p[1]})"),
        pair.map(lambda p: rf"\frac{{{p[0]}}}{{{p[1]}}}"),
        inner.map(lambda a: f"({a})^2"),
        inner.map(lambda a: rf"\sqrt{{{a}}}"),
    )


formulas = st.recursive(atoms, combine, max_leaves=6)
rationals = st.fractions(max_denominator=500).filter(lambda f: abs(f) < 10_000)

REWRITES = {
    "spaces": lambda g: g.replace("+", " + ").replace("-", " - "),
    "dfrac": lambda g: g.replace(r"\frac", r"\dfrac"),
    "sized": lambda g: g.replace("(", r"\left(").replace(")", r"\right)"),
    "times one": lambda g: rf"1\cdot({g})",
    "plus zero": lambda g: f"({g})+0",
    "doubled": lambda g: rf"\frac{{2({g})}}{{2}}",
    "negated twice": lambda g: f"-(-({g}))",
    "unicode": lambda g: g.replace(r"\cdot", "·").replace(r"\pi", "π").replace("-", "−"),
    "boxed": lambda g: f"Step by step, therefore \\[\\boxed{{{g}}}\\]",
    "stated": lambda g: f"The answer is ${g}$. I hope it is correct.",
    "assigned": lambda g: f"t={g}",
}


def usable(gold):
    return verify(gold, gold).outcome != "bad gold"


@given(formulas)
@settings(max_examples=examples(150), deadline=None)
def test_every_gold_matches_itself(gold):
    assume(usable(gold))
    assert verify(gold, gold).equal
    assert IN_PROCESS.equal(gold, gold)


@pytest.mark.parametrize("name", REWRITES)
@given(gold=formulas)
@settings(max_examples=60, deadline=None)
def test_rewriting_keeps_the_value(name, gold):
    assume(usable(gold))
    verdict = verify(REWRITES[name](gold), gold)
    assert verdict.outcome in ("equal", "undecided", "limit"), verdict
    if verdict.outcome != "equal":
        assert identical(parse(gold), parse(gold + "+0"))[0] is None


@pytest.mark.parametrize("change", ["({})+1", "({})-0.01", "-({})-3", "2({})+5", r"({})+\sqrt{{2}}"])
@given(gold=formulas)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])  # few are constants
def test_perturbing_a_constant_never_matches(change, gold):
    value = exact(parse(gold))
    assume(value is not None and value not in (-5, Fraction(-3, 2)))
    assert not verify(change.format(gold), gold).equal


@given(gold=formulas, shift=st.integers(1, 10**6))
@settings(max_examples=examples(120), deadline=None)
def test_adding_a_number_never_matches(gold, shift):
    assume(usable(gold))
    assert not verify(f"({gold})+{shift}", gold).equal


@given(formulas, formulas)
@settings(max_examples=examples(150), deadline=None)
def test_equality_is_symmetric(a, b):
    assert IN_PROCESS.equal(a, b) == IN_PROCESS.equal(b, a)
    if usable(a) and usable(b):
        assert verify(a, b).outcome == verify(b, a).outcome


@given(rationals, st.integers(2, 60))
@settings(max_examples=examples(150), deadline=None)
def test_a_fraction_matches_its_expansions_and_nothing_else(value, factor):
    gold = rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
    wider = rf"\frac{{{value.numerator * factor}}}{{{value.denominator * factor}}}"
    assert verify(wider, gold).equal
    assert verify(f"{value.numerator}/{value.denominator}", gold).equal
    assert not verify(rf"\frac{{{value.numerator * factor + 1}}}{{{value.denominator * factor}}}", gold).equal


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True), st.randoms())
@settings(max_examples=examples(100), deadline=None)
def test_lists_match_in_any_order_and_tuples_in_theirs(values, random):
    shuffled = values[:]
    random.shuffle(shuffled)
    gold, answer = ", ".join(map(str, values)), ", ".join(map(str, shuffled))
    assert verify(answer, gold).equal
    assert verify(rf"\{{{answer}\}}", rf"\{{{gold}\}}").equal
    assert verify(f"({answer})", f"({gold})").equal is (values == shuffled)
    assert not verify(f"{answer}, 1009", gold).equal


@given(st.integers(-99, 98), st.integers(1, 99), st.booleans(), st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_an_interval_is_its_inequality(low, width, left, right):
    high = low + width
    interval = f"{'[' if left else '('}{low}, {high}{']' if right else ')'}"
    sign = {True: r"\le", False: "<"}
    chain = f"{low} {sign[left]} x {sign[right]} {high}"
    assert verify(chain, interval).equal
    assert verify(interval, chain).equal
    assert not verify(f"{'(' if left else '['}{low}, {high}{']' if right else ')'}", interval).equal


@given(st.text(max_size=300), st.text(max_size=80))
@settings(max_examples=examples(400), deadline=None)
def test_no_text_raises(answer, gold):
    verify(answer, gold)
    verify(rf"\boxed{{{answer}}}", gold, equality=LENIENT)
    assert IN_PROCESS.equal(answer, gold) == IN_PROCESS.equal(gold, answer)


PIECES = st.sampled_from(
    r"\frac \sqrt { } ( ) [ ] \{ \} | ^ _ , ; : = < > \le + - * / \cdot ! % ' . 1 2.5 10 x y i e \pi \infty \sin "
    r"\log \text{ \begin{pmatrix} \end{pmatrix} & \\ \cup \pm \sum_{k=1}^{3} \int dx \lim_{x\to0} \boxed{ $ \( \) "
    r"and or not answer is the cm \circ \% 999999999999 ^{10^{10}} 1e400 \left \right \mod \gcd( f(x) x_1 \in "
    r"\mathbb{R} é 四 ½ ²".split()
)


@given(st.lists(PIECES, max_size=40).map(" ".join), st.lists(PIECES, min_size=1, max_size=12).map("".join))
@settings(max_examples=examples(600), deadline=None)
def test_no_mathematical_debris_raises(answer, gold):
    verify(answer, gold)
    verify(answer, "3")


NESTS = [
    r"\lfloor {} \rfloor",
    r"\gcd({}, 2)",
    r"\sqrt{{1+{}}}",
    "x^{{{}}}",
    r"\binom{{x}}{{{}}}",
    r"\log({})",
    "({})!",
    "|{}|",
]


@pytest.mark.parametrize("nest", NESTS)
def test_work_grows_gently_with_nesting(nest):
    text = "x"
    for _ in range(18):
        text = nest.format(text)
    count_calls(lambda: verify(text, "x+1"), most=500_000)
    count_calls(lambda: verify(text + "!" * 24, text), most=500_000)


NUMERALS = st.from_regex(r"-?[0-9]{1,6}(\.[0-9]{1,4})?", fullmatch=True)


@given(NUMERALS, NUMERALS)
def test_the_short_way_for_numerals_decides_as_the_whole_way(answer, gold):
    whole = verify(answer, gold)  # an unmarked text takes it
    short = verify(f"\\boxed{{{answer}}}", gold)
    assert (short.outcome, short.rule) == (whole.outcome, whole.rule)
