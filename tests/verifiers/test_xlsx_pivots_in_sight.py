"""Pivot tables that an agent makes undecidable, hides or disguises do not count, and honest ones of rare forms do."""

import pytest

import verikit
from tests.artifacts.books import left, parts_changed
from tests.artifacts.pivots import OFFICE, ROWS, book, cache, table, with_pivot
from tests.verifiers.test_xlsx_pivots import (
    CROSS,
    PART,
    PRICE,
    SOURCE,
    STALE,
    WANTED,
    crossed,
    edited,
    graded,
    replaced,
    restyled,
)
from verikit.verifiers.xlsx import pivots
from verikit.verifiers.xlsx.number_formats import disguises

pytest.importorskip("openpyxl")


def priced(formula):
    """The records, of which one price is a formula."""
    return [*ROWS[:-1], [*ROWS[-1][:3], formula]]


def given(data, rows, wanted=WANTED, **options):
    sample = left(data, before=book(rows, []))
    return verikit.xlsx(file="*", pivot=[wanted], **options).score([sample])[0]


UNDECIDABLE = {
    "random": "=RAND()*0+57", "computed": "=OFFSET(A1,0,0)", "far": "=SUM(Z1:Z70000)+57",
    "far in two columns": "=SUM(Y1:Z40000)+57",
}  # fmt: skip


@pytest.mark.parametrize("formula", UNDECIDABLE.values(), ids=UNDECIDABLE)
def test_formulas_that_are_not_recalculated_have_no_value_only_if_the_agent_was_given_them(formula):
    data = crossed(STALE, rows=priced(formula))
    own = given(data, ROWS)
    assert (own.value, own.status) == (0.0, "ok"), own.reason
    assert given(data, priced(formula)).status == "error"
    assert given(data, priced(formula), undecided=0.0).value == 0.0
    assert given(data, priced(formula), {**WANTED, "rows": ["year"], "columns": ["item"]}).value == 0.0


@pytest.mark.parametrize("formula", UNDECIDABLE.values(), ids=UNDECIDABLE)
def test_a_formula_that_replaces_a_given_one_is_the_agents(formula):
    assert given(crossed(STALE, rows=priced(formula)), priced("=50+7")).value == 0.0


def test_cells_behind_a_given_formula_that_reach_too_far_are_the_agents():
    own, *others = priced("=F1+0")
    rows, honest = [[*own, None, "=SUM(Z1:Z70000)+57"], *others], [[*own, None, 57], *others]
    assert given(crossed(STALE, rows=rows), honest).value == 0.0
    assert given(crossed(STALE, rows=rows), rows).status == "error"


def repeated(data, count):
    """A workbook whose sheet refers several times to its pivot table."""

    def change(name, content):
        end = b"</Relationships>"
        more = [f'<Relationship Id="q{at}" Type="{OFFICE}pivotTable" Target="../pivotTables/pivotTable1.xml"/>'
                for at in range(count)]  # fmt: skip
        return content.replace(end, "".join(more).encode() + end) if name.endswith("sheet2.xml.rels") else content

    return parts_changed(data, change)


@pytest.mark.parametrize(("shown", "looked_at"), [(CROSS, 1), (STALE, 6)])
def test_the_source_of_equal_pivot_tables_is_recalculated_once(monkeypatch, shown, looked_at):
    found, scored = [], []
    source, score = pivots.PivotSources._records, pivots._Shown.score
    monkeypatch.setattr(pivots.PivotSources, "_records", lambda *given: found.append(0) or source(*given))
    monkeypatch.setattr(pivots._Shown, "score", lambda one: scored.append(0) or score(one))
    assert graded(repeated(crossed(shown), 5)).value == float(shown is CROSS)
    assert (len(found), len(scored)) == (1, looked_at)


def test_the_first_formula_that_is_not_recalculated_is_looked_up():
    rows = [ROWS[0], *([*row[:3], "=50+0"] for row in ROWS[1:-2]), [*ROWS[-2][:3], "=RAND()"], ROWS[-1]]
    score = given(crossed(STALE, rows=rows), ROWS)
    assert (score.value, "D6" in score.reason) == (0.0, True)


def far(corner, place):
    definition = table(ROWS, place, ["item"], ["year"], [PRICE], first=(1, 2, 1))
    return with_pivot(book(ROWS, CROSS, corner), definition, cache(ROWS, SOURCE))


def test_a_pivot_table_far_from_the_other_cells_of_its_sheet_does_not_count():
    assert graded(far("A900", "A900:D905")).value == 1.0
    for corner, place in (("A2000", "A2000:D2005"), ("ZZ3", "ZZ3:AAC8")):
        score = graded(far(corner, place))
        assert (score.value, "far" in score.reason) == (0.0, True)


def of_numbers(code):
    def change(sheet):
        for row in sheet["B5:D8"]:
            for cell in row:
                cell.number_format = code

    return change


def of_years(code):
    def change(sheet):
        sheet["B4"].number_format = sheet["C4"].number_format = code

    return change


def narrow(width):
    def change(sheet):
        sheet.column_dimensions["B"].width = width

    return change


SHOWN = {
    "grouped": of_numbers("#,##0.00"), "accounting": of_numbers('_-* #,##0_-;-* #,##0_-;_-* "-"??_-;_-@_-'),
    "in brackets": of_numbers("#,##0_);(#,##0)"), "of years": of_years("0"), "narrow": narrow(3),
    "thousands with a word": of_numbers('0,"K"'),
}  # fmt: skip
DISGUISED = {
    "millions": of_numbers("0,,"), "thousands": of_numbers("#,##0,.0"), "with a sign": of_numbers("-0"),
    "with a sign in quotes": of_numbers('"-"0'), "in brackets": of_numbers("(0)"), "years as dates": of_years("yyyy"),
    "very narrow": narrow(0.5), "in white": of_numbers("[White]0"), "a point of its own": of_numbers("0\\.00"),
    "a comma of its own": of_numbers('0","000'),
}  # fmt: skip


@pytest.mark.parametrize("change", SHOWN.values(), ids=SHOWN)
def test_pivot_tables_with_ordinary_formats_count(change):
    score = graded(restyled(change))
    assert (score.value, score.reason) == (1.0, "all checks pass")


@pytest.mark.parametrize("change", DISGUISED.values(), ids=DISGUISED)
def test_numbers_that_people_read_as_others_do_not_count(change):
    score = graded(restyled(change))
    assert (score.value, "is not visible" in score.reason) == (0.0, True)


@pytest.mark.parametrize(("number", "code", "told"), [
    (-5, "0;0", "omits the sign"), (-5, "0;[Red]0", ""), (-5, "0;(0)", ""), (-5, "0;-0", ""), (-5, "0", ""),
    (45000, "yyyy-mm-dd", ""), (0.5, "h:mm", ""), (2024, "d mmm", "a date"), (0.25, "0%", ""), (-0.25, "0%", ""),
    (5, "[$-409]#,##0", ""), (5, "[<0]0;0", ""), (5e6, '0.0,,"m"', ""), (5, "General", ""), (5, "", ""),
])  # fmt: skip
def test_formats_that_show_another_number_are_told(number, code, told):
    found = disguises(number, code)
    assert told in found
    assert bool(told) == bool(found)


def test_own_words_of_missing_values_and_totals_count():
    shown = replaced(3, 1, "none", replaced(5, 0, "All of it", replaced(1, 3, "All of it")))
    assert graded(crossed(shown, missingCaption="none", grandTotalCaption="All of it")).value == 1.0
    assert graded(crossed(shown, missingCaption="none")).value == 0.0
    assert graded(crossed(shown, grandTotalCaption="All of it")).value == 0.0
    assert graded(crossed(shown, missingCaption="none", showMissing="0", grandTotalCaption="All of it")).value == 0.0


def test_a_zero_for_missing_values_counts_if_it_is_declared():
    shown = [*CROSS[:2], ["milk", 60, 60, 60], ["rice", 0, 10, 10], ["tea", 50, 56, 54], ["Grand Total", 55, 57, 56]]
    rows = [[*row[:3], price] for row, price in zip(ROWS, ("price", 50, 60, 55, 10, 60, 57), strict=True)]
    numbers = {
        place: sum(given) / len(given)
        for place, given in {
            (5, 1): (50, 60),
            (5, 2): (55, 10, 60, 57),
            (5, 3): (50, 60, 55, 10, 60, 57),
            (4, 3): (50, 55, 57),
        }.items()
    }
    for (row, column), number in numbers.items():
        shown = replaced(row, column, number, shown)
    values, wanted = [("price", "average", "Average")], {**WANTED, "values": {"price": "average"}}
    assert graded(crossed(shown, rows=rows, values=values, missingCaption="0"), wanted).value == 1.0
    assert graded(crossed(shown, rows=rows, values=values), wanted).value == 0.0


def test_a_result_of_zero_counts_though_missing_values_show_0():
    rows = [["item", "n"], ["a", 5], ["a", -5], ["b", 3]]
    shown = [["Row Labels", "Sum"], ["a", 0], ["b", 3], ["Grand Total", 3]]
    definition = table(rows, "A3:B6", ["item"], [], [("n", "sum", "Sum")], missingCaption="0")
    data = with_pivot(book(rows, shown), definition, cache(rows, {"ref": "A1:B4", "sheet": "Data"}))
    assert graded(data, {"source": "Data!A1:B4", "rows": ["item"], "values": {"n": "sum"}}).value == 1.0


def test_own_words_are_no_numbers_and_no_items():
    assert graded(crossed(replaced(3, 1, "999"), missingCaption="999")).value == 0.0
    assert graded(crossed(replaced(4, 1, "none"), missingCaption="none")).value == 0.0
    assert graded(crossed(replaced(5, 0, "tea"), grandTotalCaption="tea")).value == 0.0


def test_a_zero_that_is_shown_as_a_dash_counts():
    rows = [*ROWS[:-3], ["rice", 2024, 10, 0], *ROWS[-2:]]
    shown = replaced(3, 2, 0, replaced(3, 3, 0, replaced(5, 2, 171, replaced(5, 3, 282))))

    def made(code):
        from io import BytesIO

        from openpyxl import load_workbook

        changed = load_workbook(BytesIO(book(rows, shown)))
        of_numbers(code)(changed["Pivot"])
        out = BytesIO()
        changed.save(out)
        definition = table(ROWS, "A3:D8", ["item"], ["year"], [PRICE], first=(1, 2, 1))
        return with_pivot(out.getvalue(), definition, cache(ROWS, SOURCE))

    assert graded(made('#,##0;-#,##0;"-"')).value == 1.0
    assert graded(made('#,##0;-#,##0;"5"')).value == 0.0


def test_hidden_items_of_fields_that_are_not_used_leave_nothing_out():
    items = '<items count="2"><item h="1" x="0"/><item t="default"/></items></pivotField>'
    last = '<pivotField showAll="0"></pivotField>'
    assert graded(edited(crossed(), PART, last, last.replace("</pivotField>", items))).value == 1.0
