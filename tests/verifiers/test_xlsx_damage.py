"""A workbook that its agent damaged is 0.0; one that only our reader can't read has no value."""

import io
import re
import zipfile

import pytest

import verikit
from tests.artifacts.books import left, parts_changed
from verikit.artifacts.readers import damage

openpyxl = pytest.importorskip("openpyxl")

BOOK, SHEET, STYLES = "xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/styles.xml"


def workbook():
    book = openpyxl.Workbook()
    for row in ([1, "a"], [2, "b"]):
        book.active.append(row)
    book.active.column_dimensions["A"].width = 12
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def changed(part, pattern, new):
    def change(name, content):
        if name != part:
            return content
        text, count = re.subn(pattern, new, content.decode(), count=1, flags=re.DOTALL)
        assert count, (part, pattern)
        return text.encode()

    return parts_changed(workbook(), change)


def without(part):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook())) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            if name != part:
                new.writestr(name, old.read(name))
    return out.getvalue()


def graded(data):
    return verikit.xlsx(file="*", values={"A1": 1}).score([left(data)])[0]


DAMAGED = {
    "no links to its sheets": lambda: without("xl/_rels/workbook.xml.rels"),
    "a sheet without a link": lambda: changed(BOOK, '(?<=:id=")rId1', "rId99"),
    "no type of a workbook": lambda: changed("[Content_Types].xml", "sheet.main", "text.main"),
    "an unknown state": lambda: changed(BOOK, 'state="visible"', 'state="ghost"'),
    "a text that is not there": lambda: changed(SHEET, '<c r="A1"[^>]*>', '<c r="A1" t="s">'),
    "a number that is none": lambda: changed(SHEET, "<v>1</v>", "<v>abc</v>"),
    "a cell without a place": lambda: changed(SHEET, 'r="A1"', 'r="1A"'),
    "a row without a number": lambda: changed(SHEET, '<row r="1"', '<row r="x"'),
    "a style without a number": lambda: changed(SHEET, '<c r="A1"', '<c r="A1" s="x"'),
    "a width": lambda: changed(SHEET, 'width="12"', 'width="x"'),
    "a scale": lambda: changed(SHEET, "<sheetView ", '<sheetView zoomScale="abc" '),
    "a view": lambda: changed(SHEET, "<sheetView ", '<sheetView view="abc" '),
    "a merged area": lambda: changed(
        SHEET, "</sheetData>", '</sheetData><mergeCells><mergeCell ref="x"/></mergeCells>'
    ),
}
ONLY_UNREAD = {
    "an empty fill": lambda: changed(STYLES, '<fill><patternFill patternType="gray125" ?/></fill>', "<fill/>"),
    "a family of fonts": lambda: changed(STYLES, '<family val="2" ?/>', '<family val="99"/>'),
    "a date of its properties": lambda: changed("docProps/core.xml", r"T\d\d:\d\d:\d\dZ", "Txx"),
}


@pytest.mark.parametrize("make", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_workbook_is_the_agents_fault(make):
    score = graded(make())
    assert (score.value, score.status) == (0.0, "ok")
    assert "no reader takes the file" in score.reason


@pytest.mark.parametrize("make", ONLY_UNREAD.values(), ids=ONLY_UNREAD)
def test_a_workbook_that_only_our_reader_rejects_has_no_value(make):
    assert graded(make()).status == "error"


SOUND = {
    "plain": workbook,
    "numbers with exponents": lambda: changed(SHEET, "<v>1</v>", "<v>-1.5E+3</v>"),
    "cells without places": lambda: changed(SHEET, ' r="A1"', ""),
    "cells of an extension": lambda: changed(SHEET, "</worksheet>", (
        '<extLst><ext uri="x"><x:c xmlns:x="http://x.example" r="?" t="?"/></ext></extLst></worksheet>')),
    "the other form of the format": lambda: parts_changed(workbook(), lambda name, content: content.replace(
        b"http://schemas.openxmlformats.org/spreadsheetml/2006/main", b"http://purl.oclc.org/ooxml/spreadsheetml/main").replace(
        b"http://schemas.openxmlformats.org/officeDocument/2006/", b"http://purl.oclc.org/ooxml/officeDocument/")),
}  # fmt: skip


@pytest.mark.parametrize("make", SOUND.values(), ids=SOUND)
def test_the_second_reader_takes_sound_workbooks(make):
    assert damage.read([make()], {"kind": "xlsx"}) == {}
