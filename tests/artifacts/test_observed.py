"""What a workbook's reader tells is bounded, whoever has taken it over."""

import pytest

from verikit.errors import WorkspaceError
from verikit.verifiers.xlsx.observed import SeenWorkbook


def seen(needs):
    return SeenWorkbook([], {}, False, [], {}, [], {"needs": needs}, "")


def test_the_cells_that_a_formula_reaches_are_followed():
    book = seen({"S1!A1": ["S1!B1:B3"], "S1!B2": ["S1!C1"], "S1!D1": ["S1!E1"]})
    assert book.reached("S1!A1") == {"S1!A1", "S1!B1", "S1!B2", "S1!B3", "S1!C1"}


def test_formulas_that_are_told_to_span_more_than_the_reader_follows_leave_no_value():
    book = seen({"S1!A1": [f"S1!B{row}:B{row + 150_000}" for row in range(1, 1000)]})
    with pytest.raises(WorkspaceError, match="more cells than were requested"):
        book.reached("S1!A1")
