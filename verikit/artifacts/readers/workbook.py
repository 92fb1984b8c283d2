"""Reads a workbook in the sandbox: requested cells, everything that hides them, and the inputs of their formulas."""

from __future__ import annotations

import io
from typing import Any

from verikit.artifacts.readers import container
from verikit.artifacts.readers.reach import OpenWorkbook, Reach, TooFar
from verikit.artifacts.readers.references import CellArea, column_number, letters, reference

MOST_CELLS = 3_000_000
"""Of a workbook; more would take gigabytes to read."""
MOST_ASKED = 20_000


def read(blobs: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """The observation of one workbook.

    `cells`: references whose cells are described. `model`: the references whose formulas are followed to their inputs.
    """
    try:
        parts = container.parts(blobs[0], "xlsx")
    except container.BadContainer as problem:
        return {"refused": str(problem)}
    count = sum(content.count(b"<c ") + content.count(b":c ") for name, content in parts.items() if "sheet" in name)
    if count > MOST_CELLS:
        return {"refused": f"about {count} cells, at most {MOST_CELLS} are read"}
    return _observed(blobs[0], parts, request)


def _observed(blob: bytes, parts: dict[str, bytes], request: dict[str, Any]) -> dict[str, Any]:
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(blob), data_only=False, keep_links=False)
    titles = book.sheetnames
    sheets = [book[title] for title in titles]
    readable = OpenWorkbook(book, [sheet for sheet in sheets if hasattr(sheet, "_cells")])
    cells, missing = _asked(readable, request["cells"])
    reach = Reach(readable)
    try:
        for key in request["model"]:
            for sheet, row, column in _cells_of(readable, key):
                reach.follow(sheet, row, column)
    except TooFar as problem:
        reach.problem = str(problem)
    return {
        "sheets": [{"title": sheet.title, "state": str(sheet.sheet_state), "key": readable.sheet_key(sheet.title)}
                   for sheet in sheets],
        "names": {str(name): str(item.attr_text or "") for name, item in book.defined_names.items()},
        "macros": any("vbaProject" in name for name in _names(blob)),
        "links": sorted(name for name in parts if name.startswith("xl/externalLinks/") and name.endswith(".xml")),
        "cells": cells, "missing": missing, "model": reach.model(), "problem": reach.problem,
    }  # fmt: skip


def _names(blob: bytes) -> list[str]:
    import zipfile

    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        return archive.namelist()


def _cells_of(book: OpenWorkbook, text: str) -> list[tuple[str, int, int]]:
    """The cells of a reference; empty if its sheet doesn't exist."""
    area = reference(text)
    if area is None:
        return []
    sheet = book.title_of(area.sheet) if area.sheet else book.first
    if sheet is None:
        return []
    area = book.clipped(CellArea(sheet, area.top, area.left, area.bottom, area.right))
    if area.size > MOST_ASKED:
        return []
    return [(sheet, row, column) for row in range(area.top, area.bottom + 1)
            for column in range(area.left, area.right + 1)]  # fmt: skip


def _asked(book: OpenWorkbook, asked: list[str]) -> tuple[dict[str, list[Any]], list[str]]:
    cells: dict[str, list[Any]] = {}
    missing = []
    for text in asked:
        found = _cells_of(book, text)
        if not found:
            missing.append(text)
        cells[text] = [_described(book, *where) for where in found]
    return cells, missing


def _described(book: OpenWorkbook, title: str, row: int, column: int) -> dict[str, Any]:
    content = book.content(title, row, column)
    cell = book.cell(title, row, column)
    return {
        "cell": f"{title}!{letters(column)}{row}",
        "key": book.key(title, row, column),
        "formula": content.formula, "value": content.value, "error": content.error,
        "format": str(cell.number_format) if cell is not None else "General",
        "hidden": _hidden(book, title, row, column, cell),
        "epoch_1904": book.epoch.year == 1904,
    }  # fmt: skip


def _hidden(book: OpenWorkbook, title: str, row: int, column: int, cell: Any) -> str:
    """Why the cell can't be seen; empty if it can be."""
    sheet = book.sheets[title]
    if sheet.sheet_state != "visible":
        return f"the sheet is {sheet.sheet_state}"
    rows = sheet.row_dimensions
    if row in rows and (rows[row].hidden or (rows[row].height is not None and rows[row].height < 2)):
        return "the row is hidden"
    if _column_hidden(sheet, column):
        return "the column is hidden"
    if sheet.sheet_format.zeroHeight and row not in rows:
        return "the row is hidden"
    return "" if cell is None else _faint(cell)


def _column_hidden(sheet: Any, column: int) -> bool:
    for name, dimension in sheet.column_dimensions.items():
        low = dimension.min or column_number(name)
        high = dimension.max or low
        if low <= column <= high:
            return bool(dimension.hidden) or (dimension.customWidth and dimension.width < 0.3)
    return False


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
        tint = colour.tint or 0.0
        return tuple(
            int(part * (1 + tint) if tint < 0 else part + (255 - part) * tint) for part in _THEME[colour.theme]
        )
    if colour.type == "indexed":
        return _indexed(colour.indexed, default)
    return default


def _indexed(index: int, default: tuple[int, ...]) -> tuple[int, ...]:
    from openpyxl.styles.colors import COLOR_INDEX

    if index in (64, 65) or not 0 <= index < len(COLOR_INDEX):
        return default
    digits = COLOR_INDEX[index][-6:]
    return tuple(int(digits[at : at + 2], 16) for at in (0, 2, 4))
