import decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hostile_texts import HOSTILE
from verikit import Sample
from verikit.errors import UsageError
from verikit.verifiers.numeric import Numeric, last_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("so 72.", 72),
        ("1,234,567 people", 1234567),
        ("-5", -5),
        ("x=-5", -5),
        ("x = −5", -5),
        ("+3.50", Fraction(7, 2)),
        ("pages 10-20", 20),
        ("10 - 5", 5),
        ("(3)-2", 2),
        (".5", Fraction(1, 2)),
        ("1.2.3", 3),
        ("6.02e23", 602 * 10**21),
        ("1E-3", Fraction(1, 1000)),
        ("3/4 of it", Fraction(3, 4)),
        ("-1/2", Fraction(-1, 2)),
        ("1/0", None),
        ("12, 13", 13),
        ("1,23", 23),
        ("٣", 3),
        ("none", None),
        ("", None),
        ("9" * 400, int("9" * 400)),
        ("5 then " + "9" * 401, None),
        ("9" * 400 + "5", None),
        ("1e999", 10**999),
        ("1e1000", None),
        ("1e9999", None),
        ("1e-9999999999999999999", None),
    ],
)
def test_the_last_number_is_read_whole_or_not_at_all(text, value):
    found = last_number(text)
    assert (found and found[1]) == value


@pytest.mark.parametrize("digits", [15, 20, 28, 29, 60, 300])
def test_neighbours_differ_however_many_digits_they_have(digits):
    gold = 10**digits
    assert Numeric()(str(gold), str(gold)).value == 1.0
    assert Numeric()(str(gold + 1), str(gold)).value == 0.0
    assert not Numeric().equal(str(gold + 1), str(gold))
    assert Numeric()(f"0.{'0' * digits}1", "0").value == 0.0


def test_the_callers_decimal_settings_change_nothing():
    with decimal.localcontext() as context:
        context.prec = 2
        assert Numeric()("1001", "1000").value == 0.0


@given(st.integers(), st.integers(1, 10**6), st.integers(-(10**6), 10**6))
def test_a_tolerance_is_exactly_as_wide_as_written(gold, thousandths, off):
    v = Numeric(abs_tol=thousandths / 1000)
    number = Fraction(gold) + Fraction(off, 1000)
    text = f"{'-' if number < 0 else ''}{abs(number) // 1}.{int(abs(number) % 1 * 1000):03d}"
    assert v(text, str(gold)).value == float(abs(off) <= thousandths)


def test_a_relative_tolerance_is_of_the_gold():
    v = Numeric(rel_tol=0.1)
    assert [v(text, "-100").value for text in ("-90", "-110", "-89.9", "100")] == [1, 1, 0, 0]
    assert Numeric(abs_tol=0.1)("0.3", "0.2").value == 1.0


def test_any_gold_may_match_and_a_gold_without_a_number_is_the_datas_fault():
    assert Numeric()("5", ["4", "5"]).value == 1.0
    for gold in (None, [], "none", "1/0", "9" * 500):
        assert Numeric()("5", gold).status == "error"
    assert (Numeric()("five", "5").value, Numeric()("five", "5").status) == (0.0, "ok")


@pytest.mark.parametrize("text", ["9" * 500 + "5", "1e99995", "1." + "0" * 500 + "5", "1/0", "5 or " + "8" * 500])
def test_a_piece_of_a_number_over_the_caps_is_never_taken_for_the_answer(text):
    assert Numeric()(text, "5").value == 0.0


@given(st.text(alphabet="0123456789.,-+eE/−٣ ", max_size=12), st.text(alphabet="0123456789.,-eE/", max_size=8))
def test_equal_is_symmetric_and_agrees_with_the_values(a, b):
    v = Numeric()
    assert v.equal(a, b) == v.equal(b, a)
    assert v.equal(a, a)
    x, y = last_number(a), last_number(b)
    if v.equal(a, b) and a != b:
        assert x[1] == y[1]


def test_text_around_a_number_makes_it_another_answer():
    assert Numeric().equal("1,000", "1000.0")
    assert not Numeric().equal("in 1990 they won 5", "they lost 5")


@pytest.mark.parametrize(
    "options", [{"rel_tol": -1}, {"rel_tol": 1}, {"abs_tol": float("nan")}, {"abs_tol": float("inf")}]
)
def test_tolerances_that_make_no_sense_are_refused(options):
    with pytest.raises(UsageError):
        Numeric(**options)


def test_hostile_text_costs_linear_work(linear):
    for hostile in HOSTILE:
        linear(lambda text: Numeric().score([Sample(completion=text, answer="5")]), hostile)
