"""Formulas are cut into pieces without a loss, and references are found whatever surrounds them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.artifacts.readers.references import area_of, column_number, letters, pieces, reference, rewritten

FORMULAS = {
    "=SUM(B2:B5)": ["B2:B5"],
    "=B2*$C$3+1E-5": ["B2", "$C$3"],
    "='My ''own'' sheet'!B2+Sales!C3:D4": ["'My ''own'' sheet'!B2", "Sales!C3:D4"],
    '="B2"&C2&"""A1"""': ["C2"],
    "=SUM(A:A,2:3)": ["A:A", "2:3"],
    "=LOG10(A1)+ATAN2(B1,C1)": ["A1", "B1", "C1"],
    "=IF(TRUE,422,FALSE)": [],
    "={1,2;3,4}*D4": ["D4"],
    "=#REF!+A1": ["A1"],
    "=Rate*A1": ["A1"],
}


@pytest.mark.parametrize(("formula", "areas"), FORMULAS.items(), ids=str)
def test_references_are_found_and_nothing_else_is_one(formula, areas):
    assert [piece.text for piece in pieces(formula) if piece.kind == "area"] == areas


@pytest.mark.parametrize(
    "formula", ["=[1]Sheet!A1", "='[other.xlsx]S'!A1", "=A1#", "=A1:INDEX(B:B,3)", "=S1:S3!A1", "=SUM(Jan:Dec!A1)"]
)
def test_what_can_not_be_written_out_is_named(formula):
    assert "unknown" in {piece.kind for piece in pieces(formula)}


@given(st.text(alphabet="AB1$:!'\"[]{}#@=(),. eE+-é\n", max_size=60))
def test_the_pieces_joined_are_the_formula(formula):
    assert "".join(piece.text for piece in pieces(formula)) == formula
    assert rewritten(formula, lambda piece: piece.text) == formula


@given(st.integers(1, 16384))
def test_columns_have_one_name_each(number):
    assert column_number(letters(number)) == number


def test_areas_are_rectangles_in_order():
    assert area_of("C5:B2") == area_of("$B$2:C5")
    assert area_of("XFE1") is None
    assert area_of("A0") is None
    assert reference("'My sheet'!B2").sheet == "My sheet"
    assert reference("B2+1") is None
