"""`follows`: inputs that are formulas, strings that are looked up, and references to a table's own row."""

import io

import pytest

import verikit
from tests.artifacts.books import cells, left, parts_changed, sales

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
     ("=IF(SUM(D1:D3)=422,422,0)", 0.0), ("=IF(B1=4,422,0)", 0.0), ("=IF(ISFORMULA(D1),422,SUM(D1:D3))", 0.0),
     ("=IF(D1=B1*C1,422,SUM(D1:D3))", 0.0)],
)  # fmt: skip
def test_inputs_may_be_formulas_themselves(total, expected):
    assert value(PRODUCTS | {"D4": total}, SUM) == expected


def test_a_constant_input_does_not_excuse_a_constant_result():
    assert value({"D1": "=200+0*B1", "D2": "=122+0*B2", "D3": "=100+0*B3", "D4": "=422+0*D1"}, SUM) == 0.0
    assert value({"D1": 200, "D2": 122, "D3": 100, "D4": "=SUMPRODUCT(B1:B3,C1:C3)"}, SUM) == 0.0


def test_errors_of_inputs_are_errors_and_not_blanks():
    keyed = {f"D{row}": f"=IF(B1=4,{right},1/0)" for row, right in ((1, 200), (2, 122), (3, 100))}
    assert value(keyed | {"D4": "=IF(B1=4,422,0)"}, SUM) == 0.0


@pytest.mark.parametrize(
    ("total", "right"), [("=NA()", "=SUM(D1:D3)"), ("=1/0", "=SUM(D1:D3)"), ("=IFERROR(SUM(D1:D3),0)",) * 2]
)
def test_a_value_that_errors_keep_the_same_cant_be_told_from_a_constant(total, right):
    assert value({"D1": "=1/0", "D2": 5, "D3": 6, "D4": total}, {"D4": right}) is None


def test_an_error_that_only_a_hidden_input_causes_does_not_count():
    quotient = {"D1": "=C1/B1", "D2": 5, "D3": 6}
    assert value(quotient | {"D4": "=IFERROR(SUM(D1:D3),0)"}, SUM) == 1.0
    assert value(quotient | {"D4": "=23.5+0*D1"}, SUM) == 0.0


def test_inputs_that_balance_each_other_do_not_excuse_a_constant_result():
    balanced = {"D1": "=200+B1-4", "D2": "=122-(B1-4)+(B3-10)", "D3": "=100-(B3-10)", "D4": "=422+0*B1"}
    assert value(balanced, SUM) == 0.0


@pytest.mark.parametrize(("result", "expected"), [('=IF(D1,"y","n")', 1.0), ('=IF(D1,"y","y")', 0.0)])
def test_truth_values_change_if_there_is_nothing_else(result, expected):
    assert value({"D1": True, "F1": result}, {"F1": '=IF(D1,"y","n")'}) == expected


KINDS = {"B1": "drink", "B2": "dairy", "B3": "grain", "E1": "milk"}


def test_a_table_of_strings_in_the_formula_does_not_replace_a_lookup():
    kind = {"F1": "=INDEX(B1:B3,MATCH(E1,A1:A3,0))"}
    table = '{"tea","drink";"milk","dairy";"rice","grain"}'
    assert value(KINDS | {"F1": f"=VLOOKUP(E1,{table},2,0)"}, kind) == 0.0
    assert value(KINDS | {"F1": "=VLOOKUP(E1,A1:B3,2,FALSE)"}, kind) == 1.0


def test_a_string_becomes_another_of_its_own_column():
    price = '=IFERROR(VLOOKUP(E1,A1:C3,3,FALSE),"none")'
    assert value(KINDS | {"F1": price}, {"F1": "=VLOOKUP(E1,A1:C3,3,FALSE)"}) == 1.0


def test_a_string_does_not_become_a_number_of_a_second_list():
    from verikit.verifiers.xlsx import mutations

    lists = {"A": ("a", "b", "c"), "B": ("x", 7.0, "y"), "E": ("a",), "F": ("x",)}
    areas = [[(f"S1!{column}{row}", entry) for row, entry in enumerate(entries, 1)]
             for column, entries in lists.items()]  # fmt: skip
    for seed in range(20):
        for case in mutations.other_inputs(areas, str, mutations.generator(str(seed)), 4):
            assert case["S1!F1"] == "y"


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
    ["T[[#This Row],[n]]*T[[#This Row],[{}]]", "[@n]*[@[{}]]", "[[#This Row],n]*T[@[{}]]", "[@n]*[@[{}]]+0*SUM([n])"],
)
@pytest.mark.parametrize("title", ["unit price", "# '[it@s]", " a"])
def test_references_to_a_tables_own_row_are_followed(own, title):
    from openpyxl import Workbook
    from openpyxl.worksheet.table import Table

    def data(formula):
        whole, out = Workbook(), io.BytesIO()
        assert whole.active is not None
        for row in (["n", title, "sum"], [4, 50, formula], [2, 61, formula]):
            whole.active.append(row)
        whole.active.add_table(Table(displayName="T", ref="A1:C3"))
        whole.save(out)
        return left(out.getvalue())

    own = own.format("".join(f"'{letter}" if letter in "#'[]@" else letter for letter in title))
    xlsx = verikit.xlsx(file="*", values={"C2": 200, "C3": 122}, follows={"C3": "=A3*B3"})
    assert xlsx.score([data(f"={own}")])[0].value == 1.0
    assert xlsx.score([data("=T[[#This Row],[n]]*61")])[0].value == 0.0
    outside = sales(cells(F9="=[@n]"))
    assert verikit.xlsx(file="*", values={"F9": 1}, undecided=1.0).score([left(outside)])[0].value == 0.0


def badly_validated(data):
    """A workbook with a rule of a kind that openpyxl does not accept."""
    rule = b'</sheetData><dataValidations count="1"><dataValidation type="x" sqref="A1"/></dataValidations>'
    return parts_changed(data, lambda name, part: part.replace(b"</sheetData>", rule) if "sheet1" in name else part)


def test_a_workbook_that_openpyxl_rejects_has_no_value_and_a_remedy():
    score = verikit.xlsx(file="*", values={"D4": 422}).score([left(badly_validated(book(PRODUCTS | SUM)))])[0]
    assert score.value is None
    assert "save it again" in score.reason
