"""Reads a workbook in the sandbox: requested cells, everything that hides them, and the inputs of their formulas."""

from __future__ import annotations

import io
import json
from functools import partial
from typing import Any

from verikit.artifacts.readers import container
from verikit.artifacts.readers.alternatives import tree_of
from verikit.artifacts.readers.charts import charts
from verikit.artifacts.readers.hidden import hidden
from verikit.artifacts.readers.pivots import Pivots
from verikit.artifacts.readers.reach import OpenWorkbook, Reach, TooFar
from verikit.artifacts.readers.references import CellArea, letters, reference
from verikit.artifacts.readers.sheet_parts import cells_only
from verikit.artifacts.readers.slides.package import Package

MOST_CELLS = 3_000_000
"""Of a workbook; more would take gigabytes to read."""
MOST_ASKED = 20_000
MOST_TEXT = 1 << 20
"""Characters of a name in a chart or pivot table."""
_MOST_TEXTS = 12 << 20
"""Characters of JSON of charts, pivot tables and the cells of their sources, half of what an observation holds."""


def read(blobs: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """The observation of one workbook.

    `cells`: references whose cells are described. `model`: the references whose formulas are followed to their inputs.
    `charts`, `pivots`: whether these are described too. `sources`: the sources and fields of requested pivot tables.
    """
    try:
        parts = container.parts(blobs[0], "xlsx")
    except container.BadContainer as problem:
        return {"refused": str(problem)}
    count = sum(content.count(b"<c ") + content.count(b":c ") for name, content in parts.items() if "sheet" in name)
    if count > MOST_CELLS:
        return {"refused": f"about {count} cells, at most {MOST_CELLS} are read"}
    try:
        return _observed(blobs[0], parts, request)
    except container.BadContainer as problem:
        return {"refused": str(problem)}


def _observed(blob: bytes, parts: dict[str, bytes], request: dict[str, Any]) -> dict[str, Any]:
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(cells_only(parts, blob)), data_only=False, keep_links=False)
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
    package = Package(parts, {}, tree_of)
    drawn = charts(package, readable) if request.get("charts") else []
    tables = Pivots(package, readable, partial(_described, readable), request.get("sources", []))
    pivots = tables.observation(bool(request.get("pivots")))
    _check_texts([drawn, pivots])
    return {
        "sheets": [{"title": sheet.title, "state": str(sheet.sheet_state), "key": readable.sheet_key(sheet.title)}
                   for sheet in sheets],
        "names": {str(name): str(item.attr_text or "") for name, item in book.defined_names.items()},
        "macros": any("vbaProject" in name for name in _names(blob)),
        "links": sorted(name for name in parts if name.startswith("xl/externalLinks/") and name.endswith(".xml")),
        "cells": cells, "missing": missing, "model": reach.model(), "problem": reach.problem,
        "charts": drawn, "pivots": pivots,
    }  # fmt: skip


def _check_texts(told: Any) -> None:
    """Refuse texts that no observation has room for."""
    pending, count = [told], 0
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending += [*one, *one.values()]
        elif isinstance(one, list):
            pending += one
        elif isinstance(one, str) and len(one) > MOST_TEXT:
            raise container.BadContainer(_LONG)
        count += 2 if isinstance(one, dict | list) else len(json.dumps(one)) + 2
        if count > _MOST_TEXTS:
            raise container.BadContainer(_LONG)


_LONG = "the names in its charts and pivot tables are longer than are read"


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
        "hidden": hidden(book, title, row, column, cell),
        "epoch_1904": book.epoch.year == 1904,
    }  # fmt: skip
