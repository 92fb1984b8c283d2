"""Reads the charts of a workbook in the sandbox: types, ranges of series, and why they are out of sight.

Numbers that a chart part stores are ignored: programs read the cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from verikit.artifacts.readers import container
from verikit.artifacts.readers.alternatives import Ambiguous, S, check_alike, only
from verikit.artifacts.readers.anchors import ChartFrame, frames
from verikit.artifacts.readers.hidden import has_hidden
from verikit.artifacts.readers.ink import Inks, ground_of, palette_of
from verikit.artifacts.readers.reach import Content, OpenWorkbook
from verikit.artifacts.readers.references import CellArea, letters, reference
from verikit.artifacts.readers.sheet_parts import SheetPart, areas, sheet_parts
from verikit.artifacts.readers.slides.package import C, Element, Package, truth, whole

MOST_CHARTS = 500
MOST_SERIES = 5000
"""Of all charts."""
_TYPES = {
    "area": "area", "area3D": "area", "bar": "", "bar3D": "", "bubble": "bubble", "doughnut": "doughnut",
    "line": "line", "line3D": "line", "ofPie": "pie", "pie": "pie", "pie3D": "pie", "radar": "radar",
    "scatter": "scatter", "stock": "stock", "surface": "surface", "surface3D": "surface",
}  # fmt: skip
"""Types by their elements. Bars are columns or bars."""
_SOURCES = [f"{C}{name}" for name in ("numRef", "strRef", "multiLvlStrRef", "numLit", "strLit", "v", "rich")]
"""Forms of the data of a series, of which it has one."""
_FILTERED = "{http://schemas.microsoft.com/office/drawing/2012/chart}categoryFilterException"
_PROPERTIES = "{http://schemas.openxmlformats.org/officeDocument/2006/extended-properties}"
_SCALES = {f"{C}valAx", f"{C}dateAx"}
_ACROSS = ("scatter", "bubble")
"""Types whose series have x values of their own."""
_STACKED = ("area", "bar", "column")
_Limits = tuple[float, float]
_ANY: _Limits = (-math.inf, math.inf)
_SMALL_SHARE = 0.05
"""Of a chart's width or height."""
_MOST_POINTS = 20_000
"""Of a series whose axis is looked at."""


def charts(package: Package, book: OpenWorkbook) -> list[dict[str, Any]]:
    """All charts of all sheets.

    Raises:
        BadContainer: A part is not XML or too large, or there are more charts than any program draws.
    """
    found: list[dict[str, Any]] = []
    series = 0
    main = package.tree(package.related("", "officeDocument"))
    shown = main is None or all(one.get("showObjects") != "none" for one in main.iterfind(f"{S}workbookPr"))
    for sheet in sheet_parts(package) if shown else ():
        for frame in frames(package, sheet, book):
            root = package.tree(frame.part)
            if root is None:
                continue
            found.append({"sheet": sheet.title, **_told(package, sheet, frame, root, book)})
            series += len(found[-1]["series"])
            if len(found) > MOST_CHARTS or series > MOST_SERIES:
                raise container.BadContainer(f"more than {MOST_CHARTS} charts or {MOST_SERIES} series are not read")
    return found


def _told(package: Package, sheet: SheetPart, frame: ChartFrame, root: Element, book: OpenWorkbook) -> dict[str, Any]:
    """Why a chart is hidden, and its series."""
    try:
        check_alike(root)
        palette = palette_of(package, root)
        inks = Inks(palette, ground_of(palette, root))
        one = _Chart(sheet, frame, root, inks, book, visible_only=_leaves_out_hidden(package, root))
        return {"hidden": one.hidden(), "series": one.series()}
    except Ambiguous as problem:
        return {"hidden": str(problem), "series": []}


def _leaves_out_hidden(package: Package, root: Element) -> bool:
    """Whether some program leaves out hidden cells of a chart.

    Excel shows them if the chart says nothing. LibreOffice does so only in files of Excel 2007, and so in XlsxWriter's.
    """
    stated = only(root, f"{C}chart", f"{C}plotVisOnly")
    return truth(stated, "val", default=True) if stated is not None else not _is_of_excel_2007(package)


def _is_of_excel_2007(package: Package) -> bool:
    parts = [one.target for one in package.relations("").values() if one.kind == _PROPERTIES.rpartition("/")[2][:-1]]
    properties = package.tree(parts[0]) if len(parts) == 1 else None
    program, version = (only(properties, f"{_PROPERTIES}{name}") for name in ("Application", "AppVersion"))
    stated = [(one.text or "") if one is not None else "" for one in (program, version)]
    return stated[0] == "Microsoft Excel" and stated[1].startswith("12.")


class _Chart:
    """One chart of a sheet."""

    def __init__(
        self,
        sheet: SheetPart,
        frame: ChartFrame,
        root: Element,
        inks: Inks,
        book: OpenWorkbook,
        *,
        visible_only: bool,
    ) -> None:
        self._sheet, self._frame, self._root, self._inks, self._book = sheet, frame, root, inks, book
        self._visible_only = visible_only
        area = only(root, f"{C}chart", f"{C}plotArea")
        self._plots = [*area] if area is not None else []

    def hidden(self) -> str:
        """Why nobody sees the chart as it is described; empty if people do."""
        if self._sheet.state != "visible":
            return "its sheet is hidden"
        if self._root.find(f"{C}externalData") is not None:
            return "its data are in another file"
        if self._root.find(f"{C}pivotSource") is not None:
            return "its data come from a pivot table"
        squeezed = any(_is_squeezed(one) for one in self._plots if one.tag == f"{C}layout")
        return self._frame.hidden or ("its plot area has almost no size" if squeezed else "")

    def series(self) -> list[dict[str, Any]]:
        """The series of all plots."""
        found: list[dict[str, Any]] = []
        shared: dict[tuple[str, ...], list[str]] = {}
        for plot in self._plots:
            kind = plot.tag.removeprefix(C).removesuffix("Chart")
            if not plot.tag.startswith(C) or kind not in _TYPES:
                continue
            kind = _TYPES[kind] or ("bar" if _value(plot, "barDir") == "bar" else "column")
            axes = _axes(plot)
            drawn = [(one, self._one(plot, one, kind)) for one in plot.iterfind(f"{C}ser")]
            for one, told in drawn:
                self._share_categories(one, told, shared, axes)
            found += self._based(plot, drawn)
            if len(found) > MOST_SERIES:
                raise container.BadContainer(f"more than {MOST_SERIES} series are not read")
        return found

    def _based(self, plot: Element, drawn: list[tuple[Element, dict[str, Any]]]) -> list[dict[str, Any]]:
        """The series of a plot, with those that are drawn without ink under others, as the base of a waterfall."""
        stacked = _is_stacked(plot)
        top = -1
        for one, told in reversed(drawn):
            order = whole(only(one, f"{C}order"), "val")
            clear = stacked and told["type"] in _STACKED and order < top and self._inks.is_clear(one)
            away = clear and (self._left_out(told["values"]) or self._beyond(plot, told))
            told["base"] = clear and not away
            top = top if told["hidden"] else max(top, order)
        return [told for _, told in drawn]

    def _share_categories(
        self, series: Element, told: dict[str, Any], shared: dict[tuple[str, ...], list[str]], axes: tuple[str, ...]
    ) -> None:
        """A series without categories has those of the first series on its axes, as programs draw it."""
        if told["type"] not in _ACROSS:
            first = shared.setdefault(axes, told["categories"])
            if only(series, f"{C}cat") is None:
                told["categories"] = first

    def _one(self, plot: Element, series: Element, kind: str) -> dict[str, Any]:
        across = kind in _ACROSS
        parts = {"values": "yVal" if across else "val", "categories": "xVal" if across else "cat", "name": "tx"}
        told: dict[str, Any] = {"type": kind}
        for name, tag in parts.items():
            found, problem = areas(self._book, self._sheet.title, _formula(only(series, f"{C}{tag}")))
            told[name] = _joined(found)
            told["problem"] = told.get("problem") or problem
        if next(series.iter(_FILTERED), None) is not None:
            told["problem"] = "it omits categories"
            told["values"] = []
        told["hidden"] = (
            self._inks.missing(plot, series, kind) or self._left_out(told["values"]) or self._beyond(plot, told)
        )
        return told

    def _left_out(self, values: list[str]) -> str:
        """Whether hidden rows or columns take points away."""
        placed = self._placed(values) if self._visible_only else ()
        return "it omits hidden cells" if any(has_hidden(*one) for one in placed) else ""

    def _placed(self, names: list[str]) -> Iterator[tuple[Any, CellArea]]:
        """The sheet and the cells of areas of the model."""
        for area in map(reference, names):
            if area is not None:
                yield [*self._book.sheets.values()][int(area.sheet[1:]) - 1], area

    def _beyond(self, plot: Element, told: dict[str, Any]) -> str:
        """Whether the limits of an axis leave out the whole series. Values of formulas are not looked at."""
        values, across = self._limits(_axes(plot))
        if sum(area.size for name in ("values", "categories") for _, area in self._placed(told[name])) > _MOST_POINTS:
            return ""
        if not _is_stacked(plot) and _is_outside(self._typed(told["values"]), values):
            return "its axis excludes all values"
        return "its axis excludes all points" if _is_outside(self._places(told), across) else ""

    def _typed(self, names: list[str]) -> list[float]:
        """The numbers that are typed into areas."""
        return [content.value for content in self._contents(names) if isinstance(content.value, float)]

    def _places(self, told: dict[str, Any]) -> list[float]:
        """The places of points along the axis: their numbers, or their order if they have none. Empty: unknown."""
        contents = [*self._contents(told["categories"])]
        if any(content.formula for content in contents):
            return []
        numbers = self._typed(told["categories"])
        if numbers and len(numbers) == len(contents):
            return numbers
        count = sum(area.size for _, area in self._placed(told["values"]))
        return [float(place) for place in range(1, count + 1)]

    def _contents(self, names: list[str]) -> Iterator[Content]:
        for sheet, area in self._placed(names):
            for place in product(range(area.top, area.bottom + 1), range(area.left, area.right + 1)):
                yield self._book.content(sheet.title, *place)

    def _limits(self, axes: tuple[str, ...]) -> tuple[_Limits, _Limits]:
        """The limits of the axis of values, and of the axis of dates or x values. Values have the last axis."""
        listed = [(_value(one, "axId"), one) for one in self._plots if one.tag in _SCALES]
        found = [one for axis in axes for name, one in listed if name == axis]
        if len(found) > len({name for name, _ in listed if name in axes}):
            raise Ambiguous("it repeats an axis")
        values = [one for one in found if one.tag == f"{C}valAx"]
        across = [one for one in found if one.tag == f"{C}dateAx"] or values[:-1]
        return _range(values[-1:]), _range(across[:1])


def _joined(names: list[str]) -> list[str]:
    """Areas of the model, with those that continue the area before them joined to it. The order of cells stays."""
    found: list[CellArea] = []
    for area in filter(None, map(reference, names)):
        found.append(area)
        while len(found) > 1 and (both := _together(*found[-2:])):
            found[-2:] = [both]
    return [_name(area) for area in found]


def _together(one: CellArea, other: CellArea) -> CellArea | None:
    """Two areas as one, if the cells of the second follow those of the first, row by row."""
    below = (one.left, one.right, one.bottom + 1) == (other.left, other.right, other.top)
    beside = one.top == one.bottom == other.top == other.bottom and one.right + 1 == other.left
    if one.sheet != other.sheet or not (below or beside):
        return None
    return CellArea(one.sheet, one.top, one.left, other.bottom, other.right)


def _name(area: CellArea) -> str:
    first = f"{area.sheet}!{letters(area.left)}{area.top}"
    return first if area.size == 1 else f"{first}:{letters(area.right)}{area.bottom}"


def _range(axes: list[Element]) -> _Limits:
    scaling = only(axes[0], f"{C}scaling") if axes else None
    return _decimal(scaling, "min", _ANY[0]), _decimal(scaling, "max", _ANY[1])


def _is_outside(numbers: list[float], limits: _Limits) -> bool:
    return bool(numbers) and not any(limits[0] <= one <= limits[1] for one in numbers)


def _is_squeezed(layout: Element) -> bool:
    """Whether a layout gives its plot area almost no room, or a place beside the chart."""
    manual = only(layout, f"{C}manualLayout")
    for start, size in ("xw", "yh") if manual is not None else ():
        first, extent = _decimal(manual, start, 0.0), _decimal(manual, size, 1.0)
        if _mode(manual, size) == "edge":
            extent -= first
        if not extent >= _SMALL_SHARE or (_mode(manual, start) == "edge" and not first <= 1 - _SMALL_SHARE):
            return True
    return False


def _mode(manual: Element | None, name: str) -> str:
    return _value(manual, f"{name}Mode") if manual is not None else ""


def _is_stacked(plot: Element) -> bool:
    return _value(plot, "grouping") in ("stacked", "percentStacked")


def _axes(plot: Element) -> tuple[str, ...]:
    return tuple(one.get("val", "") for one in plot.findall(f"{C}axId")[:4])


def _decimal(element: Element | None, name: str, default: float) -> float:
    try:
        return float(_value(element, name)[:40]) if element is not None else default
    except ValueError:
        return default


def _value(element: Element, name: str) -> str:
    found = only(element, f"{C}{name}")
    return found.get("val", "") if found is not None else ""


def _formula(source: Element | None) -> str:
    """The reference of a source of data. Empty for numbers and names that are typed in."""
    found = only(source, _SOURCES, f"{C}f")
    return (found.text or "")[:8192] if found is not None else ""
