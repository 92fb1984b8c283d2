"""Colours, axes and plot areas of charts: what people see counts, whatever form its colour has."""

import pytest

from tests.artifacts.sheet_charts import charted, drawn
from tests.verifiers.test_xlsx_charts import CHART, graded
from tests.verifiers.test_xlsx_charts_hostile import replaced
from tests.verifiers.test_xlsx_charts_in_sight import A, filled, red, solid
from verikit.artifacts.readers import ink

pytest.importorskip("openpyxl")

THEME = "xl/theme/theme1.xml"
STOCK = {"type": "stock", "series": ["B2:B4", "C2:C4", "B2:B4"]}
SCATTER = {"type": "scatter", "categories": "B2:B4", "series": ["C2:C4"]}


def scheme(name, *changes):
    return solid(("schemeClr", name), "".join(f'<a:{kind} val="{value}"/>' for kind, value in changes))


def coloured(inner):
    return filled(f"<a:solidFill>{inner}</a:solidFill>")


def white_theme(data, names="accent1"):
    return replaced(data, THEME, (rf'(<a:{names}>.*?val=")[0-9A-Fa-f]{{6}}', r"\g<1>FFFFFF"))


def plain():
    """A series without any word on its colour."""
    return replaced(charted(), CHART, ("<spPr>.*?</spPr>", ""))


def placed(x, y, width, height, mode="factor"):
    sides = f'<x val="{x}"/><y val="{y}"/><w val="{width}"/><h val="{height}"/>'
    modes = f'<xMode val="edge"/><yMode val="edge"/><wMode val="{mode}"/><hMode val="{mode}"/>'
    layout = f"<layout><manualLayout>{modes}{sides}</manualLayout></layout>"
    return replaced(charted(), CHART, ("<plotArea>(<layout ?/>)?", f"<plotArea>{layout}"))


def stacked(grouping):
    def make(book, sheet, chart):
        chart.grouping, chart.y_axis.scaling.min, chart.y_axis.scaling.max = grouping, 0, 1

    return charted(make)


def stock(between):
    """A stock chart whose own lines are not drawn."""

    def make(book, sheet, chart):
        from openpyxl.chart import StockChart

        sheet._charts.clear()
        other = StockChart()
        for column in (2, 3, 2):
            drawn(other, sheet, column)
        for series in other.series:
            series.graphicalProperties.line.noFill, series.marker.symbol = True, "none"
        sheet.add_chart(other, "F2")

    return replaced(charted(make), CHART, ("(?<=</ser>)(?=<axId)", between))


def scatter(low, high):
    def make(book, sheet, chart):
        from openpyxl.chart import Reference, ScatterChart, Series

        sheet._charts.clear()
        values, places = (Reference(sheet, min_col=column, min_row=2, max_row=4) for column in (3, 2))
        other = ScatterChart()
        other.series.append(Series(values, places, title="x"))
        other.x_axis.scaling.min, other.x_axis.scaling.max = low, high
        sheet.add_chart(other, "F2")

    return charted(make)


def dated(low, high):
    def make(book, sheet, chart):
        from openpyxl.chart.axis import DateAxis

        chart.x_axis = DateAxis(crossAx=100)
        chart.x_axis.scaling.min, chart.x_axis.scaling.max = low, high

    return charted(make)


RED = 'r="100000" g="0" b="0"'
SEEN = {
    "grey": lambda: graded(filled(solid(("srgbClr", "D9D9D9")))),
    "pale blue": lambda: graded(filled(solid(("srgbClr", "DDEBF7")))),
    "paler blue": lambda: graded(filled(solid(("srgbClr", "D9E1F2")))),
    "hsl": lambda: graded(coloured('<a:hslClr hue="0" sat="100000" lum="50000"/>')),
    "scrgb": lambda: graded(coloured(f"<a:scrgbClr {RED}/>")),
    "a preset": lambda: graded(coloured('<a:prstClr val="tomato"/>')),
    "a lighter accent": lambda: graded(filled(scheme("accent1", ("lumMod", 40000), ("lumOff", 60000)))),
    "no colour": lambda: graded(plain()),
    "all of 100%": lambda: graded(stacked("percentStacked")),
    "a smaller plot area": lambda: graded(placed(0.1, 0.1, 0.5, 0.5)),
    "points on the x axis": lambda: graded(scatter(0, 5), SCATTER),
    "order on an axis of dates": lambda: graded(dated(0, 10)),
}
UNSEEN = {
    "tinted to white": lambda: graded(filled(red('<a:tint val="0"/>'))),
    "inverse": lambda: graded(coloured('<a:srgbClr val="000000"><a:inv/></a:srgbClr>')),
    "all light": lambda: graded(filled(red('<a:lum val="100000"/>'))),
    "white made darker and lighter": lambda: graded(filled(scheme("bg1", ("lumMod", 50000), ("lumOff", 50000)))),
    "white hsl": lambda: graded(coloured('<a:hslClr hue="0" sat="0" lum="100000"/>')),
    "white scrgb": lambda: graded(coloured('<a:scrgbClr r="100000" g="100000" b="100000"/>')),
    "the white of the system": lambda: graded(coloured('<a:sysClr val="window" lastClr="000000"/>')),
    "a white preset": lambda: graded(coloured('<a:prstClr val="ghostWhite"/>')),
    "changes beyond those that are read": lambda: graded(filled(red('<a:alpha val="100000"/>' * 20 + (
        '<a:alpha val="0"/>')))),
    "a white accent": lambda: graded(white_theme(filled(scheme("accent1")))),
    "a white accent as the usual colour": lambda: graded(white_theme(plain())),
    "colours under other names": lambda: graded(replaced(filled(scheme("tx1")), CHART, (
        "(?=<chart>)", '<clrMapOvr bg1="dk1" tx1="lt1"/>'))),
    "not stacked": lambda: graded(stacked("clustered")),
    "no width": lambda: graded(placed(0.1, 0.1, 0.0001, 0.5)),
    "no height": lambda: graded(placed(0.1, 0.1, 0.5, 0.0001)),
    "equal edges": lambda: graded(placed(0.5, 0.1, 0.5, 0.5, mode="edge")),
    "beside the chart": lambda: graded(placed(1.5, 0.1, 0.5, 0.5)),
    "a size that is no number": lambda: graded(placed(0.1, 0.1, "nan", 0.5)),
    "an x axis beyond all points": lambda: graded(scatter(1000, 2000), SCATTER),
    "an axis of dates beyond all": lambda: graded(dated(90_000, 90_010)),
}  # fmt: skip


@pytest.mark.parametrize("score", SEEN.values(), ids=SEEN)
def test_colours_and_axes_that_are_seen_count(score):
    assert (score().value, score().reason) == (1.0, "all checks pass")


@pytest.mark.parametrize("score", UNSEEN.values(), ids=UNSEEN)
def test_colours_and_axes_that_show_nothing_do_not_count(score):
    assert (score().value, score().status) == (0.0, "ok")


def test_stock_charts_need_ink_only_between_their_series():
    invisible = f"<hiLowLines><spPr {A}><a:ln><a:noFill/></a:ln></spPr></hiLowLines>"
    bars = "<upDownBars><upBars/><downBars/></upDownBars>"
    lines = "<hiLowLines/>"
    assert [graded(stock(one), STOCK).value for one in (lines, bars, invisible, "<!-- -->")] == [1.0, 1.0, 0.0, 0.0]


def test_a_workbook_without_a_theme_has_the_accents_of_office():
    class Nothing:
        def related(self, name, kind):
            return ""

        def tree(self, name):
            return None

    palette = ink.palette_of(Nothing(), None)
    assert palette.named("accent1") is not None
