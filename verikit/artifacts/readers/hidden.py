"""Why cells of a workbook can't be seen: hidden sheets, rows and columns, and faint characters."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import Any

from verikit.artifacts.readers.reach import OpenWorkbook
from verikit.artifacts.readers.references import MOST_COLUMNS, CellArea, column_number


def hidden(book: OpenWorkbook, title: str, row: int, column: int, cell: Any) -> str:
    """Why the cell can't be seen; empty if it can be."""
    sheet = book.sheets[title]
    if sheet.sheet_state != "visible":
        return f"the sheet is {sheet.sheet_state}"
    if row_hidden(sheet, row):
        return "the row is hidden"
    if column_hidden(sheet, column):
        return "the column is hidden"
    return "" if cell is None else _faint(cell)


def row_hidden(sheet: Any, row: int) -> bool:
    """Whether a row is hidden or has almost no height."""
    rows = sheet.row_dimensions
    if row not in rows:
        return bool(sheet.sheet_format.zeroHeight)
    return bool(rows[row].hidden) or (rows[row].height is not None and rows[row].height < 2)


def has_hidden(sheet: Any, area: CellArea) -> bool:
    """Whether some row or column of an area is hidden."""
    if _HIDDEN in _columns(sheet)[area.left : area.right + 1]:
        return True
    hidden, shown = _rows(sheet)
    if sheet.sheet_format.zeroHeight:
        return bisect_right(shown, area.bottom) - bisect_left(shown, area.top) <= area.bottom - area.top
    return bisect_right(hidden, area.bottom) > bisect_left(hidden, area.top)


@lru_cache(maxsize=64)
def _rows(sheet: Any) -> tuple[list[int], list[int]]:
    """The declared rows that are hidden, and those that are not."""
    found: tuple[list[int], list[int]] = [], []
    for row in sorted(sheet.row_dimensions):
        found[not row_hidden(sheet, row)].append(row)
    return found


def column_hidden(sheet: Any, column: int) -> bool:
    """Whether a column is hidden or has almost no width."""
    return 0 <= column <= MOST_COLUMNS and _columns(sheet)[column] == _HIDDEN


_SEEN, _HIDDEN = 1, 2
_NARROW = 0.3
"""In characters. A column of less width shows nothing."""


@lru_cache(maxsize=64)
def _columns(sheet: Any) -> bytearray:
    """A byte for each column. The first of several declarations of a column counts."""
    found = bytearray(MOST_COLUMNS + 1)
    for name, dimension in sheet.column_dimensions.items():
        low = max(dimension.min or column_number(name), 0)
        high = dimension.max or low
        hidden = dimension.hidden or dimension.width < _NARROW
        found[low : high + 1] = found[low : high + 1].replace(b"\0", bytes([_HIDDEN if hidden else _SEEN]))
    usual = sheet.sheet_format.defaultColWidth
    return found.replace(b"\0", bytes([_HIDDEN if usual is not None and usual < _NARROW else _SEEN]))


def too_narrow(sheet: Any, column: int, number: float) -> bool:
    """Whether a column is so narrow that programs show `##` for a number, even in a small font."""
    return len(f"{abs(number):.0f}") > _width(sheet, column) * 1.5 + 1


@lru_cache(maxsize=MOST_COLUMNS)
def _width(sheet: Any, column: int) -> float:
    """The width of a column in characters; without end if it has the usual one."""
    dimensions = sheet.column_dimensions.values()
    return next((one.width for one in dimensions if (one.min or 0) <= column <= (one.max or 0)), math.inf)


def _faint(cell: Any) -> str:
    """Why the characters of a cell are invisible on its background; empty if they are visible."""
    font, fill = cell.font, cell.fill
    if font is not None and font.sz is not None and font.sz < 4:
        return f"the font has {font.sz:g} points"
    ground = _rgb(fill.fgColor, (255, 255, 255)) if fill is not None and fill.patternType == "solid" else (255,) * 3
    ink = _rgb(font.color, (0, 0, 0)) if font is not None and font.color is not None else (0, 0, 0)
    if ink is None or ground is None:
        return ""
    far = max(abs(one - other) for one, other in zip(ink, ground, strict=True))
    return "the characters have the colour of the ground" if far < 40 else ""


_THEME = ((255, 255, 255), (0, 0, 0), (238, 236, 225), (31, 73, 125), (79, 129, 189), (192, 80, 77), (155, 187, 89),
          (128, 100, 162), (75, 172, 198), (247, 150, 70))  # fmt: skip


def _rgb(colour: Any, default: tuple[int, ...]) -> tuple[int, ...] | None:
    """Red, green and blue; None if unknown."""
    if colour is None:
        return default
    if colour.type == "rgb" and isinstance(colour.rgb, str) and len(colour.rgb) in (6, 8):
        digits = colour.rgb[-6:]
        return tuple(int(digits[index : index + 2], 16) for index in (0, 2, 4))
    if colour.type == "theme" and 0 <= colour.theme < len(_THEME):
        return tuple(_tinted(part, colour.tint or 0.0) for part in _THEME[colour.theme])
    if colour.type == "indexed":
        return _indexed(colour.indexed, default)
    return default


def _tinted(part: int, tint: float) -> int:
    if not math.isfinite(tint):
        return part
    return int(part * (1 + tint) if tint < 0 else part + (255 - part) * tint)


def _indexed(index: int, default: tuple[int, ...]) -> tuple[int, ...]:
    from openpyxl.styles.colors import COLOR_INDEX

    if index in (64, 65) or not 0 <= index < len(COLOR_INDEX):
        return default
    digits = COLOR_INDEX[index][-6:]
    return tuple(int(digits[at : at + 2], 16) for at in (0, 2, 4))
