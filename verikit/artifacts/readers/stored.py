"""Reads a workbook's stored values in the sandbox, as the program that saved it wrote them."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator
from itertools import islice
from typing import Any

from verikit.artifacts.readers import container
from verikit.artifacts.readers.references import letters, reference

MOST_CELLS = 10_000
MOMENTS = datetime.date | datetime.time | datetime.timedelta


def read(blobs: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """The stored values of the cells of some references, by cell, and which of them are dates or times.

    With `sheet`, all values of one sheet. A reference without a sheet is on the one of the title `default`, or on the
    first one. With `formulas`, formulas are listed instead of their values.
    """
    try:
        container.parts(blobs[0], "xlsx")
    except container.BadContainer as problem:
        return {"refused": str(problem)}
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(blobs[0]), data_only=not request.get("formulas"), keep_links=False)
    if "sheet" in request:
        return _sheet(book, request["sheet"])
    default = next((title for title in book.sheetnames if title.lower() == request["default"].lower()),
                   book.sheetnames[0])  # fmt: skip
    found: dict[str, Any] = {}
    moments: list[str] = []
    for text in request["cells"]:
        area = reference(text)
        title = (area.sheet or default) if area else ""
        if area is None or title not in book.sheetnames:
            return {"refused": f"{text} is not in the workbook"}
        if area.size > MOST_CELLS or len(found) + area.size > MOST_CELLS:
            return {"refused": f"over {MOST_CELLS:,} cells"}
        quoted = title.replace("'", "''")
        for row in range(area.top, area.bottom + 1):
            for column in range(area.left, area.right + 1):
                name, value = f"'{quoted}'!{letters(column)}{row}", book[title].cell(row, column).value
                found[name] = _plain(value, book.epoch)
                if isinstance(value, MOMENTS):
                    moments.append(name)
    return {"values": found, "moments": moments}


def _sheet(book: Any, which: Any) -> dict[str, Any]:
    """The titles of all sheets, and the cells of one that are not empty: at most one more than the limit."""
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    titles = list(sheets)
    if isinstance(which, int) and -len(titles) <= which < len(titles):
        which = titles[which]
    found: dict[str, Any] = {}
    formulas: dict[str, None] = {}
    for cell in sheets[which]._cells.values() if which in sheets else ():  # iter_rows would make every cell between
        if cell.data_type == "f":
            formulas |= dict.fromkeys(islice(_filled(cell), max(MOST_CELLS + 1 - len(formulas), 0)))
            continue
        value = _plain(cell.value, book.epoch)
        if value is not None and len(found) <= MOST_CELLS:
            found[cell.coordinate] = value
    return {"titles": titles, "cells": found, "formulas": list(formulas)}


def _filled(cell: Any) -> Iterator[str]:
    """The cells that a formula fills: more than one for an array formula."""
    yield cell.coordinate
    area = reference(str(getattr(cell.value, "ref", None) or cell.coordinate))
    if area is None:
        return
    for row in range(area.top, area.bottom + 1):
        yield from (f"{letters(column)}{row}" for column in range(area.left, area.right + 1))


def _plain(value: Any, epoch: Any) -> Any:
    """A value as a workbook stores it: dates and times are numbers."""
    from openpyxl.utils.datetime import to_excel

    if isinstance(value, MOMENTS):
        return float(to_excel(value, epoch))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return value if isinstance(value, bool) or value is None else str(value) or None
