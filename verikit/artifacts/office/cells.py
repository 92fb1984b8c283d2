"""Cells of a model recalculated by LibreOffice: one workbook per set of inputs, all of them in one start."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from verikit.artifacts.office.convert import converted, missing
from verikit.artifacts.readers.reach import NEWER
from verikit.artifacts.readers.references import Piece, area_of, rewritten
from verikit.errors import SandboxError, WorkspaceError

Told = dict[str, Any]
"""A cell's `value`, `error`, or the reason why it is `unknown`."""
_UNPREFIXED = {
    "AVERAGEIF", "AVERAGEIFS", "COUNTIFS", "IFERROR", "ISO.CEILING", "NETWORKDAYS.INTL", "SUMIFS", "WORKDAY.INTL",
}  # fmt: skip
"""Newer functions that files name without a prefix."""
_KNOWN_ERRORS = ("#DIV/0!", "#N/A", "#NUM!", "#REF!")
"""Errors that mean the same in every program. LibreOffice also writes `#VALUE!` for its own errors."""
_SHEET = re.compile(r"[A-Z][0-9]{1,6}")
_CODED = re.compile("_x([0-9A-Fa-f]{4})_")
_MOST_SHEETS, _MOST_TEXT = 1000, 1 << 18
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_WORKBOOK = "xl/workbook.xml"


def recalculated(
    model: Mapping[str, Mapping[str, Any]], cells: Sequence[str], cases: Sequence[Mapping[str, Any]]
) -> list[dict[str, Told]]:
    """The values of cells for each case.

    Args:
        model: `values`, `formulas` and `errors` by cell.
        cells: The cells to evaluate.
        cases: Cells with other values, a mapping for each run.
    """
    if hint := missing("xlsx"):
        return _unknown(cells, cases, f"not installed: {hint}")
    named = [key for kind in ("values", "formulas", "errors") for key in model[kind]]
    sheets = sorted({key.partition("!")[0] for key in [*named, *cells, *(key for case in cases for key in case)]})
    if len(sheets) > _MOST_SHEETS or not all(map(_SHEET.fullmatch, sheets)):
        return _unknown(cells, cases, f"more than {_MOST_SHEETS} sheets, or other names than the model's")
    contents = _contents(model)
    books = [_workbook(contents | {key: _value(value) for key, value in case.items()}, sheets) for case in cases]
    try:
        made = converted(books, "xlsx", "xlsx", {cell: sheets.index(cell.partition("!")[0]) + 1 for cell in cells})
    except (WorkspaceError, SandboxError) as problem:
        return _unknown(cells, cases, str(problem))
    return [_values(content, cells, case) for content, case in zip(made, cases, strict=True)]


def _unknown(cells: Sequence[str], cases: Sequence[Mapping[str, Any]], why: str) -> list[dict[str, Told]]:
    return [{cell: {"unknown": why} for cell in cells} for _ in cases]


def _values(content: bytes | None, cells: Sequence[str], case: Mapping[str, Any]) -> dict[str, Told]:
    """The values in an answer, which is hostile."""
    try:
        found = json.loads(content or b"{}")
        told = {cell: _told(found.get(cell)) for cell in cells}
    except (ValueError, AttributeError, TypeError, RecursionError):
        told = {cell: {"unknown": "an answer that can't be read"} for cell in cells}
    return told | {cell: {"value": case[cell]} for cell in cells if cell in case}


def _told(found: Any) -> Told:
    if not isinstance(found, list) or len(found) != 2 or not all(isinstance(part, str) for part in found):
        return {"unknown": "no value"}
    kind, text = found
    if len(text) > _MOST_TEXT:
        return {"unknown": "a longer text than cells have"}
    if kind == "e":
        return {"error": text} if text in _KNOWN_ERRORS else {"unknown": text[:20]}
    if kind == "str":
        return {"value": _CODED.sub(lambda match: chr(int(match[1], 16)), text)}
    if kind == "b":
        return {"value": text == "1"}
    number = float(text) if kind == "n" else math.nan
    return {"value": number} if math.isfinite(number) else {"unknown": f"a value of type {kind[:20]}"}


def _contents(model: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Each cell's element in the file, after its name."""
    return {
        **{key: _value(value) for key, value in model["values"].items()},
        **{key: _formula(key, text) for key, text in model["formulas"].items()},
        **{key: f' t="e"><v>{escape(error)}</v>' for key, error in model["errors"].items()},
    }


def _workbook(contents: Mapping[str, str], sheets: Sequence[str]) -> bytes:
    """A workbook with these sheets and the contents of their cells."""
    filled: dict[str, dict[int, dict[int, str]]] = {sheet: {} for sheet in sheets}
    for key, content in contents.items():
        sheet, _, cell = key.partition("!")
        place = area_of(cell)
        if content and place is not None:
            filled[sheet].setdefault(place.top, {})[place.left] = f'<c r="{cell}"{content}</c>'
    return _packed(filled)


def _formula(key: str, text: str) -> str:
    """A formula, computed as an array as the other engines do. The model has no array formulas of its own."""
    return f'><f t="array" ref="{key.partition("!")[2]}">{escape(rewritten(text[1:], _as_stored))}</f>'


def _as_stored(piece: Piece) -> str:
    """A reference with its sheet in quotes, since `S1` is a cell too. A function with the prefix that files use."""
    if piece.kind == "area" and piece.area is not None and piece.area.sheet:
        return f"'{piece.area.sheet}'!{piece.text.rpartition('!')[2]}"
    if piece.kind != "function" or piece.text not in NEWER - _UNPREFIXED:
        return piece.text
    return ("_xlfn._xlws." if piece.text in ("FILTER", "SORT") else "_xlfn.") + piece.text


def _value(value: str | bool | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f' t="b"><v>{int(value)}</v>'
    if isinstance(value, int | float):
        return f"><v>{value!r}</v>"
    return f' t="inlineStr"><is><t xml:space="preserve">{_text(value)}</t></is>'


def _text(text: str) -> str:
    """Text as files store it: characters that XML lacks, and text that looks like their codes, as codes."""
    coded = text.replace("_x", "_x005F_x")
    return escape("".join(letter if letter >= " " or letter in "\t\n" else f"_x{ord(letter):04X}_" for letter in coded))


def _packed(sheets: Mapping[str, Mapping[int, Mapping[int, str]]]) -> bytes:
    numbers = range(1, len(sheets) + 1)
    types = "".join(f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{_TYPE}.worksheet+xml"/>'
                    for number in numbers)  # fmt: skip
    listed = "".join(f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>'
                     for number, name in enumerate(sheets, 1))  # fmt: skip
    related = "".join(f'<Relationship Id="r{number}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{number}.xml"/>'
                      for number in numbers)  # fmt: skip
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" '
        f'ContentType="{_TYPE}.sheet.main+xml"/>{types}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{_OFFICE}/officeDocument" Target="{_WORKBOOK}"/></Relationships>',
        _WORKBOOK: f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{related}</Relationships>',
    }
    for number, rows in enumerate(sheets.values(), 1):
        data = "".join(f'<row r="{row}">{"".join(rows[row][column] for column in sorted(rows[row]))}</row>'
                       for row in sorted(rows))  # fmt: skip
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{_MAIN}"><sheetData>{data}</sheetData></worksheet>'
        )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in parts.items():
            archive.writestr(name, (_HEAD + content).encode("utf-8", "replace"))
    return packed.getvalue()
