"""Checks of OSWorld on hostile files and rows: a forged file gets 0.0, and a wrong row has no value."""

import csv

import pytest

import verikit
from tests.artifacts.books import cells, left, sales

for package in ("openpyxl", "formulas", "formualizer"):
    pytest.importorskip(package)


def checked(data, *checks, name="out_xlsx"):
    """The score of an agent that left a file."""
    data = data if isinstance(data, bytes) else data.encode()
    told = {"functions": [{"func": "f", "checks": [{"file": name.replace("_", "."), **check} for check in checks]}]}
    return verikit.osworld().score([left(data, name, osworld=told)])[0]


def two_sheets(title, value, other, other_value):
    """A workbook with a cell A1 on two sheets."""

    def fill(book, sheet):
        sheet.delete_rows(1)
        sheet.title, sheet["A1"] = title, value
        book.create_sheet(other)["A1"] = other_value

    return sales(fill, ())


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize(("title", "twin"), [("Sheet1", "\u017fheet1"), ("ss", "\u00df")])
def test_a_sheet_whose_title_differs_in_case_only_does_not_replace_the_named_one(title, twin):
    def values(book, name):
        check = {"kind": "cells", "sheet": name, "values": {"A1": 1}}
        return verikit.xlsx("*", values={f"{name}!A1": 1}).score([left(book)])[0].value, checked(book, check).value

    for book in (two_sheets(title, 9, twin, 1), two_sheets(twin, 1, title, 9)):
        assert values(book, title) == (0.0, 0.0)
        assert values(book, twin) == (1.0, 1.0)
    score = verikit.xlsx("*", values={"SHEET1!A1": 1}).score([left(two_sheets("Sheet1", 1, "\u017fheet1", 1))])[0]
    assert (score.value, score.reason) == (0.0, "SHEET1!A1 is not in the workbook")


@pytest.mark.parametrize("check", [
    {"kind": "cells", "sheet": 0, "values": {"None": 5}},
    {"kind": "sheet", "sheet": 0, "values": {"A1": 1}, "decimals": "x"},
    {"kind": "sheet", "sheet": 0, "values": {"A1": 1}, "decimals": -3}, {"kind": "cells", "sheet": 0, "values": 5},
    {"kind": "lines", "source": "x", "rule": "y", "expected": []}, {"kind": "json_values", "expect": 5},
    {"kind": "json_values", "expect": [{"ref": 1}]}, {"kind": "contains", "expected": 5},
    {"kind": "contains", "file": 5, "expected": []},
], ids=str)  # fmt: skip
def test_options_that_a_row_can_not_have_leave_it_unscored_and_the_run_goes_on(check):
    data = two_sheets("A", 1, "B", 1) if "sheet" in check else "{}"
    wrong = {"functions": [{"func": "f", "checks": [{"file": "out.xlsx", **check}]}]}
    right = {"functions": [{"func": "f", "checks": [{"kind": "contains", "file": "out.xlsx", "expected": ["PK"]}]}]}
    data = data.encode() if isinstance(data, str) else data
    rows = [left(data, "out_xlsx", osworld=wrong), left(b"PK", "out_xlsx", osworld=right)]
    scores = verikit.osworld().score(rows)
    assert [score.value for score in scores] == [None, 1.0], scores


def test_a_check_that_is_no_object_has_no_value():
    sample = left(b"", "out_xlsx", osworld={"functions": [{"func": "f", "checks": [5]}]})
    assert verikit.osworld().score([sample])[0].value is None


OTHERS = {
    "a number": (cells(C7="=6*7"), 0.0),
    "a text": (cells(D1='="WRONG "&A1'), 0.0),
    "an error": (cells(C7="=1/0"), 0.0),
    "an empty string": (cells(C7='=IF(A1=1,"","x")'), 1.0),
}


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("name", OTHERS)
def test_formulas_besides_the_expected_cells_are_recalculated(name):
    fill, value = OTHERS[name]
    book = sales(lambda book, sheet: (sheet.delete_rows(1), sheet.__setitem__("A1", 1), fill(book, sheet)), ())
    assert checked(book, {"kind": "sheet", "sheet": 0, "values": {"A1": 1}}).value == value
    assert checked(book, {"kind": "printed", "sheet": 0, "shows": {"A1": "1"}}).value == value


def test_all_cells_of_an_array_formula_count():
    from openpyxl.worksheet.formula import ArrayFormula

    def fill(book, sheet):
        sheet.delete_rows(1)
        sheet["A1"], sheet["B1"] = 1, ArrayFormula("B1:B2", "={1;2}")

    assert checked(sales(fill, ()), {"kind": "sheet", "sheet": 0, "values": {"A1": 1, "B1": 1}}).value == 0.0
    assert checked(sales(fill, ()), {"kind": "sheet", "sheet": 0, "values": {"A1": 1, "B1": 1, "B2": 2}}).value == 1.0


def test_a_number_beyond_all_floats_is_not_near_another():
    rule = {"key": ["a"], "method": "approx:0.5", "ref": 2.5}
    assert checked('{"a": ' + "9" * 400 + "}", {"kind": "json_values", "expect": [rule]}, name="out_json").value == 0.0


def test_a_csv_is_read_the_same_whatever_was_scored_before():
    csv.field_size_limit(100)
    assert checked(f"a,b\n1,{'x' * 200_000}\n", {"kind": "records", "expect": [{"a": "1"}]}, name="a_csv").value == 1.0


@pytest.mark.parametrize("end", ["\f", "\v", "\u2028", "\x85"])
def test_only_ends_of_lines_separate_lines(end):
    check = {"kind": "lines", "source": "text", "rule": "lines", "expected": ["a", "b"]}
    assert checked(f"a{end}b", check, name="a_txt").value == 0.0
    assert [checked(f"a{one}b\n", check, name="a_txt").value for one in ("\n", "\r\n", "\r")] == [1.0] * 3
