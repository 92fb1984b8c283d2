"""The values that a workbook stores, for the right answer of a task. An agent's workbook is recalculated instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from verikit.artifacts.box import BoxReader, observe
from verikit.artifacts.readers.stored import MOST_CELLS
from verikit.artifacts.shape import each, mapping, record, scalar, text

_READER = BoxReader(
    "verikit.artifacts.readers.stored",
    {"openpyxl": "reading workbooks"},
    "office",
    record({"values": mapping(scalar, MOST_CELLS), "moments": each(text, MOST_CELLS)}),
    kind="xlsx",
)
_SHEET_READER = replace(_READER, shape=record({
    "titles": each(text, 10_000), "cells": mapping(scalar, MOST_CELLS + 1), "formulas": each(text, MOST_CELLS + 1),
}))  # fmt: skip


def stored_values(blob: bytes, cells: Sequence[str], default: str = "") -> tuple[dict[str, Any], Sequence[str]]:
    """The stored values of the cells of some references, by cell, and the cells that hold dates or times.

    Args:
        blob: The file.
        cells: The references.
        default: The title of the sheet of references without one. If there is no such sheet, the first one is used.

    Raises:
        AgentFault: It is not a workbook, lacks a cell, or has too many.
        WorkspaceError: The reader died.
        MissingExtra: openpyxl is not installed.
    """
    found = observe(_READER, [blob], {"cells": list(cells), "default": default})
    return found["values"], found["moments"]


def stored_sheet(blob: bytes, which: int | str | None) -> tuple[Sequence[str], Mapping[str, Any]]:
    """The titles of all sheets, and the stored values of one sheet, by its cells that are not empty.

    Args:
        blob: The file.
        which: The sheet's title or position. Without it, or if it does not exist, there are no cells. Of a larger
            sheet, `MOST_CELLS` and one more cell are returned.

    Raises:
        AgentFault: It is not a workbook.
        WorkspaceError: The reader died.
        MissingExtra: openpyxl is not installed.
    """
    found = observe(_SHEET_READER, [blob], {"sheet": which})
    return found["titles"], found["cells"]


def typed_sheet(blob: bytes, which: int | str) -> tuple[Sequence[str], Mapping[str, Any], Sequence[str]]:
    """The titles of all sheets, the typed values of one sheet by its cells, and its cells that formulas fill.

    The limits and errors are those of `stored_sheet`. An array formula fills several cells.
    """
    found = observe(_SHEET_READER, [blob], {"sheet": which, "formulas": True})
    return found["titles"], found["cells"], found["formulas"]
