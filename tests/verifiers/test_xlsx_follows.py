"""`follows`: inputs that are formulas, strings that are looked up, and references to a table's own row."""

import io

import pytest

import verikit
from tests.artifacts.books import cells, left, parts_changed, sales
from tests.artifacts.offices import need_office

pytest.importorskip("openpyxl")
pytest.importorskip("formulas")
pytest.importorskip("formualizer")

GOODS = {"A1": "tea", "A2": "milk", "A3": "rice", "B1": 4, "B2": 2, "B3": 10, "C1": 50, "C2": 61, "C3": 10}
PRODUCTS = {f"D{row}": f"=B{row}*C{row}" for row in (1, 2, 3)}
SUM = {"D4": "=SUM(D1:D3)"}
PRICE = {"F1": "=INDEX(C1:C3,MATCH(E1,A1:A3,0))"}
LABEL = {"F1": '=A1&": "&B1'}


def book(contents):
    return sales(cells(**GOODS | contents), rows=())


def value(contents, follows):
    return verikit.xlsx(file="*", follows=follows).score([left(book(contents))])[0].value


@pytest.mark.parametrize(
    ("total", "expected"),
    [("=SUM(D1:D3)", 1.0), ("=SUMPRODUCT(B1:B3,C1:C3)", 1.0), ("=SUM(D1:D2)", 0.0), ("=422+0*D1", 0.0),
     ("=IF(SUM(D1:D3)=422,422,0)", 0.0), ("=IF(B1=4,422,0)", 0.0)],
)  # fmt: skip
def test_inputs_may_be_formulas_themselves(total, expected):
    assert value(PRODUCTS | {"D4": total}, SUM) == expected


def test_a_constant_input_does_not_excuse_a_constant_result():
    assert value({"D1": "=200+0*B1", "D2": "=122+0*B2", "D3": "=100+0*B3", "D4": "=422+0*D1"}, SUM) == 0.0
    assert value({"D1": 200, "D2": 122, "D3": 100, "D4": "=SUMPRODUCT(B1:B3,C1:C3)"}, SUM) == 0.0


@pytest.mark.parametrize(
    ("price", "expected"),
    [("=VLOOKUP(E1,A1:C3,3,FALSE)", 1.0), ("=SUMIF(A1:A3,E1,C1:C3)", 1.0), ("=C2", 0.0),
     ('=IF(E1="milk",C2,C1)', 0.0)],
)  # fmt: skip
def test_a_string_that_is_looked_up_changes_too(price, expected):
    assert value({"E1": "milk", "F1": price}, PRICE) == expected


def test_a_string_that_the_value_shows_changes_too():
    assert value({"F1": '=CONCATENATE(A1,": ",B1)'}, LABEL) == 1.0
    assert value({"F1": '="tea: "&B1'}, LABEL) == 0.0
    assert value({"F1": '=A1&" and "&A2'}, {"F1": '=A1&" and "&A2'}) == 1.0


@pytest.mark.parametrize(
    "own",
    ["T[[#This Row],[n]]*T[[#This Row],[unit price]]", "[@n]*[@[unit price]]", "[[#This Row],n]*T[@[unit price]]"],
)
def test_references_to_a_tables_own_row_are_followed(own):
    from openpyxl import Workbook
    from openpyxl.worksheet.table import Table

    def data(formula):
        whole, out = Workbook(), io.BytesIO()
        assert whole.active is not None
        for row in (["n", "unit price", "sum"], [4, 50, formula], [2, 61, formula]):
            whole.active.append(row)
        whole.active.add_table(Table(displayName="T", ref="A1:C3"))
        whole.save(out)
        return left(out.getvalue())

    xlsx = verikit.xlsx(file="*", values={"C2": 200, "C3": 122}, follows={"C3": "=A3*B3"})
    assert xlsx.score([data(f"={own}")])[0].value == 1.0
    assert xlsx.score([data("=T[[#This Row],[n]]*61")])[0].value == 0.0
    outside = sales(cells(F9="=[@n]"))
    assert verikit.xlsx(file="*", values={"F9": 1}, undecided=1.0).score([left(outside)])[0].value == 0.0


def badly_validated(data):
    """A workbook with a rule of a kind that openpyxl does not accept."""
    rule = b'</sheetData><dataValidations count="1"><dataValidation type="x" sqref="A1"/></dataValidations>'
    return parts_changed(data, lambda name, part: part.replace(b"</sheetData>", rule) if "sheet1" in name else part)


@pytest.mark.slow(seconds=4)
def test_a_workbook_that_openpyxl_rejects_is_read_as_libreoffice_saves_it():
    need_office()
    xlsx = verikit.xlsx(file="*", values={"D4": 422}, follows={"D4": "=SUMPRODUCT(B1:B3,C1:C3)"})
    assert xlsx.score([left(badly_validated(book(PRODUCTS | SUM)))])[0].value == 1.0
    assert xlsx.score([left(badly_validated(book({"D4": 422})))])[0].value == 0.0


def test_without_libreoffice_a_rejected_workbook_has_no_value_and_a_remedy(monkeypatch):
    from verikit.artifacts.office import convert

    monkeypatch.setattr(convert, "program", lambda: "")
    score = verikit.xlsx(file="*", values={"D4": 422}).score([left(badly_validated(book(SUM)))])[0]
    assert score.value is None
    assert "apt-get install libreoffice-calc-nogui" in score.reason
