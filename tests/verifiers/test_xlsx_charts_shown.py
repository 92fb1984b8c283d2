"""Charts that a workbook, its sheets or their own definition keep out of sight do not count."""

import pytest

from tests.artifacts.sheet_charts import charted, drawn
from tests.verifiers.test_xlsx_charts import CHART, DRAWING, graded
from tests.verifiers.test_xlsx_charts_hostile import SHEET, between_corners, replaced
from tests.verifiers.test_xlsx_charts_in_sight import A
from tests.verifiers.test_xlsx_pivots import crossed
from tests.verifiers.test_xlsx_pivots import graded as graded_pivot

pytest.importorskip("openpyxl")

FILTER = (
    '<extLst><ext uri="x" xmlns:c15="http://schemas.microsoft.com/office/drawing/2012/chart">'
    "<c15:categoryFilterExceptions><c15:categoryFilterException/></c15:categoryFilterExceptions></ext></extLst></ser>"
)


@pytest.mark.parametrize(("part", "old", "new"), [
    ("xl/workbook.xml", "<workbookPr ?/>", '<workbookPr showObjects="none"/>'),
    (CHART, "(?=<chart>)", '<pivotSource><name>P</name><fmtId val="0"/></pivotSource>'),
    (CHART, "</ser>", FILTER), (DRAWING, 'uri="[^"]*"', 'uri="http://x.example"'),
])  # fmt: skip
def test_charts_that_show_other_data_or_none_do_not_count(part, old, new):
    assert graded(replaced(charted(), part, (old, new))).value == 0.0


@pytest.mark.parametrize("change", [
    [("<cols>.*?</cols>", ""), ("<sheetFormatPr ", '<sheetFormatPr defaultColWidth="0.01" ')],
    [("<col [^>]*>", '<col min="6" max="30" width="0"/>')],
])  # fmt: skip
def test_charts_over_columns_without_width_do_not_count(change):
    assert graded(between_corners()).value == 1.0
    assert graded(replaced(between_corners(), SHEET, *change)).value == 0.0


def test_pivot_tables_in_columns_without_width_do_not_count():
    sheet = SHEET.replace("1.xml", "2.xml")
    for width, value in (("0.01", 0.0), ("9", 1.0)):
        data = replaced(crossed(), sheet, ("<sheetFormatPr ", f'<sheetFormatPr defaultColWidth="{width}" '))
        assert graded_pivot(data).value == value


@pytest.mark.parametrize(("style", "value"), [("filled", 0.0), ("standard", 1.0)])
def test_filled_radars_need_a_fill(style, value):
    def radar(book, sheet, chart):
        from openpyxl.chart import RadarChart

        sheet._charts.clear()
        other = RadarChart()
        other.type = style
        sheet.add_chart(drawn(other, sheet), "F2")

    data = replaced(charted(radar), CHART, ("<spPr>.*?</spPr>", f"<spPr {A}><a:noFill/></spPr>"))
    assert graded(data, {"type": "radar", "series": ["C2:C4"]}).value == value
