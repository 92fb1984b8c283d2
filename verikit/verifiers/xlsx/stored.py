"""The values that a workbook stores, for the right answer of a task. An agent's workbook is recalculated instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verikit.artifacts.box import BoxReader, observe
from verikit.artifacts.shape import Shape, mapping, record, scalar

_SHAPE: Shape = record({"values": mapping(scalar, 10_000)})
_READER = BoxReader(
    "verikit.artifacts.readers.stored", {"openpyxl": "reading workbooks"}, "office", _SHAPE, kind="xlsx"
)


def stored_values(blob: bytes, cells: Sequence[str]) -> dict[str, Any]:
    """The stored values of the cells of some references, by cell.

    Raises:
        AgentFault: It is not a workbook, lacks a cell, or has too many.
        WorkspaceError: The reader died.
        MissingExtra: openpyxl is not installed.
    """
    found: dict[str, Any] = observe(_READER, [blob], {"cells": list(cells)})["values"]
    return found
