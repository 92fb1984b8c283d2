"""Charts of workbooks count by the ranges that they draw and only in sight, whatever program wrote them."""

import io
import random

import pytest

import verikit
from tests.artifacts.books import left, parts_changed
from tests.artifacts.offices import need_office
from tests.artifacts.sheet_charts import charted, drawn, within
from verikit.artifacts.readers import charts as of_charts
from verikit.artifacts.readers import workbook
from verikit.errors import UsageError

pytest.importorskip("openpyxl")

CHART = "xl/charts/chart1.xml"
DRAWING = "xl/drawings/drawing1.xml"
WANTED = {
    "sheet": "Sales", "type": "column", "categories": "A2:A4", "series": [{"values": "Sales!C2:C4", "name": "C1"}],
}  # fmt: skip
PRICES = "'Sales'!$C$2:$C$4"
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
C14 = "http://schemas.microsoft.com/office/drawing/2007/8/2/chart"
EXCEL = (
    f'<mc:AlternateContent {MC}><mc:Choice Requires="c14" xmlns:c14="{C14}"><c14:style val="102"/></mc:Choice>'
    '<mc:Fallback><style val="2"/></mc:Fallback></mc:AlternateContent><chart>'
)
FRAME = "<xdr:graphicFrame>"


def graded(data, *charts, **options):
    return verikit.xlsx(file="*", chart=charts or [WANTED], **options).score([left(data)])[0]


def restyled(book, sheet, chart):
    from openpyxl.chart import BarChart3D

    sheet._charts.clear()
    other = drawn(BarChart3D(), sheet)
    other.title, other.style, other.legend, other.width, other.height = "Prices", 26, None, 9, 5
    sheet.add_chart(other, "A9")


def beside_another(book, sheet, chart):
    from openpyxl.chart import PieChart

    sheet.add_chart(drawn(PieChart(), sheet, 2), "F20")


def on_a_chart_sheet(book, sheet, chart):
    sheet._charts.clear()
    book.create_chartsheet("Picture").add_chart(chart)


def named(formula):
    def make(book, sheet, chart):
        from openpyxl.workbook.defined_name import DefinedName

        book.defined_names["Prices"] = DefinedName("Prices", attr_text=formula)
        chart.series[0].val.numRef.f = "[0]!Prices"

    return make


def over(text):
    def make(book, sheet, chart):
        chart.series[0].val.numRef.f = text

    return make


def split(book, sheet, chart):
    over("(Sales!$C$2:$C$3,Sales!$C$4)")(book, sheet, chart)


def hidden_sheet(book, sheet, chart):
    book.create_sheet("Other")
    book.active = 1
    sheet.sheet_state = "hidden"


def hidden_row(book, sheet, chart):
    sheet.row_dimensions[3].hidden = True


def hidden_row_that_is_drawn(book, sheet, chart):
    hidden_row(book, sheet, chart)
    chart.visible_cells_only = False


def another_series(book, sheet, chart):
    drawn(chart, sheet, 2)


def without_ink(book, sheet, chart):
    chart.series[0].graphicalProperties.noFill = True
    chart.series[0].graphicalProperties.line.noFill = True


def a_line(book, sheet, chart):
    from openpyxl.chart import LineChart

    sheet._charts.clear()
    sheet.add_chart(drawn(LineChart(), sheet), "F2")


def with_line(book, sheet, chart):
    from openpyxl.chart import LineChart

    chart += drawn(LineChart(), sheet, 2)


def a_picture(book, sheet, chart):
    from openpyxl.drawing.image import Image
    from PIL import Image as Pillow

    file = io.BytesIO()
    Pillow.new("RGB", (300, 200), "blue").save(file, "PNG")
    sheet._charts.clear()
    sheet.add_image(Image(file), "F2")


def small(book, sheet, chart):
    chart.width = 0.1


def typed(name, text):
    start, end = text.find("<val>"), text.find("</val>")
    if name != CHART:
        return text
    points = "".join(f'<pt idx="{at}"><v>{value}</v></pt>' for at, value in enumerate((50, 61, 10)))
    return f'{text[:start]}<val><numLit><ptCount val="3"/>{points}</numLit>{text[end:]}'


def in_a_comment(name, text):
    if name == "xl/worksheets/sheet1.xml":
        return text.replace("<drawing", "<!-- </sheetData> <drawing").replace("</worksheet>", "--></worksheet>")
    return text


def only_for_unknown_programs(name, text):
    if name != DRAWING:
        return text
    end = "</xdr:graphicFrame>"
    text = text if FRAME in text else text.replace("<graphicFrame", FRAME[:-1]).replace("</graphicFrame>", end)
    start = text.index("<xdr:graphicFrame")
    choice = f'<mc:AlternateContent {MC}><mc:Choice Requires="c14" xmlns:c14="http://x.example/">'
    return text[:start] + choice + text[start:].replace(end, f"{end}</mc:Choice></mc:AlternateContent>")


def data_elsewhere(name, text):
    return text.replace("</chartSpace>", '<externalData id="rId1"/></chartSpace>') if name == CHART else text


CACHED = '</f><numCache><ptCount val="1"/><pt idx="0"><v>7</v></pt></numCache>'
HONEST = {
    "openpyxl": lambda: charted(),
    "other style": lambda: charted(restyled),
    "Excel's alternatives": lambda: charted(change=within(CHART, ("<chart>", EXCEL))),
    "other numbers are stored": lambda: charted(change=within(CHART, (f"{PRICES}</f>", f"{PRICES}{CACHED}"))),
    "relative references": lambda: charted(over("Sales!C2:C4")),
    "a relative path": lambda: charted(change=within("drawing1.xml.rels", ("/xl/charts", "../charts"))),
    "a name": lambda: charted(named("Sales!$C$2:$C$4")),
    "a split range": lambda: charted(split),
    "next to another chart": lambda: charted(beside_another),
    "a hidden row that is drawn": lambda: charted(hidden_row_that_is_drawn),
}
REFUSED = {
    "other rows": lambda: charted(over("Sales!$C$2:$C$3")),
    "other columns": lambda: charted(column=2),
    "another series": lambda: charted(another_series),
    "a line": lambda: charted(a_line),
    "numbers that are typed in": lambda: charted(change=typed),
    "the right numbers are stored over another range": lambda: charted(column=2, change=within(CHART, (
        "$B$4</f>", CACHED.replace(">7<", ">50<").replace("</f>", "$B$4</f>")))),
    "another workbook": lambda: charted(over("[1]Sales!$C$2:$C$4")),
    "arithmetic": lambda: charted(over("Sales!$C$2:$C$4*1")),
    "data in another file": lambda: charted(change=data_elsewhere),
    "a hidden sheet": lambda: charted(hidden_sheet),
    "a hidden row": lambda: charted(hidden_row),
    "no size": lambda: charted(small),
    "hidden": lambda: charted(change=within(DRAWING, ("<cNvPr ", '<cNvPr hidden="1" '))),
    "no ink": lambda: charted(without_ink),
    "a drawing in a comment": lambda: charted(change=in_a_comment),
    "a chart for unknown programs only": lambda: charted(change=only_for_unknown_programs),
    "the sheet does not show the drawing": lambda: charted(change=within("worksheets/sheet1.xml", (
        "<drawing ", "<nothing "))),
    "the part is missing": lambda: parts_changed(
        charted(), lambda name, content: None if name == CHART else content),
}  # fmt: skip


@pytest.mark.parametrize("make", HONEST.values(), ids=HONEST)
def test_a_chart_of_the_ranges_counts_in_any_style(make):
    score = graded(make())
    assert (score.value, score.reason) == (1.0, "all checks pass")


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_a_chart_of_something_else_or_out_of_sight_does_not_count(make):
    score = graded(make())
    assert (score.value, score.status) == (0.0, "ok"), score.reason


def test_a_picture_of_a_chart_is_no_chart():
    pytest.importorskip("PIL")
    assert "no chart" in graded(charted(a_picture)).reason


def test_sheets_with_quotes_and_chart_sheets_are_found():
    data = charted(title="My 'own' sales")
    assert graded(data, {"sheet": "my 'own' sales", "series": ["'My ''own'' sales'!C2:C4"]}).value == 1.0
    data = charted(on_a_chart_sheet)
    assert graded(data, {**WANTED, "sheet": "Picture"}).value == 1.0
    assert graded(data).value == 0.0


def test_series_of_a_combined_chart_have_types_of_their_own():
    data = charted(with_line)
    both = [{"type": "line", "values": "B2:B4"}, {"type": "column", "values": "C2:C4"}]
    assert graded(data, {"series": both}).value == 1.0
    assert graded(data, {"type": ["column", "line"], "series": ["C2:C4", "B2:B4"]}).value == 1.0
    assert graded(data, {"type": "column", "series": ["C2:C4", "B2:B4"]}).value == 0.0
    assert graded(data, {"type": "column", "series": ["C2:C4"]}).value == 0.0


@pytest.mark.slow(seconds=6)
def test_charts_that_libreoffice_saved_again_count():
    need_office()
    from verikit.artifacts.office import convert

    for data in convert.converted([charted(), charted(named("Sales!$C$2:$C$4"))], "xlsx", "xlsx"):
        assert graded(data).value == 1.0
        assert graded(data, {"series": ["C2:C3"]}).value == 0.0


@pytest.mark.parametrize("chart", [
    {}, {"series": "C2:C4"}, {"series": ["nothing here"]}, {"series": ["C:C"]}, {"type": "cake", "series": ["C2:C4"]},
    {"series": [{"name": "C1"}]}, {"series": ["C2:C4"], "colour": "red"}, {"series": [{"values": "C2", "colour": 1}]},
])  # fmt: skip
def test_charts_that_make_no_sense_are_refused(chart):
    with pytest.raises(UsageError):
        verikit.xlsx(chart=[chart])


REQUEST = {"cells": [], "model": [], "charts": True, "pivots": True}


def damaged(data, seed, parts):
    """A file with a few characters of some parts replaced, and attributes of any value."""
    draw = random.Random(seed)
    wrong = ("", "-1", "9" * 30, "x", "NaN", "A1:XFD1048576", "\u0664", "'", "[1]S!A1", "((((", "Sales!A1,", "nan",
             "inf", "-inf")  # fmt: skip

    def change(name, content):
        if not any(part in name for part in parts):
            return content
        pieces = content.decode().split('="')
        for place in range(1, len(pieces)):
            if draw.random() < 0.1 and "http" not in pieces[place]:
                pieces[place] = draw.choice(wrong) + pieces[place][pieces[place].index('"') :]
        text = '="'.join(pieces)
        if draw.random() < 0.5:
            at = draw.randrange(len(text))
            text = text[:at] + draw.choice(("<f>", "", ">", "$", "</", "&#1;")) + text[at + draw.randrange(4) :]
        return text.encode()

    return parts_changed(data, change)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_charts_are_read_or_refused(seed):
    told = workbook.read([damaged(charted(split), seed, ("charts/", "drawings/"))], REQUEST)
    assert "refused" in told or isinstance(told["charts"], list)


def test_very_many_charts_and_series_are_refused_before_they_are_work(monkeypatch):
    monkeypatch.setattr(of_charts, "MOST_SERIES", 3)
    series = "<ser><val><numRef><f>Sales!A1</f></numRef></val></ser>" * 4
    data = charted(change=within(CHART, ("</barChart>", f"{series}</barChart>")))
    assert "series" in workbook.read([data], REQUEST)["refused"]


def test_alternatives_in_alternatives_without_end_are_refused():
    deep = 3000
    start = f"<mc:AlternateContent {MC}><mc:Fallback>" * deep
    end = "</mc:Fallback></mc:AlternateContent>" * deep
    data = charted(change=within(CHART, ("<plotArea>", f"{start}<plotArea>"), ("</plotArea>", f"</plotArea>{end}")))
    assert "alternatives" in workbook.read([data], REQUEST)["refused"]
