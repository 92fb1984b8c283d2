"""The rules of OSWorld's `compare_table` as checks of sheets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from verikit.artifacts.readers.references import letters, reference
from verikit.artifacts.readers.stored import MOST_CELLS
from verikit.errors import SchemaError
from verikit.readers.parse import JsonRow
from verikit.types import Sample
from verikit.verifiers.osworld.visible import csv_rows
from verikit.verifiers.xlsx import Xlsx
from verikit.verifiers.xlsx.stored import stored_sheet
from verikit.workspaces import Workspace

Rule = Mapping[str, Any]
DECIMALS = 4
"""Default decimals of a sheet's numbers."""


def sheets(rules: Sequence[Rule], names: Sequence[str], golds: Callable[[str], bytes]) -> Iterator[JsonRow]:
    """A check for each rule. A rule that can't be checked becomes an unscored check that names it.

    Args:
        rules: The rules.
        names: The names of the expected workbook and of its sheets as CSV.
        golds: Reads an expected file.
    """
    book = golds(names[0]) if names else None
    expected = stored_sheet(book, None)[0] if book is not None else ()
    for rule in rules:
        kind = rule.get("type")
        if kind == "sheet_name" and book is not None:
            yield {"kind": "titles", "expected": list(expected)}
        elif kind == "sheet_data" and book is not None and (pair := _pair(rule, expected)):
            yield _values(rule, *pair, book)
        elif kind == "sheet_print" and book is not None and (pair := _pair(rule, expected)):
            yield {"kind": "printed", "sheet": pair[0], "shows": _printed(names[0], pair[1], golds)}
        elif kind == "check_cell" and (found := _cell(rule)):
            yield found
        else:
            yield {"kind": "unscored", "because": f"compare_table: the rule {kind!r} has no counterpart"[:300]}


def _pair(rule: Rule, expected: Sequence[str]) -> tuple[int | str, str] | None:
    """The agent's sheet, and the title of the expected one. None if the rule compares other sheets."""
    own, other = _place(rule.get("sheet_idx0"), "R"), _place(rule.get("sheet_idx1"), "E")
    if own is None or other is None:
        return None
    if isinstance(other, int):
        other = dict(enumerate(expected)).get(other, "")
    if other not in expected:
        raise SchemaError(f"the expected workbook has no sheet {rule['sheet_idx1']!r}", field="evaluator.options.rules")
    return own, other


def _place(told: Any, book: str) -> int | str | None:
    """A sheet's position or title. None if it is of the other workbook. A bare number is one of the agent's."""
    if isinstance(told, int) and not isinstance(told, bool):
        return told if book == "R" else None
    if isinstance(told, str) and told.startswith(f"{book}N"):
        return told[2:]
    if isinstance(told, str) and told.startswith(f"{book}I") and told[2:].isdecimal() and len(told) < 8:
        return int(told[2:])
    return None


def _values(rule: Rule, own: int | str, other: str, book: bytes) -> JsonRow:
    """The values of the expected sheet, which its own formulas must give too."""
    values, decimals = stored_sheet(book, other)[1], rule.get("precision", DECIMALS)
    if len(values) > MOST_CELLS:
        return {"kind": "unscored", "because": f"compare_table: the expected sheet has over {MOST_CELLS:,} cells"}
    if type(decimals) is not int or not 0 <= decimals <= 15:
        raise SchemaError("precision must be a number of decimals", field="evaluator.options.rules")
    quoted = other.replace("'", "''")
    cells = {f"'{quoted}'!{cell}": value for cell, value in values.items()}
    if cells:
        gold = Xlsx("gold.xlsx", cells, decimals=decimals, macros=True)
        if gold.checked(Workspace({"gold.xlsx": book}), Sample("", "")).value == 0.0:
            because = "compare_table: the formulas of the expected workbook do not give its stored values"
            return {"kind": "unscored", "because": because}
    return {"kind": "sheet", "sheet": own, "values": dict(values), "decimals": decimals}


def _printed(name: str, title: str, golds: Callable[[str], bytes]) -> dict[str, str]:
    """The strings that the expected sheet displays, from the CSV next to the workbook."""
    path = PurePosixPath(name)
    rows = csv_rows(golds(str(path.with_name(f"{path.stem}-{title}.csv"))))
    return {
        f"{letters(column)}{row}": text
        for row, cells in enumerate(rows, 1) for column, text in enumerate(cells, 1) if text.strip()
    }  # fmt: skip


def _cell(rule: Rule) -> JsonRow | None:
    """A cell that must have a value. Other properties, and other methods than `eq`, are not translated."""
    own, wanted = _place(rule.get("sheet_idx"), "R"), _only_value(rule.get("props"))
    if own is None or wanted.get("method") != "eq" or wanted.get("ref") is None:
        return None
    place = rule.get("coordinate")
    area = reference(place) if isinstance(place, str) and "!" not in place else None
    if area is None or area.size != 1:
        raise SchemaError("coordinate must be a cell such as B2", field="evaluator.options.rules")
    return {"kind": "cells", "sheet": own, "values": {place: wanted["ref"]}}


def _only_value(props: Any) -> Mapping[str, Any]:
    """The condition on a cell's value, empty if there is none or there are conditions on other properties."""
    wanted = props.get("value") if isinstance(props, Mapping) and len(props) == 1 else None
    return wanted if isinstance(wanted, Mapping) else {}
