"""The parts of a workbook next to its cells: which sheet shows which drawings and pivot tables."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any
from xml.etree import ElementTree

from verikit.artifacts.readers import container
from verikit.artifacts.readers.alternatives import S
from verikit.artifacts.readers.reach import OpenWorkbook, WrittenFormula
from verikit.artifacts.readers.references import CellArea, pieces
from verikit.artifacts.readers.slides.package import Element, Package, R

_CELLS = re.compile(rb"<(?:\w+:)?sheetData[\s/>]")
_END = re.compile(rb"</(?:\w+:)?sheetData\s*>|<(?:\w+:)?sheetData\s*/>")
_BESIDE_CELLS = ("drawing", "pivotTable")
"""Relationships of sheets that openpyxl need not read."""
_MOST_AREAS = 100
"""Of one reference."""


@dataclass(frozen=True)
class SheetPart:
    """A sheet of cells or of one chart."""

    title: str
    state: str
    part: str
    is_chart: bool


def cells_only(parts: Mapping[str, bytes], blob: bytes) -> bytes:
    """The workbook without its drawings and pivot tables, which `openpyxl` would parse for each sheet, or fail on.

    Parts are known by their content, since they may have any name and folder.

    Raises:
        BadContainer: One of these is not XML.
    """
    related = {name: _without(parts[name], _beside_cells) for name in filter(_is_related, parts)}
    caches = {name: _without(content, _is_list_of_caches) for name, content in parts.items()
              if name == "xl/workbook.xml" or _names_caches(content)}  # fmt: skip
    changed = {name: content for name, content in {**related, **caches}.items() if content}
    if not changed:
        return blob
    _check_left_out(parts)
    return _repacked(parts, blob, changed)


def _repacked(parts: Mapping[str, bytes], blob: bytes, changed: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(blob)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, changed.get(name) or parts.get(name) or container.unpacked(old, name))
    return out.getvalue()


def _is_related(name: str) -> bool:
    """Whether a part has relationships of another one."""
    return name.lower().endswith(".rels")


def _names_caches(content: bytes) -> bool:
    """Whether a part may list the caches of pivot tables, in UTF-8 or UTF-16. Names of elements have no other form."""
    return b"pivotCaches" in (content.replace(b"\0", b"") if b"\0" in content[:4] else content)


def _is_list_of_caches(child: Element) -> bool:
    return child.tag.rpartition("}")[2] == "pivotCaches"


def _beside_cells(child: Element) -> bool:
    return child.get("Type", "").rpartition("/")[2] in _BESIDE_CELLS


def _without(content: bytes, is_left_out: Callable[[Element], bool]) -> bytes:
    """A part without some children of its root. Empty: it has none of them."""
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError, ValueError) as problem:
        raise container.BadContainer(f"a part of the file is not XML: {problem}") from None
    left_out = [*filter(is_left_out, root)]
    for child in left_out:
        root.remove(child)
    try:
        written = ElementTree.tostring(root)
        return written if left_out else b""
    except RecursionError:
        raise container.BadContainer(
            "a part of the file has more elements in elements than any program writes"
        ) from None


def _check_left_out(parts: Mapping[str, bytes]) -> None:
    """Look for errors in the parts that only drawings and pivot tables use, which openpyxl does not get to see."""
    package = Package(parts, {})
    sources = [name.lower().replace("_rels/", "").removesuffix(".rels") for name in filter(_is_related, parts)]
    related = chain.from_iterable(package.relations(name).values() for name in sources)
    pending = [one.target for one in related if one.kind in (*_BESIDE_CELLS, "pivotCacheDefinition")]
    seen = set[str]()
    while pending:
        name = pending.pop()
        if name not in seen and package.content(name):
            seen.add(name)
            container.well_formed(package.content(name))
            pending += [one.target for one in package.relations(name).values()]


def sheet_parts(package: Package) -> list[SheetPart]:
    """The sheets of a workbook, in order.

    Raises:
        BadContainer: A part is not XML, or is too large.
    """
    main = package.related("", "officeDocument")
    root, relations = package.tree(main), package.relations(main)
    found = []
    for sheet in root.iterfind(f"{S}sheets/{S}sheet") if root is not None else ():
        relation = relations.get(sheet.get(f"{R}id", ""))
        if relation is not None and relation.kind in ("worksheet", "chartsheet"):
            state = sheet.get("state", "visible")
            found.append(SheetPart(sheet.get("name", ""), state, relation.target, relation.kind == "chartsheet"))
    return found


def drawing_of(package: Package, sheet: SheetPart) -> str:
    """The part of the drawing that a sheet shows; empty: none."""
    drawings = {name: one.target for name, one in package.relations(sheet.part).items() if one.kind == "drawing"}
    found = _around_cells(package, sheet.part).findall(f"{S}drawing") if drawings else []
    return drawings.get(found[0].get(f"{R}id", ""), "") if len(found) == 1 else ""


def _around_cells(package: Package, name: str) -> Element:
    """A sheet's XML without its rows, which may be many megabytes. A sheet with comments is parsed as a whole."""
    content = package.content(name)
    first, ends = _CELLS.search(content), list(_END.finditer(content))
    if first and ends and not (b"<!--" in content or b"<![CDATA[" in content or content.count(b"<?") > 1):
        try:
            return ElementTree.fromstring(content[: first.start()] + content[ends[-1].end() :])
        except (ElementTree.ParseError, LookupError, ValueError):
            pass  # `tree` names the problem
    tree = package.tree(name)
    return tree if tree is not None else Element("none")


def areas(book: OpenWorkbook, title: str, text: str) -> tuple[list[str], str]:
    """The areas of a reference, as the model names them, and why they can't be known.

    There are no areas if the text is no reference, or refers to something outside the workbook. Names are followed.

    Args:
        book: The workbook.
        title: The sheet of a reference without a sheet.
        text: The reference.
    """
    text = text.strip().removeprefix("[0]!")  # the workbook's own names
    sheet = _sheet_of(book, title, text)
    if sheet is None or not text:
        return [], ""
    formula = _Reference(book, (sheet, 1, 1), "")
    written = formula.written("=" + text)
    if formula.problem:
        return [], formula.problem
    found = [book.named(area) for area in formula.areas]
    if formula.open_ended:
        return [], "a range to the edge of its sheet"
    plain = re.sub(r"[()]", "", written.removeprefix("=")).strip()
    is_list = re.sub(r"\s*,\s*", ",", plain) == ",".join(found)  # a space between two areas is an operator
    return (found, "") if is_list and len(found) <= _MOST_AREAS and not formula.fault else ([], "")


class _Reference(WrittenFormula):
    open_ended = False
    """Whether it names whole columns or rows, of which formulas read the used part."""

    def _area(self, area: CellArea, text: str) -> str:
        self.open_ended = self.open_ended or area.open_ended
        return super()._area(area, text)


def _sheet_of(book: OpenWorkbook, title: str, text: str) -> str | None:
    """The sheet whose names a reference uses first."""
    named = next((piece.sheet for piece in pieces(text) if piece.kind == "name"), "")
    return book.title_of(named) or (title if title in book.sheets else book.first)


def whole_table(book: OpenWorkbook, name: str) -> str:
    """The area of a table with its headings and without its totals, as the model names it; empty: no such table."""
    found = book.tables.get(name.casefold())
    table: Any = found[1] if found else None
    if found is None or not (area := areas(book, found[0], f"{_quoted(found[0])}!{table.ref}")[0]):
        return ""
    if not table.totalsRowCount:
        return area[0]
    first, _, last = area[0].partition(":")
    column = last.rstrip("0123456789")
    return f"{first}:{column}{int(last[len(column) :]) - table.totalsRowCount}" if last else area[0]


def _quoted(title: str) -> str:
    return "'" + title.replace("'", "''") + "'"
