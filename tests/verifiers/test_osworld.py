"""Checks of OSWorld on hostile files and rows: a forged file gets 0.0, and a wrong row has no value."""

import pytest

import verikit
from tests.artifacts.books import left, sales

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
        sheet.title, sheet["A1"] = title, value
        book.create_sheet(other)["A1"] = other_value

    return sales(fill, ())


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
