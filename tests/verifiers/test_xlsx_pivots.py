"""Pivot tables of workbooks count if they show what their sources give, in the layouts of Excel and LibreOffice."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verikit
from tests.artifacts.books import left, parts_changed
from tests.artifacts.offices import need_office
from tests.artifacts.pivots import ROWS, book, cache, table, with_pivot
from tests.verifiers.test_xlsx_charts import REQUEST, damaged
from verikit.artifacts.readers import pivots as of_pivots
from verikit.artifacts.readers import workbook
from verikit.errors import UsageError
from verikit.verifiers.xlsx import observed
from verikit.verifiers.xlsx.observed import keys_of
from verikit.verifiers.xlsx.pivot_layout import AxisLayout, item_of, layouts, prefixes, tree_of

pytest.importorskip("openpyxl")
from openpyxl import load_workbook
from openpyxl.styles import Font

PRICE, COUNT = ("price", "sum", "Sum of price"), ("n", "count", "Count of n")
CROSS = [
    ["Sum of price", "Column Labels"], ["Row Labels", 2023, 2024, "Grand Total"], ["milk", 61, 59, 120],
    ["rice", None, 10, 10], ["tea", 50, 112, 162], ["Grand Total", 111, 181, 292],
]  # fmt: skip
WANTED = {
    "sheet": "Pivot", "source": "Data!A1:D7", "rows": ["item"], "columns": ["year"], "values": {"price": "sum"},
}  # fmt: skip
NESTED = {"source": "Data!A1:D7", "rows": ["item", "year"], "values": {"price": "sum"}}
SOURCE = {"ref": "A1:D7", "sheet": "Data"}
COMPACT = [["Row Labels", "Sum of price"], ["milk", 120], [2023, 61], [2024, 59], ["rice", 10], [2024, 10],
           ["tea", 162], [2023, 50], [2024, 112], ["Grand Total", 292]]  # fmt: skip
TABULAR = [["item", "year", "Sum of price"], ["milk", 2023, 61], [None, 2024, 59], ["milk Total", None, 120],
           ["rice", 2024, 10], ["rice Total", None, 10], ["tea", 2023, 50], [None, 2024, 112],
           ["tea Total", None, 162], ["Grand Total", None, 292]]  # fmt: skip


def graded(data, *pivots, **options):
    return verikit.xlsx(file="*", pivot=pivots or [WANTED], **options).score([left(data)])[0]


def crossed(shown=None, source=None, rows=ROWS, place="A3:D8", cached=None, values=(PRICE,), **options):
    """A workbook with a pivot table of prices by item and year."""
    definition = table(ROWS, place, ["item"], ["year"], values, first=(1, 2, 1), **options)
    return with_pivot(book(rows, CROSS if shown is None else shown), definition,
                      cache(ROWS, source or SOURCE, **(cached or {})))  # fmt: skip


def nested(shown, values=(PRICE,), layout="compact", first=(1, 1, 1), **options):
    """A workbook with a pivot table by item and then year."""
    width = "ABCDEFG"[max(map(len, shown)) - 1]
    place = f"A3:{width}{len(shown) + 2}"
    definition = table(ROWS, place, ["item", "year"], [], values, layout, first=first, **options)
    return with_pivot(book(ROWS, shown), definition, cache(ROWS, SOURCE))


def replaced(row, column, value, shown=CROSS):
    """What a pivot table shows, with one cell replaced."""
    return [[value if (r, c) == (row, column) else one for c, one in enumerate(line)] for r, line in enumerate(shown)]


def bold(data, old, new):
    return parts_changed(
        data, lambda name, content: content.replace(old, new) if name == "xl/pivotTables/pivotTable1.xml" else content
    )


def computed(rows=ROWS):
    """The records, of which one price is a formula."""
    return [*rows[:-1], [*rows[-1][:3], "=50+7"]]


HONEST = {
    "rows and columns": lambda: (crossed(), WANTED),
    "without totals": lambda: (crossed([line[:3] for line in CROSS[:-1]], place="A3:C7", rowGrandTotals="0",
                                       colGrandTotals="0"), WANTED),
    "other order and spelling": lambda: (crossed([*CROSS[:2], ["Tea", *CROSS[4][1:]], CROSS[3], CROSS[2], CROSS[5]]),
                                         WANTED),
    "a formula in the source": lambda: (crossed(rows=computed()), WANTED),
    "compact": lambda: (nested(COMPACT), NESTED),
    "tabular": lambda: (nested(TABULAR, layout="tabular", first=(1, 1, 2)), NESTED),
    "tabular with repeated labels": lambda: (
        nested(replaced(2, 0, "milk", TABULAR), layout="tabular", first=(1, 1, 2)), NESTED),
    "two values": lambda: (
        nested([["", "Sum of price", "Count of n"], ["milk", 120, 2], [2023, 61, 1], [2024, 59, 1], ["rice", 10, 1],
                [2024, 10, 1], ["tea", 162, 3], [2023, 50, 1], [2024, 112, 2], ["Grand Total", 292, 6]],
               (PRICE, COUNT)),
        {**NESTED, "values": {"price": "sum", "n": "count"}}),
}  # fmt: skip
REFUSED = {
    "a stale number": lambda: (crossed(replaced(4, 2, 111)), WANTED),
    "a stale total": lambda: (crossed(replaced(5, 3, 291)), WANTED),
    "stale, to be refreshed": lambda: (crossed(replaced(4, 2, 111), cached={"refreshOnLoad": "1"}), WANTED),
    "the source changed": lambda: (crossed(rows=[*ROWS[:-1], ["tea", 2024, 2, 58]]), WANTED),
    "a new item in the source": lambda: (crossed(rows=[*ROWS[:-1], ["oil", 2024, 2, 57]]), WANTED),
    "an item is missing": lambda: (crossed([*CROSS[:3], *CROSS[4:]], place="A3:D7"), WANTED),
    "labels are exchanged": lambda: (crossed(replaced(2, 0, "tea", replaced(4, 0, "milk"))), WANTED),
    "a number is empty": lambda: (crossed(replaced(4, 2, None)), WANTED),
    "a formula in its cells": lambda: (crossed(replaced(4, 2, "=112")), WANTED),
    "empty, to be refreshed": lambda: (crossed([], cached={"refreshOnLoad": "1"}), WANTED),
    "nothing is shown": lambda: (crossed([]), WANTED),
    "fewer rows of the source": lambda: (crossed(source={"ref": "A1:D6", "sheet": "Data"}), WANTED),
    "another sheet": lambda: (crossed(source={"ref": "A1:D7", "sheet": "Pivot"}), WANTED),
    "another function": lambda: (crossed(values=[("price", "max", "Sum of price")]), WANTED),
    "another field": lambda: (crossed(values=[("n", "sum", "Sum of price")]), WANTED),
    "other fields of rows": lambda: (nested(COMPACT), WANTED),
    "cells without a pivot table": lambda: (book(ROWS, CROSS), WANTED),
    "a wrong subtotal": lambda: (nested(replaced(1, 1, 119, COMPACT)), NESTED),
    "a wrong outer label": lambda: (nested(replaced(2, 0, "tea", TABULAR), layout="tabular", first=(1, 1, 2)), NESTED),
    "not the workbook's cache": lambda: (bold(crossed(), b'cacheId="7"', b'cacheId="8"'), WANTED),
}  # fmt: skip


@pytest.mark.parametrize("make", HONEST.values(), ids=HONEST)
def test_a_fresh_pivot_table_counts_in_each_layout(make):
    data, wanted = make()
    score = graded(data, wanted)
    assert (score.value, score.reason) == (1.0, "all checks pass")


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_a_stale_or_other_pivot_table_does_not_count(make):
    data, wanted = make()
    score = graded(data, wanted)
    assert (score.value, score.status) == (0.0, "ok"), score.reason


def test_formulas_that_need_each_other_are_followed_once(monkeypatch):
    asked = []

    def counted(area):
        asked.append(area)
        return keys_of(area)

    monkeypatch.setattr(observed, "keys_of", counted)
    rows = [["item", "n"], ["a", 1.0], *([["a", f"=B{row}+1"] for row in range(2, 52)])]
    total = sum(range(1, 52))
    shown = [["Row Labels", "Sum"], ["a", total], ["Grand Total", total]]
    definition = table(rows[:2], "A3:B5", ["item"], [], [("n", "sum", "Sum")])
    data = with_pivot(book(rows, shown), definition, cache(rows[:2], {"ref": "A1:B52", "sheet": "Data"}))
    assert graded(data, {"source": "Data!A1:B52", "rows": ["item"], "values": {"n": "sum"}}).value == 1.0
    assert len(asked) == len(set(asked)) == 50


def test_tables_and_names_are_sources_too():
    data = crossed(source={"name": "Records"})
    assert graded(data).value == 0.0
    names = b'<definedNames><definedName name="Records">Data!$A$1:$D$7</definedName></definedNames><calcPr '
    named = parts_changed(
        data, lambda name, content: content.replace(b"<calcPr ", names) if name == "xl/workbook.xml" else content
    )
    assert named != data
    assert graded(named).value == 1.0


PART, CACHE = "xl/pivotTables/pivotTable1.xml", "xl/pivotCache/pivotCacheDefinition1.xml"
STALE = replaced(4, 2, 111)


def edited(data, part, old, new):
    def change(name, content):
        return content.replace(old.encode(), new.encode(), 1) if name == part else content

    changed = parts_changed(data, change)
    assert changed != data
    return changed


FORMS = {
    "a hidden item": (PART, '<item x="0"/>', '<item x="0" h="1"/>'),
    "a filter": (PART, "<dataFields ", "<filters><filter/></filters><dataFields "),
    "groups": (CACHE, "</sharedItems>", "</sharedItems><fieldGroup/>"),
    "percentages": (PART, "<dataField ", '<dataField showDataAs="percentOfTotal" '),
    "a calculated field": (CACHE, '<cacheField name="price" ', '<cacheField name="price" formula="n*0" '),
    "blank rows": (PART, 'axis="axisRow"', 'axis="axisRow" insertBlankRow="1"'),
}  # fmt: skip


@pytest.mark.parametrize("change", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("shown", [CROSS, STALE, []], ids=["fresh", "stale", "empty"])
def test_pivot_tables_that_do_not_plainly_show_their_source_do_not_count(change, shown):
    score = graded(edited(crossed(shown, cached={"refreshOnLoad": "1"}), *change))
    assert (score.value, "does not plainly show" in score.reason) == (0.0, True)


def test_a_selected_page_does_not_count():
    data = crossed(pages=("n",))
    assert graded(data).value == 1.0
    assert graded(edited(data, PART, "<pageField ", '<pageField item="0" ')).value == 0.0


def test_a_pivot_table_without_the_id_of_its_cache_does_not_count():
    data = edited(crossed(), PART, ' cacheId="7"', "")
    assert graded(edited(data, "xl/workbook.xml", ' cacheId="7"', "")).value == 0.0


def restyled(change, shown=CROSS, place="A3:D8", first=(1, 2, 1)):
    made = load_workbook(io.BytesIO(book(ROWS, shown)))
    change(made["Pivot"])
    out = io.BytesIO()
    made.save(out)
    return with_pivot(out.getvalue(), table(ROWS, place, ["item"], ["year"], [PRICE], first=first), cache(ROWS, SOURCE))


def swapped(sheet, one, other, code):
    for cell, shown in ((one, other), (other, one)):
        sheet[cell].number_format = code.format(sheet[shown].value)


UNSEEN = {
    "a hidden column": lambda sheet: setattr(sheet.column_dimensions["A"], "hidden", True),
    "a hidden row": lambda sheet: setattr(sheet.row_dimensions[4], "hidden", True),
    "white": lambda sheet: setattr(sheet["A7"], "font", Font(color="FFFFFFFF")),
    "numbers": lambda sheet: swapped(sheet, "B4", "C4", '"{}"'),
    "fourth section": lambda sheet: swapped(sheet, "A5", "A7", 'General;General;General;"{}"'),
    "section of text": lambda sheet: swapped(sheet, "A5", "A7", '"{}, not "@'),
}  # fmt: skip


@pytest.mark.parametrize("change", UNSEEN.values(), ids=UNSEEN)
def test_labels_that_people_do_not_see_do_not_count(change):
    score = graded(restyled(change))
    assert (score.value, "is not visible" in score.reason) == (0.0, True)


WRONG = [*CROSS[:2], ["milk", 999, 999, 999], ["tea", 1, 1, 1], *CROSS[1:]]
OUTSIDE = {
    "a wrong table above": lambda: restyled(lambda _: None, WRONG, "A3:D11", (1, 5, 1)),
    "numbers next to labels": lambda: restyled(
        lambda _: None, [[line[0], 999, 999, 999, *line[1:]] for line in CROSS], "A3:G8", (1, 2, 4)),
    "numbers above labels": lambda: crossed(replaced(0, 1, 2024)),
    "items above labels": lambda: crossed(replaced(0, 1, "tea")),
    "totals below": lambda: crossed(replaced(5, 3, 999), place="A3:D7"),
    "totals beside": lambda: crossed(replaced(5, 3, 999), place="A3:C8"),
    "no word for totals": lambda: crossed(replaced(5, 0, "coffee")),
}  # fmt: skip


@pytest.mark.parametrize("make", OUTSIDE.values(), ids=OUTSIDE)
def test_cells_that_no_field_needs_do_not_count(make):
    assert graded(make()).value == 0.0


UNCLEAR = {
    "a truth value": [*ROWS[:-1], ["tea", 2024, 2, True]], "an error": [*ROWS[:-1], ["tea", 2024, 2, "=1/0"]],
    "a heading": [[*ROWS[0][:3], '="price"'], *ROWS[1:]],
}  # fmt: skip


@pytest.mark.parametrize("rows", UNCLEAR.values(), ids=UNCLEAR)
def test_sources_have_no_value_only_if_the_given_workbook_is_unclear_too(rows):
    def scored(given):
        sample = left(crossed(STALE, rows=rows), before=given)
        return verikit.xlsx(file="*", pivot=[WANTED]).score([sample])[0]

    assert graded(crossed(STALE, rows=rows)).value == 0.0
    assert scored(book(ROWS, [])).value == 0.0
    assert scored(book(rows, [])).status == "error"


@pytest.mark.parametrize(("function", "right"), [("average", 54), ("min", 50), ("max", 57), ("count", 3)])
def test_functions_are_computed(function, right):
    shown = [["Row Labels", "price"]]
    for item, prices in (("milk", (61, 59)), ("rice", (10,)), ("tea", (50, 55, 57))):
        given = {"average": sum(prices) / len(prices), "min": min(prices), "max": max(prices), "count": len(prices)}
        shown.append([item, given[function]])
    assert shown[-1][1] == right
    wanted = {"source": "Data!A1:D7", "rows": ["item"], "values": {"price": function}}

    def made(lines):
        definition = table(ROWS, "A3:B6", ["item"], [], [("price", function, "price")], colGrandTotals="0")
        return with_pivot(book(ROWS, lines), definition, cache(ROWS, SOURCE))

    assert graded(made(shown), wanted).value == 1.0
    assert graded(made(replaced(3, 1, right + 1, shown)), wanted).value == 0.0


@pytest.mark.slow(seconds=8)
def test_libreoffice_refreshes_a_stale_pivot_table_when_it_saves():
    need_office()
    from verikit.artifacts.office import convert

    stale = crossed(replaced(4, 2, 111)), nested([["stale"]]), nested([["stale"]], layout="tabular")
    saved = convert.converted([*stale], "xlsx", "xlsx")
    for before, after, wanted in zip(stale, saved, (WANTED, NESTED, NESTED), strict=True):
        assert (graded(before, wanted).value, graded(after, wanted).value) == (0.0, 1.0)


@pytest.mark.parametrize("pivot", [
    {}, {"source": "A1:D7"}, {"source": "A:D", "values": {"n": "sum"}}, {"source": "A1:D7", "values": {"n": "cake"}},
    {"source": "A1:D7", "values": ["n"]}, {"source": "A1:D7", "values": {"n": "sum"}, "rows": "item"},
    {"source": "A1:D7", "values": {"n": "sum"}, "colour": "red"}, {"source": "A1:D1", "values": {"n": "sum"}},
    *({"source": "A1:D7", "values": values} for values in ({"n": 5}, {5: "sum"}, {"n": [["a"]]}, {"n": []}, {})),
    *({"source": "A1:D7", "values": {"n": "sum"}, name: value} for name in ("rows", "columns", "filters", "sheet")
      for value in (5, [5], None)), 5,
])  # fmt: skip
def test_pivot_tables_that_make_no_sense_are_refused(pivot):
    with pytest.raises(UsageError, match=r"pivot\[0\]"):
        verikit.xlsx(pivot=[pivot])
    with pytest.raises(UsageError, match="pivot must be a list"):
        verikit.xlsx(pivot=pivot)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_pivot_tables_are_read_or_refused(seed):
    told = workbook.read([damaged(crossed(), seed, ("pivotTables/", "pivotCache/"))], REQUEST)
    assert "refused" in told or isinstance(told["pivots"]["tables"], list)


def test_a_pivot_table_of_very_many_cells_is_not_read(monkeypatch):
    monkeypatch.setattr(of_pivots, "MOST_SHOWN", 10)
    sources = [["Data!A1:D7", ["item", "year", "price"]]]
    [told] = workbook.read([crossed()], {**REQUEST, "sources": sources})["pivots"]["tables"]
    assert told["large"]
    assert told["cells"] == []
    assert graded(crossed(place="A3:Z9999")).value == 0.0


ITEMS = st.sampled_from(["a", "b", "c", 1.0, 2.0])
LABELS = st.lists(st.lists(st.sampled_from([None, "a", "b", "c", 1.0, "a total", "Total", True]), min_size=3,
                           max_size=3), max_size=12)  # fmt: skip


@given(st.lists(st.tuples(ITEMS, ITEMS), min_size=1, max_size=8), st.sampled_from([*layouts(2, columns=False)]))
def test_the_labels_of_each_layout_are_read(pairs, layout):
    tree = tree_of([tuple(map(item_of, pair)) for pair in pairs])
    assert prefixes(lines_of(tree, layout), tree, 2, layout) is not None


@given(st.lists(st.tuples(ITEMS, ITEMS), max_size=8), LABELS, st.sampled_from([*layouts(2, columns=False)]))
def test_any_labels_are_read_or_not_explained(pairs, lines, layout):
    found = prefixes(lines, tree_of([tuple(map(item_of, pair)) for pair in pairs]), 2, layout)
    assert found is None or len(found) == len(lines)


def lines_of(tree, layout: AxisLayout):
    """The labels that a program writes for items in a layout."""
    lines = []
    for (_, outer), below in tree.items():
        first = len(lines)
        if layout.own_line:
            lines.append([outer, None])
        lines += [[inner, None] if layout.one_column else [None, inner] for _, inner in below]
        if not layout.own_line:
            lines[first][0] = outer
        if layout.subtotals == "bottom":
            lines.append([f"{outer} Total", None])
    return [*lines, ["Grand Total", None]] if layout.grand else lines
