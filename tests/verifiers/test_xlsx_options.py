"""Options of `xlsx` with a wrong type: an error that names the option, and no verdict on the workbook."""

import datetime
import io
import zipfile

import pytest

import verikit
from verikit import Sample
from verikit.errors import UsageError
from verikit.workspaces import Workspace

WRONG = [
    ("values", {"A1": 10**400}),
    ("values", {"A1": float("nan")}),
    ("values", {"A1": float("inf")}),
    ("values", {"A1": [1]}),
    ("values", ["A1"]),
    ("exact", 5),
    ("exact", {"A1": 1}),
    ("sheet", "Sales"),
    ("then", [5]),
    ("then", [{"set": {"A1": 1}, "values": {"A2": [1]}}]),
    ("follows", {"A1": 5}),
    ("shows", {"A1": 5}),
    ("format", ["0.00"]),
    ("formula", 5),
    ("visible", "A1"),
]


@pytest.mark.parametrize(("option", "value"), WRONG)
def test_a_wrong_type_is_an_error_that_names_the_option(option, value):
    with pytest.raises(UsageError, match=option):
        verikit.xlsx(**{option: value})


@pytest.mark.parametrize(
    "value",
    [5, -1.5, "text", True, None, datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31), datetime.time(10)],
)
def test_what_a_cell_can_hold_may_be_expected(value):
    assert verikit.xlsx(values={"A1": value}).values == {"A1": value}


def broken_workbook():
    """A workbook whose cell has no valid name: a zip of XML that openpyxl does not read."""
    openpyxl = pytest.importorskip("openpyxl")
    whole, broken = io.BytesIO(), io.BytesIO()
    book = openpyxl.Workbook()
    book.active["A1"] = 5
    book.save(whole)
    with zipfile.ZipFile(whole) as parts, zipfile.ZipFile(broken, "w") as copy:
        for name in parts.namelist():
            copy.writestr(name, parts.read(name).replace(b'r="A1"', b'r="1A"'))
    return broken.getvalue()


@pytest.mark.parametrize(("undecided", "value"), [(None, None), (0.0, 0.0), (0.25, 0.25)])
def test_a_workbook_that_the_reader_fails_on_has_the_value_for_what_is_undecided(undecided, value):
    pytest.importorskip("formualizer")
    workspace = Workspace({"a.xlsx": broken_workbook()})
    verifier = verikit.xlsx(values={"A1": 5}, undecided=undecided)
    score = verifier.score([Sample("q", "Done.", workspace=workspace)])[0]
    assert score.value == value
    assert "the reader of the file ended" in score.reason
