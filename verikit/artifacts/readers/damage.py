"""The second reader: whether a file caused the crash of another reader, since it is damaged.

Of workbooks it looks at what the format requires of sheets and cells. Other things that a reader can't read are not the
file's fault.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from verikit.artifacts.readers import container
from verikit.artifacts.readers.slides.package import Element, Package, R

_MAIN = {f"{{http://{place}}}" for place in (
    "schemas.openxmlformats.org/spreadsheetml/2006/main", "purl.oclc.org/ooxml/spreadsheetml/main")}  # fmt: skip
_BOOK = "xl/workbook.xml"
_WHOLE = re.compile(r"\s*\+?\d{1,10}\s*")
_NUMBER = re.compile(r"\s*(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?INF|NaN)\s*")
_CELL = re.compile(r"\$?[A-Za-z]{1,3}\$?[1-9]\d{0,6}")
_AREA = re.compile(rf"(?:{_CELL.pattern})(?::{_CELL.pattern})?")
_TYPED: Mapping[tuple[str, str], re.Pattern[str]] = {
    ("row", "r"): _WHOLE, ("row", "ht"): _NUMBER, ("row", "s"): _WHOLE, ("c", "r"): _CELL, ("c", "s"): _WHOLE,
    ("c", "t"): re.compile("b|d|e|inlineStr|n|s|str"), ("col", "min"): _WHOLE, ("col", "max"): _WHOLE,
    ("col", "width"): _NUMBER, ("col", "style"): _WHOLE, ("sheetView", "zoomScale"): _WHOLE,
    ("sheetView", "workbookViewId"): _WHOLE, ("sheetView", "view"): re.compile("normal|pageBreakPreview|pageLayout"),
    ("mergeCell", "ref"): _AREA, ("sheet", "state"): re.compile("visible|hidden|veryHidden"),
}  # fmt: skip
"""Attributes of sheets and cells, and the values that their types have."""
_WORKBOOKS = re.compile(rb"(?:sheet|template|sheet\.macroEnabled|template\.macroEnabled)\.main\+xml", re.IGNORECASE)


def read(blobs: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """Whether a file has the given `kind`, judged by its container, its XML and, for workbooks, its sheets."""
    told = container.read(blobs, request)
    if told or request["kind"] != "xlsx":
        return told
    try:
        _check_workbook(blobs[0], container.parts(blobs[0], "xlsx"))
    except container.BadContainer as problem:
        return {"refused": str(problem)}
    return {}


def _check_workbook(blob: bytes, parts: Mapping[str, bytes]) -> None:
    """Look for damage. All parts must be well-formed.

    Raises:
        BadContainer: There is some.
    """
    if not _WORKBOOKS.search(parts["[Content_Types].xml"]):
        raise container.BadContainer("no part of the file has the type of a workbook")
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        names = {name.lower() for name in archive.namelist()}
    package = Package(parts, {})
    main, relations = package.tree(_BOOK), package.relations(_BOOK)
    strings = _count(package.content(package.related(_BOOK, "sharedStrings")), "si")
    for sheet in main.iter() if main is not None else ():
        if _name(sheet) != "sheet":
            continue
        _check_attributes(sheet)
        relation = relations.get(sheet.get(f"{R}id", ""))
        if relation is None or relation.target not in {*names, ""}:
            raise container.BadContainer(f"the sheet {sheet.get('name', '')[:60]!r} has no part")
        if relation.kind == "worksheet":
            _check_cells(package.content(relation.target), strings)


def _check_cells(content: bytes, strings: int) -> None:
    for element in _elements(content) if content else ():
        if _name(element) == "c":
            _check_value(element, strings)


def _check_value(cell: Element, strings: int) -> None:
    kind = cell.get("t", "n")
    value = next(((one.text or "").strip() for one in cell if _name(one) == "v"), "")
    if not value or kind not in ("n", "s"):
        return
    if kind == "n" and not _NUMBER.fullmatch(value):
        raise container.BadContainer(f"the number of the cell {cell.get('r', '')[:20]} is {value[:40]!r}")
    if kind == "s" and not (_WHOLE.fullmatch(value) and int(value) < strings):
        raise container.BadContainer(f"the cell {cell.get('r', '')[:20]} has the text {value[:20]!r} of {strings}")


def _elements(content: bytes) -> Iterator[Element]:
    """The elements of a part, each when it is complete, with its attributes looked at. Rows are dropped afterwards."""
    for event, element in ElementTree.iterparse(io.BytesIO(content), ("start", "end")):
        if event == "start":
            _check_attributes(element)
            continue
        yield element
        if _name(element) not in ("v", "f", "is", "t", "r"):
            element.clear()


def _check_attributes(element: Element) -> None:
    name = _name(element)
    for attribute, value in element.attrib.items():
        pattern = _TYPED.get((name, attribute))
        if pattern is not None and not pattern.fullmatch(value):
            raise container.BadContainer(f"{attribute} of {name} is {value[:40]!r} in the file")


def _count(content: bytes, name: str) -> int:
    return sum(_name(element) == name for element in _elements(content)) if content else 0


def _name(element: Element) -> str:
    """The name of an element of a workbook; empty for others."""
    space, mark, name = element.tag.rpartition("}")
    return name if f"{space}{mark}" in _MAIN else ""
