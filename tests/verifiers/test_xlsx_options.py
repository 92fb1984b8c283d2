"""Options of `xlsx` with a wrong type: an error that names the option, and no verdict on the workbook."""

import datetime

import pytest

import verikit
from verikit.errors import UsageError

WRONG = [
    ("values", {"A1": 10**400}),
    ("values", {"A1": float("nan")}),
    ("values", {"A1": float("inf")}),
    ("values", {"A1": [1]}),
    ("values", ["A1"]),
    ("exact", 5),
    ("exact", {"A1": 1}),
    ("sheet", "Sales"),
    ("then", [5]),
    ("then", [{"set": {"A1": 1}, "values": {"A2": [1]}}]),
    ("follows", {"A1": 5}),
    ("shows", {"A1": 5}),
    ("format", ["0.00"]),
    ("formula", 5),
    ("visible", "A1"),
]


@pytest.mark.parametrize(("option", "value"), WRONG)
def test_a_wrong_type_is_an_error_that_names_the_option(option, value):
    with pytest.raises(UsageError, match=option):
        verikit.xlsx(**{option: value})


@pytest.mark.parametrize(
    "value",
    [5, -1.5, "text", True, None, datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31), datetime.time(10)],
)
def test_what_a_cell_can_hold_may_be_expected(value):
    assert verikit.xlsx(values={"A1": value}).values == {"A1": value}
