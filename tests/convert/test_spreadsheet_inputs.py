"""SpreadsheetBench's input workbooks as outputs: 0.0 wherever they differ from the answers, which are 1.0."""

import datetime

import pytest

import verikit
from tests.artifacts.books import cells, sales
from tests.convert.test_deliverables import ROW, answers, made
from verikit.errors import UsageError
from verikit.types import Sample
from verikit.workspaces import Workspace

__all__ = ["answers"]  # a fixture
pytest.importorskip("openpyxl")
DATE = datetime.datetime(2024, 1, 31)


def shown(value, code):
    """Fills E2 with a value in a number format."""

    def fill(book, sheet):
        sheet["E2"] = value
        sheet["E2"].number_format = code

    return fill


def on_second_sheet(value):
    def fill(book, sheet):
        book.create_sheet("Out")["E2"] = value

    return fill


def coloured(book, sheet):
    from openpyxl.styles import PatternFill

    sheet["E2"] = 3
    sheet["E2"].fill = PatternFill("solid", fgColor="FFFF0000")


def converted(tmp_path, folder, pairs, **changed):
    """The row of a task with these inputs and answers, one pair per test case."""
    for old in folder.iterdir():
        old.unlink()
    for number, (given, right) in enumerate(pairs, 1):
        (folder / f"{number}_17-35_input.xlsx").write_bytes(sales(given))
        (folder / f"{number}_17-35_answer.xlsx").write_bytes(sales(right))
    [row], errors, _ = made(tmp_path, "spreadsheetbench", {**ROW, "answer_position": "E2:E3", **changed})
    assert not errors
    return row


def scores(folder, row):
    """What the inputs and the answers get as outputs."""
    found = []
    for kind in ("input", "answer"):
        files = {case["file"]: (folder / case["file"].replace("output", kind)).read_bytes() for case in row["xlsx"]}
        sample = Sample(row["prompt"], "", id="1", workspace=Workspace(files), meta={"xlsx": row["xlsx"]})
        found.append(verikit.xlsx().score([sample])[0].value)
    return found


@pytest.mark.parametrize(
    ("given", "right", "changed"),
    [
        (shown(DATE, "yyyy-mm-dd"), cells(E2="2024-01-31"), {}),  # a date to make a text of
        (cells(E2="2024-01-31"), shown(DATE, "yyyy-mm-dd"), {}),
        (shown(datetime.time(10, 0), "hh:mm"), shown(datetime.time(10, 5), "hh:mm"), {}),
        (shown(datetime.timedelta(minutes=1), "[h]:mm:ss"), shown(datetime.timedelta(minutes=3), "[h]:mm:ss"), {}),
        (shown(DATE, "yyyy-mm-dd hh:mm"), shown(DATE + datetime.timedelta(minutes=2), "yyyy-mm-dd hh:mm"), {}),
        (cells(E2=4006381333931), cells(E2=4006381333932), {}),
        (cells(E2=12345678901.10), cells(E2=12345678901.12), {}),
        (cells(E2="5"), cells(E2=5), {}),
        (cells(E2=1), cells(E2=True), {}),
        (cells(), cells(E2=0), {}),
        (cells(E2="tea "), cells(E2="tea"), {}),
        (on_second_sheet(1), on_second_sheet(9), {"answer_sheet": "Out"}),
        (on_second_sheet(1), on_second_sheet(9), {"answer_sheet": "'out'"}),
    ],
)
def test_an_input_that_differs_is_never_rewarded_and_the_answer_is(tmp_path, answers, given, right, changed):
    assert scores(answers, converted(tmp_path, answers, [(given, right)], **changed)) == [0.0, 1.0]


def test_a_stored_time_of_parts_of_a_millisecond_is_its_own_answer(tmp_path, answers):
    row = converted(tmp_path, answers, [(cells(E2=0), shown(0.0514403292181, "[h]:mm:ss"))])
    assert scores(answers, row) == [0.0, 1.0]


def test_a_sheet_that_the_answer_lacks_means_the_first_one(tmp_path, answers):
    row = converted(tmp_path, answers, [(cells(E2=1), cells(E2=2))], answer_sheet="Old,New")
    assert list(row["xlsx"][0]["values"]) == ["'Sales'!E2", "'Sales'!E3"]


@pytest.mark.parametrize("ending", ["input", "init"])
def test_a_task_whose_inputs_are_right_by_their_values_is_left_out(tmp_path, answers, ending):
    for number in (1, 2):
        (answers / f"{number}_17-35_input.xlsx").unlink()
        (answers / f"{number}_17-35_{ending}.xlsx").write_bytes(sales(cells(E2=3)))
        (answers / f"{number}_17-35_answer.xlsx").write_bytes(sales(coloured))
    with pytest.raises(UsageError, match="1 left out"):
        made(tmp_path, "spreadsheetbench", ROW)


def test_a_task_with_one_test_case_to_change_is_kept(tmp_path, answers):
    row = converted(tmp_path, answers, [(cells(E2=3), coloured), (cells(E2=4), coloured)])
    assert scores(answers, row) == [0.0, 1.0]


def test_a_task_without_its_inputs_is_kept(tmp_path, answers):
    for path in answers.glob("*_input.xlsx"):
        path.unlink()
    assert made(tmp_path, "spreadsheetbench", ROW)[0]


@pytest.mark.parametrize(
    ("position", "first"),
    [
        ("Sales'!E2,'Costs, 2024'!E2", "'Sales'!E2"),  # some rows lack the first quote
        ("'Costs, 2024'!E2:E3", "'Costs, 2024'!E2"),
        ("'Sales!'E2:E3,'Sales!'F2", "'Sales'!E2"),
    ],
)
def test_positions_are_read_as_rows_write_them(tmp_path, answers, position, first):
    def both(value):
        def fill(book, sheet):
            sheet["E2"] = value
            book.create_sheet("Costs, 2024")["E2"] = value

        return fill

    row = converted(tmp_path, answers, [(both(1), both(2))], answer_position=position)
    assert next(iter(row["xlsx"][0]["values"])) == first
    assert scores(answers, row) == [0.0, 1.0]
