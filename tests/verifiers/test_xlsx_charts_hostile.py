"""A workbook with charts has a value whatever its sizes, names and parts are, and honest charts of rare kinds count."""

import io
import random
import re
import zipfile

import pytest

import verikit
from tests.artifacts.books import left, parts_changed
from tests.artifacts.sheet_charts import charted
from tests.verifiers.test_xlsx_charts import CHART, DRAWING, MC, REQUEST, graded
from tests.verifiers.test_xlsx_charts_in_sight import anchored, corner, group
from tests.verifiers.test_xlsx_pivots import CACHE, PART, WANTED, crossed
from verikit.artifacts.readers import hidden, workbook

openpyxl = pytest.importorskip("openpyxl")

SHEET = "xl/worksheets/sheet1.xml"
SIZES = ("nan", "inf", "-inf", "1e308", "-1", "0")
COLUMNS = '<cols><col min="6" max="8" width="9" customWidth="1"/></cols><sheetData>'


def replaced(data, part, *changes):
    """A file with text of one part replaced by patterns."""

    def change(name, content):
        for pattern, new in changes if name == part else ():
            content, count = re.subn(pattern, new, content.decode(), flags=re.S)
            assert count, (pattern, content[:2000])
            content = content.encode()
        return content

    return parts_changed(data, change)


def between_corners():
    """A chart whose size is that of rows and columns."""
    data = anchored("twoCellAnchor", corner("from", 5, 1) + corner("to", 9, 15))
    return replaced(data, SHEET, ("<sheetData>", COLUMNS), ('<row r="2"', '<row r="2" ht="15" customHeight="1"'))


@pytest.mark.parametrize("size", ["nan", "inf"])
@pytest.mark.parametrize("change", [
    (' width="9"', ' width="{}"'), (' ht="15"', ' ht="{}"'), ('defaultRowHeight="15"', 'defaultRowHeight="{}"'),
])  # fmt: skip
def test_sizes_that_are_no_numbers_are_usual_ones(size, change):
    told = workbook.read([replaced(between_corners(), SHEET, (change[0], change[1].format(size)))], REQUEST)
    assert [chart["hidden"] for chart in told["charts"]] == [""]


def test_a_chart_on_a_sheet_with_a_size_that_is_no_number_has_a_value():
    data = replaced(between_corners(), SHEET, (' width="9"', ' width="nan"'))
    assert graded(data).value == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_damaged_sizes_of_sheets_are_read(seed):
    draw = random.Random(seed)
    data = replaced(between_corners(), SHEET, (
        r'(?<= )(width|ht|defaultRowHeight)="[^"]*"', lambda match: f'{match[1]}="{draw.choice(SIZES)}"'))  # fmt: skip
    assert isinstance(workbook.read([data], REQUEST)["charts"][0]["hidden"], str)


def test_hidden_columns_of_a_sheet_are_looked_up_once(monkeypatch):
    asked = []
    number = hidden.column_number
    monkeypatch.setattr(hidden, "column_number", lambda name: asked.append(name) or number(name))

    sheet = openpyxl.Workbook().active
    sheet.column_dimensions["B"].hidden = True
    sheet.column_dimensions["B"].min = sheet.column_dimensions["B"].max = None
    assert [hidden.column_hidden(sheet, column) for column in range(1, 703)] == [False, True, *[False] * 700]
    assert asked == ["B"]


def test_names_that_grow_in_the_observation_are_refused():
    name = "\\" * 1_000_000
    data = replaced(crossed(), PART, ("<dataField [^>]*/>", lambda match: f'<dataField name="{name}" fld="3"/>' * 15))
    stored = moved(data, "same/", "same/")  # a part that is packed as well as this is refused
    score = verikit.xlsx(file="*", pivot=[WANTED]).score([left(stored)])[0]
    assert (score.value, score.status) == (0.0, "ok"), score.reason
    assert "names" in score.reason


def moved(data, old, new):
    """A file whose parts of one folder are in another, without compression."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name.replace(old, new), content.replace(f"/{old}".encode(), f"/{new}".encode()))
    return out.getvalue()


@pytest.mark.parametrize("folder", ["xl/worksheets/", "xl/foo/"])
def test_charts_that_openpyxl_fails_on_are_left_out_wherever_their_sheet_is(folder):
    data = replaced(charted(), CHART, ('<barDir val="col" ?/>', '<barDir val="nonsense"/>'))
    data = moved(data, "xl/worksheets/", folder)
    assert graded(data).value == 1.0
    assert verikit.xlsx(file="*", values={"C2": 50}).score([left(data)])[0].value == 1.0


def without_relation(data, old="", new=""):
    """A file whose sheet does not refer to its pivot table, with text of the cache replaced."""

    def change(name, content):
        return content.replace(old.encode(), new.encode()) if name == CACHE else content

    return parts_changed(data, lambda name, content: None if "sheet2.xml.rels" in name else change(name, content))


def test_a_cache_that_openpyxl_fails_on_is_left_out_though_no_sheet_uses_it():
    data = without_relation(crossed(), '<n v="2023"/>', '<n v="x"/>')
    assert verikit.xlsx(file="*", values={"Data!A1": "item"}).score([left(data)])[0].value == 1.0
    score = verikit.xlsx(file="*", pivot=[WANTED]).score([left(data)])[0]
    assert (score.value, "no pivot table" in score.reason) == (0.0, True)


def test_a_malformed_cache_is_refused_though_no_sheet_uses_it():
    data = without_relation(crossed(), "<cacheFields", "<<cacheFields")
    score = verikit.xlsx(file="*", values={"Data!A1": "item"}).score([left(data)])[0]
    assert (score.value, score.status, "not XML" in score.reason) == (0.0, "ok", True)


def test_relationships_with_references_to_characters_are_left_out_too():
    data = replaced(charted(), CHART, ('<barDir val="col" ?/>', '<barDir val="nonsense"/>'))
    data = replaced(data, "xl/worksheets/_rels/sheet1.xml.rels", ("ships/drawing", "ships/draw&#105;ng"))
    assert verikit.xlsx(file="*", values={"C2": 50}).score([left(data)])[0].value == 1.0


@pytest.mark.parametrize("part", [CHART, DRAWING])
def test_a_malformed_part_of_a_chart_is_refused_by_each_check(part):
    data = replaced(charted(), part, ("^<", "<<"))
    score = verikit.xlsx(file="*", values={"C2": 50}).score([left(data)])[0]
    assert (score.value, score.status, "not XML" in score.reason) == (0.0, "ok", True)


@pytest.mark.parametrize("encoding", ["zzz", "base64", "idna", "utf-7"])
@pytest.mark.parametrize("part", [CHART, DRAWING])
def test_a_part_in_an_encoding_that_nobody_reads_is_refused(part, encoding):
    text = f'<?xml version="1.0" encoding="{encoding}"?>'
    data = replaced(charted(), part, (r"^(<\?xml[^>]*>)?", text))
    told = workbook.read([data], REQUEST)
    assert "refused" in told


def test_a_chart_in_a_group_with_a_frame_of_something_else_counts():
    other = (
        f'<mc:AlternateContent {MC}><mc:Choice Requires="am3d" xmlns:am3d="http://schemas.microsoft.com/office/drawing/'
        '2017/model3d"><graphicFrame/></mc:Choice><mc:Fallback><pic/></mc:Fallback></mc:AlternateContent></grpSp>'
    )
    data = replaced(group((0, 2_700_000)), DRAWING, ("</grpSp>", other))
    assert graded(data).value == 1.0
