"""Pivot tables that an agent makes undecidable, hides or disguises do not count, and honest ones of rare forms do."""

import pytest

import verikit
from tests.artifacts.books import left
from tests.artifacts.pivots import ROWS, book
from tests.verifiers.test_xlsx_pivots import STALE, WANTED, crossed

pytest.importorskip("openpyxl")


def priced(formula):
    """The records, of which one price is a formula."""
    return [*ROWS[:-1], [*ROWS[-1][:3], formula]]


def given(data, rows, wanted=WANTED, **options):
    sample = left(data, before=book(rows, []))
    return verikit.xlsx(file="*", pivot=[wanted], **options).score([sample])[0]


UNDECIDABLE = {
    "random": "=RAND()*0+57", "computed": "=OFFSET(A1,0,0)", "far": "=SUM(Z1:Z70000)+57",
    "far through another cell": "=SUM(Y1:Z40000)+57",
}  # fmt: skip


@pytest.mark.parametrize("formula", UNDECIDABLE.values(), ids=UNDECIDABLE)
def test_formulas_that_are_not_recalculated_have_no_value_only_if_the_agent_was_given_them(formula):
    data = crossed(STALE, rows=priced(formula))
    own = given(data, ROWS)
    assert (own.value, own.status) == (0.0, "ok"), own.reason
    assert given(data, priced(formula)).status == "error"
    assert given(data, priced(formula), undecided=0.0).value == 0.0
    assert given(data, priced(formula), {**WANTED, "rows": ["year"], "columns": ["item"]}).value == 0.0


def test_a_formula_that_replaces_a_given_one_is_the_agents():
    assert given(crossed(STALE, rows=priced("=RAND()")), priced("=50+7")).value == 0.0


def test_the_first_formula_that_is_not_recalculated_is_looked_up():
    rows = [ROWS[0], *([*row[:3], "=50+0"] for row in ROWS[1:-2]), [*ROWS[-2][:3], "=RAND()"], ROWS[-1]]
    score = given(crossed(STALE, rows=rows), ROWS)
    assert (score.value, "D6" in score.reason) == (0.0, True)
