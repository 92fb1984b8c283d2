"""The values that a workbook stores, for the right answer of a task. An agent's workbook is recalculated instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from verikit.artifacts.box import BoxReader, observe
from verikit.artifacts.shape import Shape, mapping, record, scalar

_CELLS: Shape = mapping(scalar, 10_000)
_READER = BoxReader(
    "verikit.artifacts.readers.stored",
    {"openpyxl": "reading workbooks"},
    "office",
    record({"values": _CELLS}),
    kind="xlsx",
)
_SHEETS_READER = replace(_READER, shape=record({"sheets": mapping(_CELLS, 1000)}))


def stored_values(blob: bytes, cells: Sequence[str]) -> dict[str, Any]:
    """The stored values of the cells of some references, by cell.

    Raises:
        AgentFault: It is not a workbook, lacks a cell, or has too many.
        WorkspaceError: The reader died.
        MissingExtra: openpyxl is not installed.
    """
    found: dict[str, Any] = observe(_READER, [blob], {"cells": list(cells)})["values"]
    return found


def stored_sheets(blob: bytes) -> Mapping[str, Mapping[str, Any]]:
    """The stored values of all sheets, in their order: by title, the cells that are not empty.

    Raises:
        AgentFault: It is not a workbook, or has too many cells.
        WorkspaceError: The reader died.
        MissingExtra: openpyxl is not installed.
    """
    found: Mapping[str, Mapping[str, Any]] = observe(_SHEETS_READER, [blob], {"sheets": True})["sheets"]
    return found
