"""Reads the charts of a workbook in the sandbox: types, ranges of series, and why they are out of sight.

Numbers that a chart part stores are ignored: programs read the cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from verikit.artifacts.readers import container
from verikit.artifacts.readers.hidden import column_hidden, row_hidden
from verikit.artifacts.readers.reach import OpenWorkbook
from verikit.artifacts.readers.references import MOST_COLUMNS, MOST_ROWS, reference
from verikit.artifacts.readers.sheet_parts import SheetPart, areas, children, drawing_of, sheet_parts
from verikit.artifacts.readers.slides.package import A, C, Element, Package, R, truth, whole

XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
MOST_CHARTS = 500
MOST_SERIES = 5000
"""Of all charts."""
_TYPES = {
    "area": "area", "area3D": "area", "bar": "", "bar3D": "", "bubble": "bubble", "doughnut": "doughnut",
    "line": "line", "line3D": "line", "ofPie": "pie", "pie": "pie", "pie3D": "pie", "radar": "radar",
    "scatter": "scatter", "stock": "stock", "surface": "surface", "surface3D": "surface",
}  # fmt: skip
"""Types by their elements. Bars are columns or bars."""
_LINES = ("line", "scatter", "radar", "stock")
_ANCHORS = ("twoCellAnchor", "oneCellAnchor", "absoluteAnchor")
_SMALL = 180_000
"""EMU (half a centimetre). A chart of less width or height shows nothing."""
_MOST_LOOKED_AT = 2000
"""Rows or columns that are searched for visible ones."""


class _Frame(NamedTuple):
    part: str
    hidden: str


def charts(package: Package, book: OpenWorkbook) -> list[dict[str, Any]]:
    """All charts of all sheets.

    Raises:
        BadContainer: A part is not XML or too large, or there are more charts than any program draws.
    """
    found: list[dict[str, Any]] = []
    series = 0
    for sheet in sheet_parts(package):
        for frame in _frames(package, sheet, book):
            one = _Chart(package, sheet, frame, book)
            if one.root is None:
                continue
            found.append({"sheet": sheet.title, "hidden": one.hidden(), "series": one.series()})
            series += len(found[-1]["series"])
            if len(found) > MOST_CHARTS or series > MOST_SERIES:
                raise container.BadContainer(f"more than {MOST_CHARTS} charts or {MOST_SERIES} series are not read")
    return found


def _frames(package: Package, sheet: SheetPart, book: OpenWorkbook) -> Iterator[_Frame]:
    """The frames of charts in a sheet's drawing, and why they are hidden."""
    drawing = drawing_of(package, sheet)
    content, relations = package.content(drawing), package.relations(drawing)
    for anchor in children(package.tree(drawing), content):
        if anchor.tag.removeprefix(XDR) not in _ANCHORS:
            continue
        small = "" if sheet.is_chart else _size(anchor, book.sheets.get(sheet.title))
        for frame, hidden in _graphic_frames(anchor, content, small):
            chart = frame.find(f"{A}graphic/{A}graphicData/{C}chart")
            relation = relations.get(chart.get(f"{R}id", "")) if chart is not None else None
            if relation is not None and relation.kind == "chart":
                yield _Frame(relation.target, hidden or _unseen(frame, "nvGraphicFramePr"))


def _graphic_frames(anchor: Element, content: bytes, hidden: str) -> Iterator[tuple[Element, str]]:
    """The frames of an anchor and of its groups, and why these are hidden."""
    pending = [(child, hidden) for child in children(anchor, content)]
    while pending:
        element, hidden = pending.pop(0)
        if element.tag == f"{XDR}grpSp":
            hidden = hidden or _unseen(element, "nvGrpSpPr")
            pending += [(child, hidden) for child in children(element, content)]
        elif element.tag == f"{XDR}graphicFrame":
            yield element, hidden


def _unseen(element: Element, properties: str) -> str:
    about = element.find(f"{XDR}{properties}/{XDR}cNvPr")
    return "it is hidden" if truth(about, "hidden") else ""


def _size(anchor: Element, sheet: Any) -> str:
    """Why an anchor leaves a chart no room on its sheet; empty if it does."""
    extent = anchor.find(f"{XDR}ext")
    if extent is not None:
        sides = [whole(extent, "cx"), whole(extent, "cy")]
        place = anchor.find(f"{XDR}pos")
        if place is not None and min(whole(place, "x") + sides[0], whole(place, "y") + sides[1]) < _SMALL:
            return "it is beside the sheet"
    elif sheet is None:
        return ""
    else:
        sides = [_span(anchor, "col", lambda column: _width(sheet, column)),
                 _span(anchor, "row", lambda row: _height(sheet, row))]  # fmt: skip
    start = anchor.find(f"{XDR}from")
    if start is not None and (_number(start, "col") >= MOST_COLUMNS or _number(start, "row") >= MOST_ROWS):
        return "it is beside the sheet"
    return "it has almost no size" if min(sides) < _SMALL else ""


def _number(corner: Element | None, name: str) -> int:
    text = corner.findtext(f"{XDR}{name}", "0").strip() if corner is not None else "0"
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= 12 else 0


def _span(anchor: Element, axis: str, size: Any) -> int:
    """The distance between the corners of an anchor along an axis in EMU, or enough of it."""
    start, end = anchor.find(f"{XDR}from"), anchor.find(f"{XDR}to")
    first, last = max(_number(start, axis), 0), _number(end, axis)
    length = _number(end, f"{axis}Off") - _number(start, f"{axis}Off")
    for line in range(first + 1, min(last, first + _MOST_LOOKED_AT) + 1):
        if length >= 10 * _SMALL:
            break
        length += size(line)
    return length


def _width(sheet: Any, column: int) -> int:
    if column_hidden(sheet, column):
        return 0
    for dimension in sheet.column_dimensions.values():
        if (dimension.min or 0) <= column <= (dimension.max or 0) and dimension.width:
            return int((min(dimension.width, 255) * 7 + 5) * 9525)
    return 64 * 9525


def _height(sheet: Any, row: int) -> int:
    if row_hidden(sheet, row):
        return 0
    height = sheet.row_dimensions[row].height if row in sheet.row_dimensions else sheet.sheet_format.defaultRowHeight
    return int(min(height or 15, 409) * 12700)


class _Chart:
    """One chart of a sheet."""

    def __init__(self, package: Package, sheet: SheetPart, frame: _Frame, book: OpenWorkbook) -> None:
        self._content, self._sheet, self._frame, self._book = package.content(frame.part), sheet, frame, book
        self.root = package.tree(frame.part)
        self._plain = next((one for one in self._children(self.root) if one.tag == f"{C}chart"), None)
        visible_only = self._plain.find(f"{C}plotVisOnly") if self._plain is not None else None
        self._visible_only = truth(visible_only, "val", default=True)

    def _children(self, element: Element | None) -> Iterator[Element]:
        return children(element, self._content)

    def hidden(self) -> str:
        """Why nobody sees the chart as it is described; empty if people do."""
        if self._sheet.state != "visible":
            return "its sheet is hidden"
        if any(one.tag == f"{C}externalData" for one in self._children(self.root)):
            return "its data are in another file"
        return self._frame.hidden

    def series(self) -> list[dict[str, Any]]:
        """The series of all plots."""
        found = []
        for plot in self._plots():
            kind = plot.tag.removeprefix(C).removesuffix("Chart")
            if plot.tag.startswith(C) and kind in _TYPES:
                kind = _TYPES[kind] or ("bar" if _value(plot, "barDir") == "bar" else "column")
                found += [self._one(one, kind) for one in self._children(plot) if one.tag == f"{C}ser"]
            if len(found) > MOST_SERIES:
                raise container.BadContainer(f"more than {MOST_SERIES} series are not read")
        return found

    def _plots(self) -> Iterator[Element]:
        for area in self._children(self._plain):
            if area.tag == f"{C}plotArea":
                yield from self._children(area)

    def _one(self, series: Element, kind: str) -> dict[str, Any]:
        across = kind in ("scatter", "bubble")
        parts = {"values": "yVal" if across else "val", "categories": "xVal" if across else "cat", "name": "tx"}
        told: dict[str, Any] = {"type": kind, "problem": ""}
        for name, tag in parts.items():
            told[name], problem = areas(self._book, self._sheet.title, _formula(series.find(f"{C}{tag}")))
            told["problem"] = told["problem"] or problem
        told["hidden"] = _invisible(series, kind) or self._left_out(told["values"])
        return told

    def _left_out(self, values: list[str]) -> str:
        """Whether hidden rows or columns take points away."""
        for name in values if self._visible_only else ():
            area = reference(name)
            if area is None:
                continue
            sheet = [*self._book.sheets.values()][int(area.sheet[1:]) - 1]
            rows, columns = range(area.top, area.bottom + 1), range(area.left, area.right + 1)
            if any(row_hidden(sheet, row) for row in rows) or any(column_hidden(sheet, one) for one in columns):
                return "it leaves out hidden cells"
        return ""


def _value(element: Element, name: str) -> str:
    found = element.find(f"{C}{name}")
    return found.get("val", "") if found is not None else ""


def _formula(source: Element | None) -> str:
    """The reference of a source of data. Empty for numbers and names that are typed in."""
    for kind in ("numRef", "strRef", "multiLvlStrRef"):
        found = source.findtext(f"{C}{kind}/{C}f") if source is not None else None
        if found is not None:
            return found[:8192]
    return ""


def _invisible(series: Element, kind: str) -> str:
    """Whether a series is drawn without any ink."""
    shape = series.find(f"{C}spPr")
    if shape is None:
        return ""
    line = shape.find(f"{A}ln")
    no_line = line is not None and line.find(f"{A}noFill") is not None
    if kind in _LINES:
        marker = series.find(f"{C}marker")
        bare = marker is not None and _value(marker, "symbol") == "none"
        return "a series has neither line nor markers" if no_line and bare else ""
    empty = shape.find(f"{A}noFill") is not None
    return "a series has neither colour nor outline" if empty and (line is None or no_line) else ""
