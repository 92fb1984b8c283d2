"""Where the drawing of a sheet has charts, and why people do not see them there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from verikit.artifacts.readers.alternatives import XDR, Ambiguous, check_alike, only
from verikit.artifacts.readers.hidden import column_hidden, row_hidden
from verikit.artifacts.readers.reach import OpenWorkbook
from verikit.artifacts.readers.references import MOST_COLUMNS, MOST_ROWS
from verikit.artifacts.readers.sheet_parts import SheetPart, drawing_of
from verikit.artifacts.readers.slides.package import A, C, Element, Package, R, truth, whole

_ANCHORS = {f"{XDR}{name}" for name in ("twoCellAnchor", "oneCellAnchor", "absoluteAnchor")}
_SMALL = 360_000
"""EMU (one centimetre). A chart of less width or height shows nothing."""
_SMALL_SHARE = 0.05
"""Of a group's width or height."""
_MOST_LOOKED_AT = 2000
"""Rows or columns that are searched for visible ones."""
MOST_AWAY = 1000, 200
"""Rows and columns between the last cell of a sheet and a chart that people find. The same holds for pivot tables."""
_COLUMN, _ROW = 64 * 9525, 15 * 12700
"""Usual width and height in EMU."""
_USUAL_HEIGHT = 15.0
"""In points."""


class ChartFrame(NamedTuple):
    """A chart of a drawing."""

    part: str
    hidden: str
    """Why nobody sees it; empty if people do."""


class _Group(NamedTuple):
    """The coordinates that a group gives its members: along x and along y."""

    starts: tuple[int, int]
    sizes: tuple[int, int]
    shares: tuple[float, float]
    """The fractions of the anchor's sides that the group fills."""


def frames(package: Package, sheet: SheetPart, book: OpenWorkbook) -> Iterator[ChartFrame]:
    """The frames of charts in a sheet's drawing."""
    drawing = drawing_of(package, sheet)
    root, relations = package.tree(drawing), package.relations(drawing)
    cells = None if sheet.is_chart else book.sheets.get(sheet.title)
    end = _end(cells)
    for anchor in root if root is not None else ():
        for chart, hidden in _charts_of(anchor, cells, end):
            relation = relations.get(chart.get(f"{R}id", ""))
            if relation is not None and relation.kind == "chart":
                yield ChartFrame(relation.target, hidden)


def _charts_of(anchor: Element, cells: Any, end: tuple[int, int]) -> list[tuple[Element, str]]:
    """The charts of an anchor, and why they are hidden."""
    try:
        check_alike(anchor)
        lost = _lost(anchor, cells, end) if cells is not None else ""
        return [*_graphic_frames(anchor, lost)] if anchor.tag in _ANCHORS else []
    except Ambiguous as problem:
        return [(chart, str(problem)) for chart in anchor.iter(f"{C}chart")]


def _end(sheet: Any) -> tuple[int, int]:
    """The first row and column in which people do not find a chart; counted from 0."""
    if sheet is None:
        return 0, 0
    return min(sheet.max_row + MOST_AWAY[0], MOST_ROWS), min(sheet.max_column + MOST_AWAY[1], MOST_COLUMNS)


def _graphic_frames(anchor: Element, lost: str) -> Iterator[tuple[Element, str]]:
    """The charts in the frames of an anchor and of its groups, and why these are hidden."""
    pending: list[tuple[Element, str, _Group | None]] = [(anchor, lost, None)]
    while pending:
        parent, hidden, group = pending.pop()
        for element in parent:
            if element.tag == f"{XDR}grpSp":
                transform = only(element, f"{XDR}grpSpPr", f"{A}xfrm")
                shares = _shares(transform, group)
                why = hidden or _unseen(element, "nvGrpSpPr") or _too_small(shares)
                pending.append((element, why, _Group(*_box(transform, "chOff", "chExt"), shares)))
            elif element.tag == f"{XDR}graphicFrame":
                why = hidden or _too_small(_shares(only(element, f"{XDR}xfrm"), group))
                data = only(element, f"{A}graphic", f"{A}graphicData")
                chart = only(data, f"{C}chart")
                if data is not None and chart is not None and data.get("uri") == C[1:-1]:
                    yield chart, why or _unseen(element, "nvGraphicFramePr")


def _unseen(element: Element, properties: str) -> str:
    about = only(element, f"{XDR}{properties}", f"{XDR}cNvPr")
    return "it is hidden" if truth(about, "hidden") else ""


def _too_small(shares: tuple[float, float]) -> str:
    return "it has almost no size" if min(shares) < _SMALL_SHARE else ""


def _box(transform: Element | None, start: str, size: str) -> tuple[tuple[int, int], tuple[int, int]]:
    corner, extent = only(transform, f"{A}{start}"), only(transform, f"{A}{size}")
    return (whole(corner, "x"), whole(corner, "y")), (whole(extent, "cx"), whole(extent, "cy"))


def _shares(transform: Element | None, group: _Group | None) -> tuple[float, float]:
    """The fractions of the anchor's sides that a member of a group fills; 0 if it is beside its group."""
    if group is None:
        return 1.0, 1.0
    starts, sizes = _box(transform, "off", "ext")
    along_x, along_y = (
        _share(start - first, size, room) * share
        for start, size, first, room, share in zip(starts, sizes, *group, strict=True)
    )
    return along_x, along_y


def _share(start: int, size: int, room: int) -> float:
    slack = room / 20
    return size / room if room > 0 and -slack <= start and start + size <= room + slack else 0.0


def _lost(anchor: Element, sheet: Any, end: tuple[int, int]) -> str:
    """Why people do not find a chart on its sheet, or why its anchor leaves it no room; empty if they see it."""
    extent, place, start = (only(anchor, f"{XDR}{name}") for name in ("ext", "pos", "from"))
    row, column = _number(start, "row"), _number(start, "col")
    if place is not None:
        row, column = whole(place, "y") // _ROW, whole(place, "x") // _COLUMN
    if row >= end[0] or column >= end[1]:
        return "it is far from the cells"
    if extent is None:
        sides = [_span(anchor, "col", lambda column: _width(sheet, column)),
                 _span(anchor, "row", lambda row: _height(sheet, row))]  # fmt: skip
    else:
        sides = [whole(extent, "cx"), whole(extent, "cy")]
        if place is not None and min(whole(place, "x") + sides[0], whole(place, "y") + sides[1]) < _SMALL:
            return "it is beside the sheet"
    return "it has almost no size" if min(sides) < _SMALL else ""


def _number(corner: Element | None, name: str) -> int:
    found = only(corner, f"{XDR}{name}")
    text = (found.text or "").strip() if found is not None else "0"
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= 12 else 0


def _span(anchor: Element, axis: str, size: Any) -> int:
    """The distance between the corners of an anchor along an axis in EMU, or enough of it."""
    start, end = only(anchor, f"{XDR}from"), only(anchor, f"{XDR}to")
    first, last = max(_number(start, axis), 0), _number(end, axis)
    length = _offset(end, axis, size(last + 1)) - _offset(start, axis, size(first + 1))
    for line in range(first + 1, min(last, first + _MOST_LOOKED_AT) + 1):
        if length >= 10 * _SMALL:
            break
        length += size(line)
    return length


def _offset(corner: Element | None, axis: str, size: int) -> int:
    """The place of a corner in its cell, at most the cell's own size."""
    return max(0, min(_number(corner, f"{axis}Off"), size))


def _width(sheet: Any, column: int) -> int:
    if column_hidden(sheet, column):
        return 0
    for dimension in sheet.column_dimensions.values():
        if (dimension.min or 0) <= column <= (dimension.max or 0) and _is_size(dimension.width):
            return _in_emu(dimension.width)
    usual = sheet.sheet_format.defaultColWidth
    return _in_emu(usual) if _is_size(usual) else _COLUMN


def _in_emu(width: float) -> int:
    return int((min(width, 255) * 7 + 5) * 9525)


def _height(sheet: Any, row: int) -> int:
    if row_hidden(sheet, row):
        return 0
    height = sheet.row_dimensions[row].height if row in sheet.row_dimensions else sheet.sheet_format.defaultRowHeight
    return int((min(height, 409) if _is_size(height) else _USUAL_HEIGHT) * 12700)


def _is_size(size: float | None) -> bool:
    """Whether a width or height is set to a number: a file may also say `nan` or `inf`."""
    return bool(size) and math.isfinite(size or 0.0)
