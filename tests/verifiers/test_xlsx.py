"""Workbooks: right ones get 1.0 without cached values, forged ones never, and engines that differ leave no value."""

import random

import pytest

import verikit
from tests.artifacts.books import cells, left, parts_changed, sales
from tests.artifacts.offices import need_office
from verikit.artifacts.office import convert
from verikit.errors import UsageError
from verikit.verifiers.xlsx import engines

pytest.importorskip("openpyxl")
pytest.importorskip("formulas")
pytest.importorskip("formualizer")

RIGHT = "=SUMPRODUCT(B2:B4,C2:C4)"
WHOLE = {"values": {"D6": 422}, "formula": ["D6"], "follows": {"D6": RIGHT}, "visible": True}


def graded(data, before=None, name="sales_xlsx", **options):
    return verikit.xlsx(file="*", **options).score([left(data, name, before)])[0]


def hidden_row(book, sheet):
    sheet["D6"] = RIGHT
    sheet.row_dimensions[6].hidden = True


def hidden_column(book, sheet):
    sheet["D6"] = RIGHT
    sheet.column_dimensions["D"].hidden = True


def flat_row(book, sheet):
    sheet["D6"] = RIGHT
    sheet.row_dimensions[6].height = 0.5


def white(book, sheet):
    from openpyxl.styles import Font

    sheet["D6"] = RIGHT
    sheet["D6"].font = Font(color="FFFFFFFF")


def white_on_dark(book, sheet):
    from openpyxl.styles import PatternFill

    white(book, sheet)
    sheet["D6"].fill = PatternFill("solid", fgColor="FF203040")


def formatted(code):
    def fill(book, sheet):
        sheet["D6"] = RIGHT
        sheet["D6"].number_format = code

    return fill


def working_sheet(book, sheet):
    """Steps on a hidden sheet, and the answer in sight."""
    sheet["D6"] = "=Work!A1"
    work = book.create_sheet("Work")
    work["A1"] = "=SUMPRODUCT(Sales!B2:B4,Sales!C2:C4)"
    work.sheet_state = "hidden"


def named(book, sheet):
    from openpyxl.workbook.defined_name import DefinedName

    book.defined_names["Counts"] = DefinedName("Counts", attr_text="Sales!$B$2:$B$4")
    sheet["D6"] = "=SUMPRODUCT(Counts,C2:C4)"


def table(book, sheet):
    from openpyxl.worksheet.table import Table

    sheet.add_table(Table(displayName="T", ref="A1:D4"))
    sheet["D6"] = "=SUMPRODUCT(T[n],T[price])"


def array(book, sheet):
    from openpyxl.worksheet.formula import ArrayFormula

    sheet["D6"] = ArrayFormula("D6", "=SUM(B2:B4*C2:C4)")


def steps(book, sheet):
    for row in (2, 3, 4):
        sheet[f"D{row}"] = f"=B{row}*C{row}"
    sheet["D6"] = "=SUM(D2:D4)"


HONEST = {
    "no cached value": cells(D6=RIGHT),
    "steps": steps,
    "a working sheet": working_sheet,
    "a name": named,
    "a table": table,
    "an array": array,
    "white on dark": white_on_dark,
    "a currency": formatted('#,##0.00" EUR"'),
    "whole columns": cells(D6="=SUMPRODUCT(B2:B99,C2:C99)"),
    "an honest IF": cells(D6=f"=IF(B2>0,{RIGHT[1:]},{RIGHT[1:]})"),
}
FORGED = {
    "typed in": cells(D6=422),
    "typed in as text": cells(D6="422"),
    "constants": cells(D6="=100+322"),
    "IF(TRUE": cells(D6="=IF(TRUE,422,B2)"),
    "inputs times zero": cells(D6="=422+0*SUM(B2:C4)"),
    "keyed on an input": cells(D6="=IF(B2=4,422,0)"),
    "keyed, near": cells(D6=f"=IF(B2<100,IF(B2=4,422,B2),{RIGHT[1:]})"),
    "a wrong formula": cells(D6="=SUM(B2:C4)"),
    "a hidden row": hidden_row,
    "a hidden column": hidden_column,
    "a row without height": flat_row,
    "white on white": white,
    ";;;": formatted(";;;"),
    "a text as format": formatted('"422"'),
    "another workbook": cells(D6="=[1]Sheet1!A1"),
    "WEBSERVICE": cells(D6='=VALUE(WEBSERVICE("http://x.example/"))'),
    "no such function": cells(D6="=TOTAL(B2:B4)"),
    "not there": cells(),
}


@pytest.mark.parametrize("fill", HONEST.values(), ids=HONEST)
def test_an_honest_workbook_is_right_however_it_computes(fill):
    score = graded(sales(fill), **WHOLE)
    assert (score.value, score.reason) == (1.0, "all checks pass")


@pytest.mark.parametrize("fill", FORGED.values(), ids=FORGED)
def test_a_forged_workbook_gets_nothing(fill):
    score = graded(sales(fill), **WHOLE)
    assert (score.value, score.status) == (0.0, "ok"), score.reason


def test_a_right_cached_value_over_a_wrong_formula_does_not_count():
    def cached(name, content):
        return content.replace(b"<f>SUM(B2:C4)</f><v />", b"<f>SUM(B2:C4)</f><v>422</v>").replace(
            b"<f>SUM(B2:C4)</f><v/>", b"<f>SUM(B2:C4)</f><v>422</v>")  # fmt: skip

    data = parts_changed(sales(cells(D6="=SUM(B2:C4)")), cached)
    assert data != sales(cells(D6="=SUM(B2:C4)"))
    assert graded(data, values={"D6": 422}).value == 0.0


def test_typed_values_are_right_where_only_values_are_asked():
    assert graded(sales(cells(D6=422)), values={"D6": 422}).value == 1.0
    assert graded(sales(cells(D6="422")), values={"D6": 422}).value == 0.0
    assert graded(sales(cells(D6=True)), values={"D6": 1}).value == 0.0


ABSENT = "LibreOffice: no value (not installed: apt-get install libreoffice-calc-nogui)"


@pytest.mark.parametrize(("formula", "wanted"), [
    ('=TRIM("  a  b ")', "a b"), ('=TRIM("  a  b ")', "a  b"), ('=VALUE("1,200")', 73051), ('=VALUE("1,200")', 1200),
])  # fmt: skip
def test_engines_that_differ_leave_no_value_without_a_third_and_all_are_told(monkeypatch, formula, wanted):
    monkeypatch.setattr(convert, "program", lambda: "")
    score = graded(sales(cells(D6=formula)), values={"D6": wanted})
    assert score.status == "error"
    assert "formulas: " in score.reason
    assert "formualizer: " in score.reason
    assert ABSENT in score.reason


@pytest.mark.slow(seconds=12)
def test_the_third_engine_decides_between_two_and_is_told():
    need_office()
    trim = sales(cells(D6='=TRIM("  a  b ")'))
    assert graded(trim, values={"D6": "a b"}, shows={"D6": "a b"}).value == 1.0
    assert graded(trim, values={"D6": "x"}).value == 0.0
    for wanted in (1200, 73051):
        score = graded(sales(cells(D6='=VALUE("1,200")')), values={"D6": wanted})
        assert score.status == "error"
        assert "LibreOffice: 1200" in score.reason


def third(monkeypatch, *values):
    """Have the third engine give these values, one for each case; how often it was asked."""
    asked = []

    def recalculated(model, cells, cases):
        asked.append(cases)
        return [dict.fromkeys(cells, told) for told in values]

    monkeypatch.setattr(engines, "recalculated", recalculated)
    return asked


def test_the_third_engine_is_only_asked_where_the_others_do_not_agree(monkeypatch):
    asked = third(monkeypatch, {"value": 1200.0})
    for wanted in (422, 421):
        graded(sales(cells(D6=RIGHT)), values={"D6": wanted}, formula=["D6"], follows={"D6": RIGHT})
    assert not asked
    assert graded(sales(cells(D6='=VALUE("1,200")')), values={"D6": 1200}).status == "error"
    assert len(asked) == 1


@pytest.mark.parametrize(("values", "expected"), [
    ((5.0, 5.0), "yes"), ((4.0, 4.0), "no"), ((4.0, 3.0), "unknown"), ((5.0, 4.0), "unknown"), ((5.0, None), "unknown"),
    ((4.0, None), "no"), ((None, None), "unknown"), ((5.0, 4.0, 5.0), "yes"), ((4.0, 3.0, 5.0), "unknown"),
    ((4.0, 3.0, 4.0), "no"), ((4.0, 3.0, 2.0), "no"), ((5.0, None, 5.0), "yes"), ((4.0, 3.0, None), "unknown"),
    ((4.0, None, 4.0), "no"), ((5.0, None, 4.0), "unknown"),
])  # fmt: skip
def test_a_value_needs_two_engines_and_a_majority(values, expected):
    found = {str(number): engines.Found(value, unknown="" if value else "?") for number, value in enumerate(values)}
    assert engines.verdict(found, lambda one: one.value == 5.0, lambda a, b: a == b) == expected


@pytest.mark.parametrize(("two", "given", "seen"), [
    ((True, 3.0), 1.0, True), ((1.0, 3.0), True, 1.0), ((False, False), 0.0, False), ((3.0, 4.0), 1.0, None),
    ((True, 1.0), 1.0, None), ((3.0, 4.0), 2.0, 2.0), (("", 3.0), "", ""),
])  # fmt: skip
def test_a_truth_value_of_the_third_engine_has_the_type_that_the_others_give(two, given, seen):
    others = {str(number): engines.Found(value) for number, value in enumerate(two)}
    found = engines._typed(engines.Found(given), others)
    decided = None if found.unknown else found.value
    assert (decided, type(decided)) == (seen, type(seen))


@pytest.mark.parametrize("formula", ["=CHISQ.DIST.RT(B2,1)", "=BETA.DIST(0.5,B2,3,TRUE)", "=GAMMALN.PRECISE(B2)"])
def test_newer_functions_of_statistics_exist(formula):
    assert "no spreadsheet has" not in graded(sales(cells(D6=formula)), values={"D6": -1}).reason


def test_a_value_that_changes_by_itself_is_unscored_and_right_where_it_is_asked_for():
    assert graded(sales(cells(D6="=RAND()*B2")), values={"D6": 2}).value is None
    paid = graded(sales(cells(D6="=RAND()*B2")), values={"D6": 2}, undecided=0.0)
    assert (paid.value, paid.status) == (0.0, "ok")
    assert "each time the workbook is opened" in paid.reason
    assert graded(sales(cells(D6="=TODAY()")), formula={"D6": ["TODAY"]}).value == 1.0
    assert graded(sales(cells(D6="=DATE(2026,1,1)")), formula={"D6": ["TODAY"]}).value == 0.0


def test_constants_as_rates_are_no_forgery():
    assert graded(sales(cells(D6="=SUM(B2:B4)*0.19")), formula=["D6"]).value == 1.0


def test_own_cases_set_inputs_and_a_typed_value_fails_them():
    case = {"set": {"B2": 0, "C4": -1}, "values": {"D6": 112}}
    assert graded(sales(cells(D6=RIGHT)), then=[case]).value == 1.0
    assert graded(sales(cells(D6=112)), then=[case]).value == 0.0


def test_a_cell_shows_its_text_by_locale():
    data = sales(formatted("#,##0.00"))
    assert graded(data, shows={"D6": "422.00"}).value == 1.0
    assert graded(data, shows={"D6": "422,00"}, locale="de").value == 1.0
    assert graded(data, shows={"D6": "422"}).value == 0.0
    assert graded(data, format={"D6": "#,##0.00"}, sheet=["Sales"]).value == 1.0
    assert graded(data, sheet=["sales"]).value == 0.0


def test_inputs_that_were_changed_to_fit_are_seen():
    before = sales()
    assert graded(sales(cells(D6=RIGHT)), before, unchanged=["A1:C5"]).value == 1.0
    assert graded(sales(cells(D6=RIGHT, B2=5)), before, unchanged=["A1:C5"]).value == 0.0
    assert graded(sales(cells(D6=RIGHT, B5=1)), before, unchanged=["A1:C5"]).value == 0.0
    assert graded(sales(cells(D6=RIGHT)), unchanged=["A1:C5"]).value is None
    assert graded(sales(cells(D6=RIGHT)), b"PK\3\4 no zip", unchanged=["A1:C5"]).value is None


def renamed(name, content):
    return content if name != "xl/workbook.xml" else None


BROKEN = {
    "no zip": lambda: b"item,n\n",
    "a zip of nothing": lambda: b"PK\5\6" + bytes(18),
    "no workbook in it": lambda: parts_changed(sales(), renamed),
    "a document type": lambda: parts_changed(
        sales(), lambda name, content: content.replace(b"<worksheet", b'<!DOCTYPE a [<!ENTITY b "c">]><worksheet', 1)
    ),
    "a bomb": lambda: parts_changed(
        sales(), lambda name, content: content + b" " * 50_000_000 if name.endswith("sheet1.xml") else content
    ),
    "cut off": lambda: sales()[:-100],
}


@pytest.mark.parametrize("make", BROKEN.values(), ids=BROKEN)
def test_a_file_that_is_no_workbook_is_the_agents_fault(make):
    score = graded(make(), values={"D6": 422})
    assert (score.value, score.status) == (0.0, "ok"), score.reason


def test_macros_are_refused_unless_they_are_asked_for():
    import io
    import zipfile

    out = io.BytesIO(sales(cells(D6=422)))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("xl/vbaProject.bin", b"no code that anybody runs")
    assert graded(out.getvalue(), values={"D6": 422}).value == 0.0
    assert graded(out.getvalue(), values={"D6": 422}, macros=True).value == 1.0


def test_a_row_brings_its_own_options_and_wrong_ones_are_its_fault():
    data = sales(cells(D6=RIGHT))
    assert verikit.xlsx().score([left(data, xlsx={"values": {"D6": 422}})])[0].value == 1.0
    assert verikit.xlsx().score([left(data, xlsx={"values": {"D6": 421}})])[0].value == 0.0
    assert verikit.xlsx().score([left(data, xlsx={"value": {"D6": 421}})])[0].value is None
    assert verikit.xlsx().score([left(data)])[0].value is None


@pytest.mark.parametrize("options", [
    {"values": {"D6+1": 1}}, {"formula": "D6"}, {"follows": {"D6": "=SUM(D:D)"}}, {"follows": {"D6": "=4"}},
    {"mutations": 1}, {"tolerance": 1}, {"then": [{"set": {}}]},
])  # fmt: skip
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(UsageError):
        verikit.xlsx(**options)


SHAPES = [
    "=SUM({a})",
    "=AVERAGE({a})",
    "=MAX({a})-MIN({a})",
    '=SUMIF({a},">10")',
    '=COUNTIF({a},">=20")*2',
    "=ROUND(SUM({a})/3,2)",
    "=SUMPRODUCT({a},{b})",
    "=IF(SUM({a})>100,SUM({b}),SUM({a}))",
    "=SUM({a})*0.19",
]


def generated(number, kind):
    """A workbook of a seed with its reference formula, honest or forged in one of four ways."""
    draw = random.Random(number)
    rows = [(f"r{row}", draw.randint(1, 60), draw.randint(1, 90)) for row in range(draw.randint(3, 6))]
    last = len(rows) + 1
    right = draw.choice(SHAPES).format(a=f"B2:B{last}", b=f"C2:C{last}")
    value = 422
    forged = {
        "typed": value,
        "constant": f"={value - 3}+3",
        "dead branch": f"=IF(1=1,{value},{right[1:]})",
        "keyed": f"=IF(B2={rows[0][1]},{right[1:]},{value})",
        "honest": right,
    }
    return sales(cells(E9=forged[kind]), rows), right


@pytest.mark.parametrize("number", range(6))
def test_generated_uncached_books_are_right_and_their_forged_twins_wrong(number):
    data, right = generated(number, "honest")
    assert graded(data, follows={"E9": right}, formula=["E9"]).value == 1.0
    for kind in ("typed", "constant", "dead branch", "keyed"):
        score = graded(generated(number, kind)[0], follows={"E9": right}, formula=["E9"])
        assert score.value == 0.0, (kind, right, score.reason)
