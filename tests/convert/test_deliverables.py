"""Benchmarks whose answers are files: SpreadsheetBench's workbooks per test case, GDPval's rubrics."""

import json

import pytest

import verikit
from tests.artifacts.books import cells, parts_changed, sales
from verikit.convert import FORMS, convert
from verikit.convert.inputs import rows
from verikit.errors import UsageError
from verikit.types import Sample
from verikit.workspaces import Workspace

ROW = {
    "id": "17-35", "instruction": "Fill in E2 and E3.", "spreadsheet_path": "spreadsheet/17-35",
    "instruction_type": "Cell-Level Manipulation", "answer_position": "'Sales'!E2:E3",
}  # fmt: skip


def made(tmp_path, form, *told):
    source, out, errors = tmp_path / "dataset.json", tmp_path / "rows.jsonl", []
    source.write_text(json.dumps(told))
    counts = convert(FORMS[form], rows([str(source)]), out, tell=errors.append)
    return [json.loads(line) for line in out.read_text().splitlines()], errors, counts


@pytest.fixture
def answers(tmp_path):
    pytest.importorskip("openpyxl")
    pytest.importorskip("formulas")
    pytest.importorskip("formualizer")
    folder = tmp_path / "spreadsheet/17-35"
    folder.mkdir(parents=True)
    for number in (1, 2):
        (folder / f"{number}_17-35_input.xlsx").write_bytes(sales())
        (folder / f"{number}_17-35_answer.xlsx").write_bytes(sales(cells(E2=number * 1.234, E3="tea")))
    return folder


def scored(row, *books):
    """The score of the workbooks of an agent, with all cases and by share."""
    named = {f"{number}_17-35_output.xlsx": book for number, book in enumerate(books, 1)}
    sample = Sample(row["prompt"], "", id="1", workspace=Workspace(named), meta={"xlsx": row["xlsx"]})
    return [verikit.xlsx(cases=cases).score([sample])[0].value for cases in ("all", "share")]


@pytest.mark.parametrize("position", ["'Sales'!E2:E3", "Sales!E2,Sales!E3", "'Sales!E2:E3'", "E2:E3"])
def test_each_test_case_has_the_stored_values_of_its_answer_workbook(tmp_path, answers, position):
    [row], errors, _ = made(tmp_path, "spreadsheetbench", {**ROW, "answer_position": position})
    assert not errors
    assert row["workspace"] == {"after": "outputs/17-35"}
    assert [case["file"] for case in row["xlsx"]] == ["1_17-35_output.xlsx", "2_17-35_output.xlsx"]
    assert list(row["xlsx"][1]["values"].values()) == [2.468, "tea"]


def test_all_cases_count_or_the_share_of_them_by_two_decimals(tmp_path, answers):
    [row], _, _ = made(tmp_path, "spreadsheetbench", ROW)
    first, second = sales(cells(E2="=1.23", E3="tea")), sales(cells(E2=2.468, E3="tea"))
    assert scored(row, first, second) == [1.0, 1.0]  # recalculated, and 1.23 for 1.234
    assert scored(row, first, first) == [0.0, 0.5]  # typed for the first case
    assert scored(row, first) == [0.0, 0.5]
    assert scored(row, first, b"no workbook") == [0.0, 0.5]


def test_an_answer_whose_formula_gives_another_value_than_the_stored_one_is_left_out(tmp_path, answers):
    def stale(name, content):
        return content.replace(b"<v />", b"<v>7</v>").replace(b"<v></v>", b"<v>7</v>")

    book = parts_changed(sales(cells(E2="=B2*2", E3="tea")), stale)
    (answers / "2_17-35_answer.xlsx").write_bytes(book)
    with pytest.raises(UsageError, match="1 left out"):
        made(tmp_path, "spreadsheetbench", ROW)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"spreadsheet_path": "../other"}, "spreadsheet_path"),
        ({"spreadsheet_path": "spreadsheet/none"}, "spreadsheet_path"),
        ({"answer_position": "Sales!somewhere"}, "answer_position"),
        ({"answer_position": "Other!A1"}, "answer_position"),
        ({"answer_position": "A1:ZZ9999"}, "answer_position"),
        ({"id": "a/b"}, "id"),
    ],
)
def test_a_row_that_leaves_the_folder_or_names_no_cells_is_bad(tmp_path, answers, change, field):
    [_], [error], counts = made(tmp_path, "spreadsheetbench", ROW, {**ROW, **change})
    assert counts.bad == 1
    assert error.field == field


def test_gdpvals_rubric_has_its_criteria_and_points(tmp_path):
    rubric = [
        {"score": 2, "criterion": "Has a total.", "rubric_item_id": "x"},
        {"score": -1, "criterion": "Has a typo."},
    ]
    task = {"task_id": "t-1", "sector": "Finance", "prompt": "Sum it.", "rubric_json": json.dumps(rubric)}
    [row], errors, _ = made(tmp_path, "gdpval", task, {**task, "rubric_json": "[{}]"})
    assert row["rubric"] == [{"criterion": "Has a total.", "points": 2}, {"criterion": "Has a typo.", "points": -1}]
    assert row["workspace"] == {"after": "outputs/t-1"}
    assert len(errors) == 1
