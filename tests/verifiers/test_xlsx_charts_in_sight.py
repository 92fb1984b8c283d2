"""Charts that draw nothing, or that nobody finds, do not count; a hostile file never leaves a row without a score."""

import pytest

import verikit
from tests.artifacts.books import left, parts_changed
from tests.artifacts.sheet_charts import charted, drawn, within
from tests.verifiers.test_xlsx_charts import CHART, DRAWING, graded, named, over
from verikit.artifacts.readers import workbook
from verikit.errors import UsageError

pytest.importorskip("openpyxl")

A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
NO_LINE = "<a:ln><a:noFill/></a:ln>"
OFFSET = "OFFSET(Sales!$C$1,1,0,3,1)"
DEEP = "<x>" * 3000 + "</x>" * 3000


def filled(fill, line=NO_LINE):
    """A chart whose series has this fill."""
    return _with_shape(f"<spPr {A}>{fill}{line}</spPr>")


def solid(colour, inner=""):
    kind, value = colour
    return f'<a:solidFill><a:{kind} val="{value}">{inner}</a:{kind}></a:solidFill>'


def _with_shape(shape):
    def change(name, text):
        start, end = text.find("<spPr>"), text.find("</spPr>")
        return text[:start] + shape + text[end + len("</spPr>") :] if name == CHART else text

    return charted(change=change)


def points(count, fill):
    own = "".join(f'<dPt><idx val="{at}"/><spPr {A}>{fill}{NO_LINE}</spPr></dPt>' for at in range(count))
    return _with_shape(own)


def limits(low, high):
    def make(book, sheet, chart):
        chart.y_axis.scaling.min, chart.y_axis.scaling.max = low, high

    return charted(make)


def anchored(kind, places):
    """A chart at other places of its sheet."""

    def change(name, text):
        if name != DRAWING:
            return text
        start, end = text.index("<from>"), text.index("<graphicFrame>")
        return (text[:start] + places + text[end:]).replace("oneCellAnchor", kind)

    return charted(change=change)


def corner(name, column, row, offset=0):
    return f"<{name}><col>{column}</col><colOff>{offset}</colOff><row>{row}</row><rowOff>{offset}</rowOff></{name}>"


def transform(start, size, inner=""):
    return f'<a:off x="{start}" y="{start}"/><a:ext cx="{size}" cy="{size}"/>{inner}'


def group(frame, child_start=0, child_size=2_700_000, size=2_700_000):
    """A group around the chart: its own transform, and the place and size that its members share."""
    inner = f'<a:chOff x="{child_start}" y="{child_start}"/><a:chExt cx="{child_size}" cy="{child_size}"/>'
    head = (
        '<grpSp><nvGrpSpPr><cNvPr id="9" name="g"/><cNvGrpSpPr/></nvGrpSpPr>'
        f"<grpSpPr {A}><a:xfrm>{transform(0, size, inner)}</a:xfrm></grpSpPr>"
    )
    own = f"<xfrm {A}>{transform(*frame)}</xfrm>"
    return charted(change=within(DRAWING, ("<graphicFrame>", head + "<graphicFrame>"), ("<xfrm/>", own), (
        "</graphicFrame>", "</graphicFrame></grpSp>")))  # fmt: skip


def red(inner=""):
    return solid(("srgbClr", "FF0000"), inner)


SEEN = {
    "a colour": lambda: filled(red()),
    "half clear": lambda: filled(red('<a:alpha val="50000"/>')),
    "a grey of the white theme colour": lambda: filled(solid(("schemeClr", "bg1"), '<a:lumMod val="65000"/>')),
    "white with an outline": lambda: filled(solid(("srgbClr", "FFFFFF")), f"<a:ln>{red()}</a:ln>"),
    "points of other colours": lambda: points(3, red()),
    "an axis from a limit below": lambda: limits(0, None),
    "an axis around some values": lambda: limits(20, 55),
    "two corners": lambda: anchored("twoCellAnchor", corner("from", 5, 1) + corner("to", 9, 15)),
    "absolute": lambda: anchored("absoluteAnchor", '<pos x="4000000" y="0"/><ext cx="5400000" cy="2700000"/>'),
    "a group": lambda: group((100_000, 2_500_000)),
}
UNSEEN = {
    "clear": lambda: filled(red('<a:alpha val="0"/>')),
    "white": lambda: filled(solid(("srgbClr", "FFFFFF"))),
    "white without a word on lines": lambda: filled(solid(("srgbClr", "FDFEFF")), ""),
    "the white of the theme": lambda: filled(solid(("schemeClr", "bg1"))),
    "a colour that is lightened to white": lambda: filled(solid(("schemeClr", "accent1"), (
        '<a:lumMod val="0"/><a:lumOff val="100000"/>'))),
    "an outline that is clear": lambda: filled("<a:noFill/>", "<a:ln>" + red('<a:alpha val="0"/>') + "</a:ln>"),
    "a gradient of white": lambda: filled(
        '<a:gradFill><a:gsLst><a:gs pos="0"><a:srgbClr val="FFFFFF"/></a:gs></a:gsLst></a:gradFill>'),
    "no point has ink": lambda: points(3, "<a:noFill/>"),
    "a point has no ink": lambda: points(1, "<a:noFill/>"),
    "an axis beyond all values": lambda: limits(1000, 2000),
    "an axis below all values": lambda: limits(-20, -5),
    "an intersection": lambda: charted(over("Sales!$C$2:$C$3 Sales!$C$4")),
    "an intersection of parentheses": lambda: charted(over("(Sales!$C$2:$C$3) (Sales!$C$4)")),
    "far to the right": lambda: anchored("absoluteAnchor", (
        '<pos x="900000000000" y="0"/><ext cx="5000000" cy="3000000"/>')),
    "far down": lambda: anchored("oneCellAnchor", corner("from", 0, 1100) + '<ext cx="5000000" cy="3000000"/>'),
    "the last cell": lambda: anchored("oneCellAnchor", (
        corner("from", 16383, 1048575) + '<ext cx="5000000" cy="3000000"/>')),
    "in one cell with corners beyond it": lambda: anchored("twoCellAnchor", (
        corner("from", 5, 5) + corner("to", 5, 5, 99_999_999))),
    "nothing of a group": lambda: group((0, 0)),
    "little of a group": lambda: group((0, 100_000)),
    "beside its group": lambda: group((9_000_000, 2_500_000)),
    "a group of no room": lambda: group((0, 2_500_000), child_size=0),
    "a type of relationships that programs do not know": lambda: charted(change=within("drawing1.xml.rels", (
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships/chart", "http://x.example/chart"))),
}  # fmt: skip


@pytest.mark.parametrize("make", SEEN.values(), ids=SEEN)
def test_charts_that_are_seen_count(make):
    score = graded(make())
    assert (score.value, score.reason) == (1.0, "all checks pass")


@pytest.mark.parametrize("make", UNSEEN.values(), ids=UNSEEN)
def test_charts_that_draw_nothing_or_that_nobody_finds_do_not_count(make):
    score = graded(make())
    assert (score.value, score.status) == (0.0, "ok"), score.reason


def wrong_with_a_computed_one(book, sheet, chart):
    from openpyxl.chart import BarChart

    other = drawn(BarChart(), sheet, 2)
    named(OFFSET)(book, sheet, other)
    sheet.add_chart(other, "F20")
    over("Sales!$B$2:$B$4")(book, sheet, chart)


def computed_name(book, sheet, chart):
    chart.series[0].tx.strRef.f = "OFFSET(Sales!$C$1,0,0)"


def test_a_computed_range_does_not_count():
    score = graded(charted(named(OFFSET)))
    assert (score.value, score.status) == (0.0, "ok")
    assert "OFFSET" in score.reason
    assert graded(charted(wrong_with_a_computed_one)).value == 0.0


def test_only_requested_parts_of_a_series_are_looked_at():
    data = charted(computed_name)
    assert graded(data, {"type": "column", "series": ["C2:C4"]}).value == 1.0
    assert graded(data).value == 0.0


def shared_categories(book, sheet, chart):
    drawn(chart, sheet, 2, categories=False)
    chart.series[1].cat = None


def shared_from_other_cells(book, sheet, chart):
    shared_categories(book, sheet, chart)
    chart.series[0].cat.numRef.f = "Sales!$B$2:$B$4"


def test_series_without_categories_share_those_of_the_first():
    wanted = {"type": "column", "categories": "A2:A4", "series": ["C2:C4", "B2:B4"]}
    assert graded(charted(shared_categories), wanted).value == 1.0
    assert graded(charted(shared_from_other_cells), wanted).value == 0.0


@pytest.mark.parametrize("count", [101, 1001, 2600])
def test_a_reference_of_very_many_areas_is_no_range(count):
    score = graded(charted(over(f"({','.join(['C2'] * count)})")))
    assert (score.value, score.status) == (0.0, "ok"), score.reason


@pytest.mark.parametrize(
    ("part", "end"), [("xl/workbook.xml", "</workbook>"), ("worksheets/_rels", "</Relationships>")]
)
def test_elements_in_elements_without_end_are_refused(part, end):
    data = charted(change=within(part, (end, DEEP + end)))
    for score in (graded(data), verikit.xlsx(file="*", values={"C2": 50}).score([left(data)])[0]):
        assert (score.value, score.status) == (0.0, "ok"), score.reason


def test_names_longer_than_any_program_writes_are_refused(monkeypatch):
    monkeypatch.setattr(workbook, "MOST_TEXT", 4)
    told = workbook.read([charted()], {"cells": [], "model": [], "charts": True, "pivots": True})
    assert "names" in told["refused"]


def test_cells_of_a_sheet_with_a_drawing_are_read_whatever_its_part_is_named():
    def renamed(name, content):
        return content.replace(b"sheet1.xml", b"sheet1.dat") if name.endswith((".xml", ".rels")) else content

    data = _renamed(parts_changed(charted(), renamed), "xl/worksheets/sheet1.xml", "xl/worksheets/sheet1.dat")
    data = _renamed(data, "xl/worksheets/_rels/sheet1.xml.rels", "xl/worksheets/_rels/sheet1.dat.rels")
    assert verikit.xlsx(file="*", values={"C2": 50}).score([left(data)])[0].value == 1.0


def _renamed(data, old, new):
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            target.writestr(new if name == old else name, source.read(name))
    return out.getvalue()


@pytest.mark.parametrize(("chart", "field"), [
    (5, "chart"), (None, "chart"), ({"series": ["C2"]}, "chart"), ([{"series": 5}], "series"),
    ([{"series": ["C2"], "type": 5}], "type"), ([{"series": ["C2"], "type": None}], "type"),
    ([{"series": ["C2"], "type": [1, "x"]}], "type"), ([{"series": ["C2"], "type": [["x"]]}], "type"),
    ([{"series": ["C2"], "type": []}], "type"), ([{"series": ["C2"], "sheet": 5}], "sheet"),
    ([{"series": ["C2"], "sheet": None}], "sheet"), ([{"series": [{"type": "bar"}]}], "values"),
    ([{"series": [5]}], "values"), ([{"series": [{"values": "C2", "categories": 5}]}], "categories"),
])  # fmt: skip
def test_an_option_of_a_wrong_type_names_the_chart_and_the_field(chart, field):
    with pytest.raises(UsageError) as caught:
        verikit.xlsx(chart=chart)
    assert "chart" in str(caught.value)
    assert field in str(caught.value)
