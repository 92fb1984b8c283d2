"""Charts and pivot tables that programs read differently do not count: repeated elements and differing alternatives."""

import pytest

from tests.artifacts.books import parts_changed
from tests.artifacts.sheet_charts import charted, within
from tests.verifiers.test_xlsx_charts import CHART, DRAWING, EXCEL, MC, REQUEST, graded, named, over
from tests.verifiers.test_xlsx_charts_hostile import replaced
from tests.verifiers.test_xlsx_charts_in_sight import A, anchored, corner
from tests.verifiers.test_xlsx_pivots import CACHE, PART, crossed
from tests.verifiers.test_xlsx_pivots import graded as graded_pivot
from verikit.artifacts.readers import workbook

pytest.importorskip("openpyxl")

MICROSOFT = "http://schemas.microsoft.com/office/drawing/"
A14 = f"{MICROSOFT}2010/main"
WRONG = "<f>Sales!$B$2:$B$4</f>"
CLEAR = f"<spPr {A}><a:noFill/><a:ln><a:noFill/></a:ln></spPr>"
LITERAL = '<numLit><ptCount val="1"/><pt idx="0"><v>1</v></pt></numLit>'
REPEATED = {
    "values": ("</val>", f"</val><val><numRef>{WRONG}</numRef></val>"),
    "formulas": ("(<val><numRef><f>.*?</f>)", rf"\1{WRONG}"),
    "references": ("(<val><numRef>.*?</numRef>)", rf"\1<numRef>{WRONG}</numRef>"),
    "a reference and numbers": ("(<val><numRef>.*?</numRef>)", rf"\1{LITERAL}"),
    "shapes": ("(<spPr>.*?</spPr>)", rf"\1{CLEAR}"),
    "shapes apart": ("</ser>", f"{CLEAR}</ser>"),
    "fills": ("<spPr>.*?</spPr>", f'<spPr {A}><a:solidFill><a:srgbClr val="FF0000"/></a:solidFill><a:noFill/></spPr>'),
    "colours": ("<spPr>.*?</spPr>", (
        f'<spPr {A}><a:solidFill><a:srgbClr val="FF0000"/><a:prstClr val="white"/></a:solidFill></spPr>')),
    "scales": ("(<valAx>.*?<scaling>.*?</scaling>)", r'\1<scaling><max val="2000"/><min val="1000"/></scaling>'),
    "axes": ("(<valAx>.*?</valAx>)", r"\1\1"),
    "plot areas": ("(<plotArea>.*</plotArea>)", r"\1\1"),
    "charts": ("(<chart>.*</chart>)", r"\1\1"),
    "directions": ("(<barDir [^>]*>)", r'\1<barDir val="bar"/>'),
}  # fmt: skip


@pytest.mark.parametrize("change", REPEATED.values(), ids=REPEATED)
def test_a_chart_that_says_something_twice_does_not_count(change):
    score = graded(replaced(charted(), CHART, change))
    assert (score.value, "repeats" in score.reason) == (0.0, True)


TWO_CORNERS = corner("from", 5, 1) + corner("to", 9, 15)


@pytest.mark.parametrize(("old", "new"), [
    ("<to>", f"{corner('to', 5, 1)}<to>"), ("<col>5</col>", "<col>5</col><col>900</col>"),
    ("<cNvPr ", '<cNvPr id="7" name="x" hidden="1"/><cNvPr '),
])  # fmt: skip
def test_a_frame_that_says_something_twice_does_not_count(old, new):
    data = anchored("twoCellAnchor", TWO_CORNERS)
    assert graded(data).value == 1.0
    score = graded(replaced(data, DRAWING, (old, new)))
    assert (score.value, "repeats" in score.reason) == (0.0, True)


def test_two_drawings_of_a_sheet_do_not_count():
    data = replaced(charted(), "xl/worksheets/sheet1.xml", ("(<drawing [^>]*/>)", r"\1\1"))
    assert graded(data).value == 0.0


@pytest.mark.parametrize(("part", "old", "new"), [
    (PART, "(<location )", r'\1ref="J1:K2" firstHeaderRow="1" firstDataRow="2" firstDataCol="1"/>\1'),
    (PART, "(<dataFields .*?</dataFields>)", r"\1\1"), (PART, "(<rowFields .*?</rowFields>)", r"\1\1"),
    (CACHE, "(<worksheetSource [^>]*>)", r'\1<worksheetSource ref="A1:B2" sheet="Data"/>'),
    (CACHE, "(<cacheFields .*</cacheFields>)", r"\1\1"),
    ("xl/workbook.xml", "(<pivotCaches>.*</pivotCaches>)", r"\1\1"),
])  # fmt: skip
def test_a_pivot_table_that_says_something_twice_does_not_count(part, old, new):
    score = graded_pivot(replaced(crossed(), part, (old, new)))
    assert (score.value, "repeats" in score.reason) == (0.0, True)


EDGES = ("Sales!$C$2:$C$1048576", "Sales!$C$2:$XFD$4", "(Sales!$C$2:$C$3,Sales!$C$4:$C$1048576)")


@pytest.mark.parametrize("text", EDGES)
def test_ranges_to_the_edge_of_the_sheet_are_no_others(text):
    score = graded(charted(over(text)))
    assert (score.value, "edge" in score.reason) == (0.0, True)
    assert graded(charted(named(text))).value == 0.0


@pytest.mark.parametrize("source", ["A1:D1048576", "A1:XFD7"])
def test_sources_to_the_edge_of_the_sheet_are_no_others(source):
    assert graded_pivot(crossed(source={"ref": source, "sheet": "Data"})).value == 0.0


@pytest.mark.parametrize(("text", "wanted", "value"), [
    ("Sales!$C$2,Sales!$C$3,Sales!$C$4", "C2:C4", 1.0), ("Sales!$C$2,Sales!$C$4,Sales!$C$3", "C2:C4", 0.0),
    ("Sales!$B$2:$C$2,Sales!$B$3,Sales!$C$3", "B2:C3", 1.0), ("Sales!$B$2:$B$3,Sales!$C$2:$C$3", "B2:C3", 0.0),
    ("Sales!$C$2:$C$3,Sales!$C$3:$C$4", "C2:C4", 0.0), ("Sales!$C$2", "C2", 1.0),
])  # fmt: skip
def test_areas_that_follow_each_other_are_one_range(text, wanted, value):
    assert graded(charted(over(text)), {"series": [wanted]}).value == value


def test_two_relationships_of_one_name_are_refused():
    rels = "xl/drawings/_rels/drawing1.xml.rels"
    data = replaced(charted(), rels, ("(<Relationship [^>]*>)", r"\1\1"))
    assert "one id" in workbook.read([data], REQUEST)["refused"]


def test_two_caches_of_a_pivot_table_do_not_count():
    data = replaced(crossed(), "xl/workbook.xml", ("(<pivotCache [^>]*>)", r"\1\1"))
    assert graded_pivot(data).value == 0.0


def alternatives(choice, fallback, prefix="c14", namespace=f"{MICROSOFT}2007/8/2/chart"):
    branches = f'<mc:Choice Requires="{prefix}" xmlns:{prefix}="{namespace}">{choice}</mc:Choice>'
    if fallback is not None:
        branches += f"<mc:Fallback>{fallback}</mc:Fallback>"
    return f"<mc:AlternateContent {MC}>{branches}</mc:AlternateContent>"


def of_plots(*namespace):
    """A chart whose alternative draws other cells."""
    return replaced(charted(), CHART, ("<plotArea>.*</plotArea>", lambda found: alternatives(
        found[0].replace("$C$2:$C$4", "$B$2:$B$3"), found[0], *namespace)))  # fmt: skip


def in_utf_16(data):
    def change(name, content):
        text = content.decode().partition("?>")[2] if content.startswith(b"<?xml") else content.decode()
        return f'<?xml version="1.0" encoding="UTF-16"?>{text}'.encode("utf-16") if name == CHART else content

    return parts_changed(data, change)


def framed(choice="{}", fallback="{}", *namespace):
    return replaced(charted(), DRAWING, ("<graphicFrame>.*</graphicFrame>", lambda found: alternatives(
        choice.format(found[0]), fallback and fallback.format(found[0]), *namespace)))  # fmt: skip


RED = CLEAR.replace("<a:noFill/><a:ln>", '<a:solidFill><a:srgbClr val="FF0000"/></a:solidFill><a:ln>')
DIFFERENT = {
    "other cells": of_plots,
    "other cells of a new extension": lambda: of_plots("c16", f"{MICROSOFT}2014/chart"),
    "other cells of drawings": lambda: of_plots("a15", f"{MICROSOFT}2012/main"),
    "other cells of old drawings": lambda: of_plots("a14", A14),
    "a namespace of references to characters": lambda: of_plots("c14", f"{MICROSOFT}2007/8/2/c&#104;art"),
    "UTF-16": lambda: in_utf_16(of_plots()),
    "a shape": lambda: replaced(charted(), CHART, ("<spPr>.*?</spPr>", alternatives(CLEAR, None))),
    "a shape as a fallback": lambda: replaced(charted(), CHART, ("<spPr>.*?</spPr>", alternatives(RED, CLEAR))),
    "alternatives in alternatives": lambda: replaced(charted(), CHART, ("<spPr>.*?</spPr>", alternatives(
        *[alternatives(RED, CLEAR)] * 2))),
    "only for some programs": lambda: framed("{}", None),
    "not for some programs": lambda: framed("", "{}"),
    "an anchor": lambda: replaced(charted(), DRAWING, ("<oneCellAnchor>.*</oneCellAnchor>", lambda found: (
        alternatives(found[0], None)))),
}  # fmt: skip
ALIKE = {
    "a style": lambda: charted(change=within(CHART, ("<chart>", EXCEL))),
    "equal frames": framed,
    "a frame of a drawing of 2010": lambda: framed("{}", "<sp/>", "a14", A14),
    "other shapes": lambda: replaced(charted(), DRAWING, (
        "<graphicFrame>", alternatives("<sp><a:x/></sp>", "<pic/>", "a14", A14).replace("<a:x/>", "") + (
            "<graphicFrame>"))),
    "a frame of another kind of chart": lambda: replaced(charted(), DRAWING, ("(?=<oneCellAnchor>)", alternatives(
        f'<twoCellAnchor>{TWO_CORNERS}<graphicFrame/></twoCellAnchor>', "", "cx1", f"{MICROSOFT}2015/9/8/chartex"))),
    "equal shapes": lambda: replaced(charted(), CHART, ("<spPr>.*?</spPr>", alternatives(RED, RED))),
    "only a fallback": lambda: replaced(charted(), CHART, ("<spPr>.*?</spPr>", (
        f"<mc:AlternateContent {MC}><mc:Fallback>{RED}</mc:Fallback></mc:AlternateContent>"))),
    "UTF-16": lambda: in_utf_16(charted()),
}  # fmt: skip


@pytest.mark.parametrize("make", DIFFERENT.values(), ids=DIFFERENT)
def test_a_chart_that_programs_draw_differently_does_not_count(make):
    score = graded(make())
    assert (score.value, "differs between programs" in score.reason) == (0.0, True)


@pytest.mark.parametrize("make", ALIKE.values(), ids=ALIKE)
def test_alternatives_that_all_programs_draw_alike_count(make):
    score = graded(make())
    assert (score.value, score.reason) == (1.0, "all checks pass")


def test_a_pivot_table_that_programs_read_differently_does_not_count():
    filters = alternatives("<filters><filter/></filters>", None, "x14", A14.replace("drawing", "spreadsheetml"))
    score = graded_pivot(replaced(crossed(), PART, ("(?=<dataFields )", filters)))
    assert (score.value, "differs between programs" in score.reason) == (0.0, True)


@pytest.mark.parametrize("change", [
    ("<chartSpace ", f'<chartSpace {MC} xmlns:x="http://x.example/" mc:Ignorable="x" mc:ProcessContent="x:y" '),
    ("</ser>", '<spPr xmlns="http://purl.oclc.org/ooxm&#108;/drawingml/chart"/></ser>'),
])  # fmt: skip
def test_elements_that_only_some_programs_know_are_refused(change):
    told = workbook.read([replaced(charted(), CHART, change)], REQUEST)
    assert "read differently" in told["refused"]
