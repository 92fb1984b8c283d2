"""Charts of rare but honest looks count: dark grounds, markers only, shown hidden cells and waterfalls."""

import pytest

import verikit
from tests.artifacts.sheet_charts import charted, drawn
from tests.verifiers.test_xlsx_charts import CHART, graded
from tests.verifiers.test_xlsx_charts_hostile import replaced
from tests.verifiers.test_xlsx_charts_in_sight import NO_LINE, A, red, solid
from verikit.errors import UsageError

pytest.importorskip("openpyxl")

PROPERTIES = "docProps/app.xml"
LINE = {"type": "line", "categories": "A2:A4", "series": ["C2:C4"]}
WATERFALL = {"type": "column", "series": [{"values": "B2:B4", "base": True}, "C2:C4"]}
WHITE, BLACK, NOTHING = solid(("srgbClr", "FFFFFF")), solid(("srgbClr", "000000")), "<a:noFill/>"
YELLOW = solid(("srgbClr", "FFFF00"))
CLEAR = f"<spPr {A}><a:noFill/>{NO_LINE}</spPr>"


def one_of(kind, change=None):
    """A workbook with a chart of another type, with its shapes left out."""

    def make(book, sheet, chart):
        sheet._charts.clear()
        other = drawn(kind(), sheet)
        if change:
            change(other)
        sheet.add_chart(other, "F2")

    return replaced(charted(make), CHART, ("<spPr>.*?</spPr>", ""))


def line(stroke, plot="", ground="", marker="none"):
    """A line chart with the fills of its plot area and of its ground. Without a fill they have no shape."""
    from openpyxl.chart import LineChart

    shape = f'<spPr {A}><a:ln>{stroke}</a:ln></spPr><marker><symbol val="{marker}"/></marker>'
    return on(one_of(LineChart), plot, ground, ("(<ser>.*?)(<marker>.*?</marker>)(?=<cat>)", rf"\1{shape}"))


def on(data, plot, ground, *changes):
    shapes = [f"<spPr {A}>{fill}</spPr>" if fill else "" for fill in (plot, ground)]
    areas = ("</plotArea>", f"{shapes[0]}</plotArea>"), ("</chart>", f"</chart>{shapes[1]}")
    return replaced(data, CHART, *changes, *areas)


def columns(fill, plot):
    return on(charted(), plot, "", ("<spPr>.*?</spPr>", f"<spPr {A}>{fill}{NO_LINE}</spPr>"))


def pie_on_black():
    from openpyxl.chart import PieChart

    data = one_of(PieChart)
    return on(data, BLACK, WHITE, ("(?=<cat>)", f"<spPr {A}>{WHITE}</spPr>"))


def three_dimensions():
    from openpyxl.chart import BarChart3D

    return on(one_of(BarChart3D), BLACK, BLACK, ("(?=<cat>)", f"<spPr {A}>{WHITE}{NO_LINE}</spPr>"))


HALF = solid(("srgbClr", "000000"), '<a:alpha val="50000"/>')
ON_DARK = {
    "a dark plot area": lambda: line(WHITE, BLACK),
    "a dark chart": lambda: line(WHITE, NOTHING, BLACK),
    "a dark colour of the theme": lambda: line(WHITE, solid(("schemeClr", "tx2"))),
    "half dark on dark": lambda: line(WHITE, HALF, solid(("srgbClr", "202020"))),
    "white markers": lambda: line(NOTHING, BLACK, marker="circle"),
    "a dark blue": lambda: line(solid(("srgbClr", "4472C4")), solid(("srgbClr", "1F3864"))),
}
NOT_ON_DARK = {
    "white on white": lambda: line(WHITE, WHITE),
    "white on white on black": lambda: line(WHITE, WHITE, BLACK),
    "white on a plot area that programs fill": lambda: line(WHITE, "", BLACK),
    "white on a chart that programs fill": lambda: line(WHITE, NOTHING, ""),
    "white on the cells": lambda: line(WHITE, NOTHING, NOTHING),
    "white on black that a wide border covers": lambda: line(WHITE, f"{BLACK}<a:ln w='20116800'>{WHITE}</a:ln>"),
    "white on a clear black": lambda: line(WHITE, solid(("srgbClr", "000000"), '<a:alpha val="0"/>'), WHITE),
    "white on half black over the cells": lambda: line(WHITE, HALF, NOTHING),
    "white on yellow": lambda: line(WHITE, solid(("srgbClr", "FFFF00"))),
    "white on a black that turns white": lambda: line(WHITE, solid(("srgbClr", "000000"), '<a:inv/>')),
    "white on a black with changes beyond those that are read": lambda: line(WHITE, solid(("srgbClr", "000000"), (
        '<a:alpha val="100000"/>' * 20 + '<a:alpha val="0"/>'))),
    "white on a gradient": lambda: line(WHITE, (
        f'<a:gradFill><a:gsLst><a:gs pos="0">{BLACK[13:-14]}</a:gs></a:gsLst></a:gradFill>')),
    "white on two fills": lambda: line(WHITE, BLACK + WHITE),
    "white on two colours": lambda: line(WHITE, BLACK[:13] + BLACK[13:-14] * 2 + BLACK[-14:]),
    "black on black": lambda: line(BLACK, BLACK),
    "almost black on black": lambda: line(solid(("srgbClr", "101010")), BLACK),
    "almost clear on black": lambda: line(solid(("srgbClr", "FFFFFF"), '<a:alpha val="10000"/>'), BLACK),
    "no line and no marker on black": lambda: line(NOTHING, BLACK),
}  # fmt: skip


@pytest.mark.parametrize("make", ON_DARK.values(), ids=ON_DARK)
def test_light_lines_on_a_dark_ground_count(make):
    score = graded(make(), LINE)
    assert (score.value, score.reason) == (1.0, "all checks pass")


@pytest.mark.parametrize("make", NOT_ON_DARK.values(), ids=NOT_ON_DARK)
def test_lines_that_the_ground_hides_do_not_count(make):
    score = graded(make(), LINE)
    assert (score.value, score.status) == (0.0, "ok")
    assert "neither line nor markers" in score.reason or "repeats" in score.reason


def test_white_columns_count_on_a_dark_plot_area_only():
    assert [graded(columns(WHITE, fill)).value for fill in (BLACK, WHITE, "")] == [1.0, 0.0, 0.0]


def test_pies_and_charts_with_walls_have_no_dark_ground():
    """LibreOffice fills no plot area behind a pie, and walls cover that of a chart in three dimensions."""
    assert graded(pie_on_black(), {"type": "pie", "series": ["C2:C4"]}).value == 0.0
    assert graded(three_dimensions()).value == 0.0


@pytest.mark.parametrize(("symbol", "value"), [("circle", 1.0), ("auto", 1.0), ("x", 1.0), ("none", 0.0)])
def test_a_line_chart_of_markers_counts_if_they_are_drawn(symbol, value):
    assert graded(line(NOTHING, marker=symbol), LINE).value == value


def hidden_cells(says, program="Microsoft Excel", version="12.0000"):
    """A chart of a hidden column, as XlsxWriter writes it if `says` is empty."""

    def make(book, sheet, chart):
        sheet.column_dimensions["C"].hidden = True

    data = replaced(charted(make), CHART, ("<plotVisOnly [^>]*>", says))
    stated = f"<Application>{program}</Application><AppVersion>{version}</AppVersion>"
    return replaced(data, PROPERTIES, ("<Application>.*(?=</Prop)", stated))


@pytest.mark.parametrize(("data", "value"), [
    (lambda: hidden_cells(""), 1.0), (lambda: hidden_cells('<plotVisOnly val="0"/>'), 1.0),
    (lambda: hidden_cells('<plotVisOnly val="1"/>'), 0.0), (lambda: hidden_cells("<plotVisOnly/>"), 0.0),
    (lambda: hidden_cells("", version="16.0300"), 0.0), (lambda: hidden_cells("", program="LibreOffice"), 0.0),
    (lambda: replaced(hidden_cells(""), PROPERTIES, ("<AppVersion>.*</AppVersion>", "")), 0.0),
    (lambda: replaced(hidden_cells(""), PROPERTIES, ("(<AppVersion>)", r"\g<1>16</AppVersion>\1")), 0.0),
    (lambda: replaced(hidden_cells(""), "_rels/.rels", ("(<Relationship [^>]*app.xml[^>]*>)", (
        lambda match: match[1] + match[1].replace('Id="', 'Id="x')))), 0.0),
])  # fmt: skip
def test_hidden_cells_count_if_all_programs_show_them(data, value):
    score = graded(data())
    assert (score.value, score.status) == (value, "ok")


def waterfall(base=CLEAR, top="", grouping="stacked", first=2, orders=(0, 1)):
    """Two stacked series, of which the first is drawn as `base`."""

    def make(book, sheet, chart):
        sheet._charts.clear()
        from openpyxl.chart import BarChart

        other = BarChart()
        other.grouping, other.overlap = grouping, 100
        for column in (first, 5 - first):
            drawn(other, sheet, column)
        sheet.add_chart(other, "F2")

    data = replaced(charted(make), CHART, ("<spPr>.*?</spPr>", "@"))
    shapes, places = iter((base, top)), iter(orders)
    return replaced(data, CHART, ("@", lambda match: next(shapes)), (
        '<order val="[^"]*" ?/>', lambda match: f'<order val="{next(places)}"/>'))  # fmt: skip


POINT = f"<dPt><idx val='0'/><spPr {A}>{red()}</spPr></dPt>"
RIGHT_BASES = {
    "clear": waterfall,
    "white": lambda: waterfall(f"<spPr {A}>{WHITE}{NO_LINE}</spPr>"),
    "the colour of a dark ground": lambda: on(waterfall(f"<spPr {A}>{BLACK}{NO_LINE}</spPr>"), BLACK, ""),
    "percent": lambda: waterfall(grouping="percentStacked"),
}
MANY = "<a:alpha val='100000'/>" * 21
PICTURE = "<a:blipFill><a:stretch><a:fillRect/></a:stretch></a:blipFill>"
WRONG_BASES = {
    "a picture fills the base": lambda: waterfall(f"<spPr {A}>{PICTURE}{NO_LINE}</spPr>"),
    "the base is black after many changes": lambda: waterfall(
        f"<spPr {A}><a:solidFill><a:srgbClr val='000000'>{MANY}</a:srgbClr></a:solidFill>{NO_LINE}</spPr>"
    ),
    "the base is white on yellow": lambda: on(waterfall(f"<spPr {A}>{WHITE}{NO_LINE}</spPr>"), YELLOW, ""),
    "all series are clear": lambda: waterfall(top=CLEAR),
    "the base has ink": lambda: waterfall(base=""),
    "the base has an outline": lambda: waterfall(f"<spPr {A}><a:noFill/><a:ln>{red()}</a:ln></spPr>"),
    "a point of the base has ink": lambda: waterfall(CLEAR + POINT),
    "the other series is clear": lambda: waterfall(base="", top=CLEAR),
    "beside each other": lambda: waterfall(grouping="clustered"),
    "the base is above": lambda: waterfall(base="", top=CLEAR, first=3),
    "the base is first in the file and last in its order": lambda: waterfall(orders=(1, 0)),
    "one order": lambda: waterfall(orders=(0, 0)),
}


@pytest.mark.parametrize("make", RIGHT_BASES.values(), ids=RIGHT_BASES)
def test_a_waterfall_counts_where_its_base_is_declared(make):
    score = graded(make(), WATERFALL)
    assert (score.value, score.reason) == (1.0, "all checks pass")
    assert graded(make(), {"type": "column", "series": ["B2:B4", "C2:C4"]}).value == 0.0


@pytest.mark.parametrize("make", WRONG_BASES.values(), ids=WRONG_BASES)
def test_a_waterfall_needs_a_clear_base_under_a_series_with_ink(make):
    score = graded(make(), WATERFALL)
    assert (score.value, score.status) == (0.0, "ok")


@pytest.mark.parametrize(("series", "told"), [
    ([{"values": "B2:B4", "base": True}], "no base"), ([{"values": "B2:B4", "base": "yes"}, "C2:C4"], "true or false"),
])  # fmt: skip
def test_a_base_that_can_be_none_is_an_error(series, told):
    with pytest.raises(UsageError, match=told):
        verikit.xlsx(chart=[{"series": series}])
