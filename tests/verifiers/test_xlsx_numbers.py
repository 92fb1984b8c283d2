"""When two numbers of a workbook are equal: by the tolerance, by decimals, and integers."""

import datetime

import pytest

import verikit
from tests.artifacts.books import cells, left, sales
from verikit.errors import UsageError
from verikit.verifiers.xlsx.engines import Found
from verikit.verifiers.xlsx.verdicts import at_moment, matches

pytest.importorskip("openpyxl")


@pytest.mark.parametrize(
    ("found", "expected", "options", "equal"),
    [
        (4006381333931, 4006381333932, {}, False),  # a bar code with another digit
        (4006381333932, 4006381333932, {}, True),
        (491701234567, 491701234577, {}, False),
        (3.0000000001, 3, {}, True),
        (1234567890123.7001, 1234567890123.7, {}, True),
        (6.02200000001e23, 6.022e23, {}, True),
        (420, 422, {"tolerance": 0.01}, True),  # a tolerance that the task states
        (422.0, 422.004, {"decimals": 2}, True),
        (422.0, 422.006, {"decimals": 2}, False),
        (12345678901.10, 12345678901.12, {"decimals": 2}, False),
        (2.67499999999, 2.675, {"decimals": 2}, True),
        (6.022e23, 6.022e23 * (1 + 2e-16), {"decimals": 2}, True),
        (float("inf"), 1e308, {"decimals": 2}, False),
        (float("nan"), 1.0, {"decimals": 2}, False),
        (1e308, 1, {}, False),
        (1, float("inf"), {}, False),
        (420, 422, {"tolerance": 0.01, "decimals": 0}, True),
    ],
)
def test_numbers_that_differ_by_rounding_are_equal_and_no_others(found, expected, options, equal):
    assert matches(Found(float(found)), expected, **{"tolerance": 1e-9, **options}) is equal


@pytest.mark.parametrize(("seconds", "right"), [(0.03, True), (0.4, True), (1, False), (38, False)])
def test_times_are_compared_by_the_second(seconds, right):
    moment = 45322 + 10 / 24
    assert at_moment(Found(moment + seconds / 86_400), moment) is right
    assert not at_moment(Found(error="#N/A"), moment)


def test_exact_cells_have_no_decimals_and_their_strings_are_no_dates():
    def dated(book, sheet):
        sheet["E2"], sheet["E3"] = datetime.time(10, 0), datetime.datetime(2024, 1, 31)

    def score(fill, values, exact):
        return verikit.xlsx(values=values, decimals=2, exact=exact).score([left(sales(fill))])[0].value

    assert score(dated, {"E2": 605 / 1440}, []) == 1.0
    assert score(dated, {"E2": 605 / 1440}, ["E2"]) == 0.0
    assert score(dated, {"E2": 600 / 1440}, ["E2"]) == 1.0
    assert score(dated, {"E3": "2024-01-31"}, []) == 1.0
    assert score(dated, {"E3": "2024-01-31"}, ["E3"]) == 0.0
    assert score(cells(E3="2024-01-31"), {"E3": "2024-01-31"}, ["E3"]) == 1.0
    with pytest.raises(UsageError, match="'E4', which is not in values"):
        verikit.xlsx(values={"E2": 1}, exact=["E4"])
    with pytest.raises(UsageError, match="exact must be a list"):
        verikit.xlsx(values={"E2": 1}, exact="E2")
