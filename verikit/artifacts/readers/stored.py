"""Reads a workbook's stored values in the sandbox, as the program that saved it wrote them."""

from __future__ import annotations

import io
from typing import Any

from verikit.artifacts.readers import container
from verikit.artifacts.readers.references import letters, reference

MOST_CELLS = 10_000


def read(blobs: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """The stored values of the cells of some references, by cell. With `sheets`, the values of all sheets by title.

    A reference without a sheet is on the first one.
    """
    try:
        container.parts(blobs[0], "xlsx")
    except container.BadContainer as problem:
        return {"refused": str(problem)}
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(blobs[0]), data_only=True, keep_links=False)
    if request.get("sheets"):
        return _sheets(book)
    found: dict[str, Any] = {}
    for text in request["cells"]:
        area = reference(text)
        title = (area.sheet or book.sheetnames[0]) if area else ""
        if area is None or title not in book.sheetnames:
            return {"refused": f"{text} is not in the workbook"}
        if area.size > MOST_CELLS or len(found) + area.size > MOST_CELLS:
            return {"refused": f"over {MOST_CELLS:,} cells"}
        quoted = title.replace("'", "''")
        for row in range(area.top, area.bottom + 1):
            for column in range(area.left, area.right + 1):
                cell = book[title].cell(row, column)
                found[f"'{quoted}'!{letters(column)}{row}"] = _plain(cell.value, book.epoch)
    return {"values": found}


def _sheets(book: Any) -> dict[str, Any]:
    """The cells of each sheet that are not empty."""
    left = MOST_CELLS
    sheets: dict[str, dict[str, Any]] = {}
    for sheet in book.worksheets:
        found = sheets.setdefault(sheet.title, {})
        for cell in sheet._cells.values():  # iter_rows would make every cell between them
            value = _plain(cell.value, book.epoch)
            if value is not None:
                found[cell.coordinate] = value
        left -= len(found)
        if left < 0:
            return {"refused": f"over {MOST_CELLS:,} cells"}
    return {"sheets": sheets}


def _plain(value: Any, epoch: Any) -> Any:
    """A value as a workbook stores it: dates and times are numbers."""
    import datetime

    from openpyxl.utils.datetime import to_excel

    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        return float(to_excel(value, epoch))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return value if isinstance(value, bool) or value is None else str(value) or None
