"""Tables of a slide: the place, the ground and the usual colour of each cell, by its table's style."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from verikit.artifacts.readers.slides.colours import NOTHING, UNKNOWN, Paint, Palette, plain
from verikit.artifacts.readers.slides.frames import Frame
from verikit.artifacts.readers.slides.package import A, Element, truth, whole

_PLAIN_STYLES = ("", "{2D5ABB26-0587-4C30-8999-92F81FD0307C}", "{5940675A-B579-460E-94D1-54222C63F5DA}")
"""No style, and the two of PowerPoint's own that paint nothing."""
_MEDIUM_STYLES = {
    "{073A0DAA-6AF3-43AB-8588-CEC1D06C72B9}": "dk1", "{5C22544A-7EE6-4342-B048-85BDC9FD1C3A}": "accent1",
    "{21E4AEA4-8DFA-4A89-87EB-49C32662AFE0}": "accent2", "{F5AB1C69-6EDB-4FF4-983F-18BD219EF322}": "accent3",
    "{00A15C55-8517-42AA-B614-E9B94910E393}": "accent4", "{7DF18680-E054-41AD-8BC1-D1AEF772440D}": "accent5",
    "{93296810-A885-4BE3-A3E7-6D5BEEA58F35}": "accent6",
}  # fmt: skip
"""PowerPoint's default style, "Medium Style 2", which files reference without defining it."""
_MOST_CELLS, _MOST_COLUMNS, _MOST_SPAN = 20_000, 1000, 50
_FLAGS = ("firstRow", "lastRow", "firstCol", "lastCol", "bandRow", "bandCol")


@dataclass(frozen=True)
class SlideCell:
    """A cell of a table."""

    row: int
    column: int
    frame: Frame
    fill: Paint
    inks: Paint | None
    """The default colour of its text; None: the same as other text."""
    presumed: bool
    """Whether its style is missing from the file. Its text then counts as legible unless other data contradicts it."""
    text: Element | None
    properties: Element
    why: str = ""
    """Why it can't be seen."""


def cells(table: Element, frame: Frame, palette: Palette, styles: Element | None) -> Iterator[SlideCell]:
    """The cells of a table, at most 20,000."""
    properties = table.find(f"{A}tblPr")
    style = _Style(properties, palette, styles)
    columns = [max(whole(one, "w"), 0) for one in table.iterfind(f"{A}tblGrid/{A}gridCol")][:_MOST_COLUMNS]
    starts = list(accumulate(columns, initial=0))
    rows = table.findall(f"{A}tr")
    heights = [max(whole(one, "h"), 0) for one in rows]
    left, top, count = frame.x - frame.wide / 2, frame.y - frame.high / 2, 0
    for row, (line, high) in enumerate(zip(rows, heights, strict=True)):
        for column, cell in enumerate(line.iterfind(f"{A}tc")):
            count += 1
            if count > _MOST_CELLS:
                return
            start, end = (starts[min(one, len(columns))] for one in (column, column + _span(cell, "gridSpan")))
            tall = sum(heights[row : row + _span(cell, "rowSpan")])
            place = Frame(left + (start + end) / 2, top + tall / 2, end - start, tall)
            yield style.cell(cell, (row, column), (len(rows), len(columns)), place)
        top += high


def _span(cell: Element, name: str) -> int:
    return min(max(whole(cell, name, 1), 1), _MOST_SPAN)


class _Style:
    def __init__(self, properties: Element | None, palette: Palette, styles: Element | None) -> None:
        named = properties.find(f"{A}tableStyleId") if properties is not None else None
        self._name = (named.text or "").strip() if named is not None else ""
        self._flags = {
            one: truth(properties, one) for one in ("firstRow", "lastRow", "firstCol", "lastCol", "bandRow", "bandCol")
        }
        self._ground = (palette.fill(properties) if properties is not None else None) or NOTHING
        self._palette = palette
        self._seen: dict[tuple[str, ...], tuple[Paint, Paint | None, bool]] = {}
        self._told = next(
            (one for one in (styles if styles is not None else ()) if one.get("styleId") == self._name), None
        )

    def cell(self, cell: Element, at: tuple[int, int], size: tuple[int, int], place: Frame) -> SlideCell:
        """A cell with the formatting of its table's style and its own."""
        own = cell.find(f"{A}tcPr")
        fill, inks, presumed = self._usual(*at, *size)
        told = self._palette.fill(own)
        merged = truth(cell, "hMerge") or truth(cell, "vMerge")
        thin = "" if place.wide else "a column without width"
        return SlideCell(
            *at, place, fill if told is None else told, inks, presumed and told is None, cell.find(f"{A}txBody"),
            own if own is not None else Element("none"), "a cell that another one covers" if merged else thin,
        )  # fmt: skip

    def _usual(self, row: int, column: int, rows: int, columns: int) -> tuple[Paint, Paint | None, bool]:
        """The fill and the usual colour of a cell's text, and whether both are presumed."""
        parts = self._parts(row, column, rows, columns)
        key = tuple(parts)
        if self._told is not None:
            if key not in self._seen:
                self._seen[key] = self._of_file(parts)
            return self._seen[key]
        if self._name in _PLAIN_STYLES:
            return self._ground, None, False
        if self._name in _MEDIUM_STYLES:
            return self._of_medium(_MEDIUM_STYLES[self._name], bool(parts))
        return UNKNOWN, UNKNOWN, True

    def _parts(self, row: int, column: int, rows: int, columns: int) -> list[str]:
        """The parts of the style that a cell belongs to, the strongest first."""
        among = {
            "firstRow": row == 0, "lastRow": row == rows - 1,
            "firstCol": column == 0, "lastCol": column == columns - 1,
        }  # fmt: skip
        return [part for part, inside in among.items() if inside and self._flags[part]]

    def _of_medium(self, accent: str, strong: bool) -> tuple[Paint, Paint | None, bool]:
        ink = self._palette.named(accent)
        if strong:
            return plain(ink), plain(self._palette.named("lt1")), False
        tints = [self._palette.tinted(ink, share) for share in (0.4, 0.2)]
        return plain(tints[0]).beside(plain(tints[1])), plain(self._palette.named("dk1")), False

    def _of_file(self, parts: list[str]) -> tuple[Paint, Paint | None, bool]:
        """From the style in the file. Any cell may have stripes."""
        fills = [self._fill(part) for part in parts]
        inks = [self._ink(part) for part in [*parts, "wholeTbl"]]
        fill = next((one for one in fills if one is not None), None)
        if fill is None:
            fill = self._fill("wholeTbl") or self._ground
            for band in ("band1H", "band2H") if self._flags["bandRow"] else ():
                fill = fill.beside(self._fill(band) or fill)
            for band in ("band1V", "band2V") if self._flags["bandCol"] else ():
                fill = fill.beside(self._fill(band) or fill)
        return fill, next((one for one in inks if one is not None), None), False

    def _fill(self, part: str) -> Paint | None:
        style = self._told.find(f"{A}{part}/{A}tcStyle") if self._told is not None else None
        if style is None:
            return None
        told = self._palette.fill(style.find(f"{A}fill"))
        return self._palette.styled(style.find(f"{A}fillRef")) if told is None else told

    def _ink(self, part: str) -> Paint | None:
        style = self._told.find(f"{A}{part}/{A}tcTxStyle") if self._told is not None else None
        if style is None:
            return None
        colours = [one for one in style if one.tag.endswith("Clr")]
        return plain(self._palette.colour(style)) if colours else None
