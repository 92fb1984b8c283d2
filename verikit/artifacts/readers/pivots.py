"""Reads the pivot tables of a workbook in the sandbox: definition, source, and the cells that the sheet shows.

Stored records are ignored: what a pivot table must show is computed from the cells of its source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from verikit.artifacts.readers import container
from verikit.artifacts.readers.alternatives import Ambiguous, S, check_alike, only
from verikit.artifacts.readers.anchors import MOST_AWAY
from verikit.artifacts.readers.hidden import too_narrow
from verikit.artifacts.readers.reach import OpenWorkbook, Reach, TooFar
from verikit.artifacts.readers.references import CellArea, reference
from verikit.artifacts.readers.sheet_parts import SheetPart, areas, sheet_parts, whole_table
from verikit.artifacts.readers.slides.package import Element, Package, R, truth, whole

MOST_PIVOTS = 100
MOST_SHOWN = 20_000
"""Cells of a pivot table."""
_MOST_FIELDS = 16_384
_VALUES = -2
"""The number of the field that stands for the values."""
_OWN_SUBTOTALS = ("sumSubtotal", "countASubtotal", "avgSubtotal", "maxSubtotal", "minSubtotal", "productSubtotal",
                  "countSubtotal", "stdDevSubtotal", "stdDevPSubtotal", "varSubtotal", "varPSubtotal")  # fmt: skip
_LAYOUT = ("compact", "outline", "defaultSubtotal", "subtotalTop")
_CALCULATED = (f"{S}calculatedItem", f"{S}calculatedMember")
_UNREAD: dict[str, Any] = {
    "source": "", "columns_of": {}, "computed": [], "rows": [], "columns": [], "filters": [], "values": [], "form": "",
    "totals": [], "cells": [], "first": [0, 0], "missing": "", "total": "", "large": False,
}  # fmt: skip
"""What is told of a pivot table that is not read."""
Describe = Callable[[str, int, int], dict[str, Any]]
"""Describes a cell of a sheet."""


class Pivots:
    """The pivot tables of a workbook, and all cells that their sources need.

    Args:
        package: The parts of the file.
        book: The workbook.
        describe: Describes a cell.
        wanted: The requested sources, each with the fields that are used. Cells of others are not read.
    """

    def __init__(
        self, package: Package, book: OpenWorkbook, describe: Describe, wanted: Sequence[tuple[str, Sequence[str]]]
    ) -> None:
        self._package, self._book, self._describe = package, book, describe
        self._reach = Reach(book)
        self._wanted = {(self._area(source), _folded(fields)) for source, fields in wanted}
        self._left = MOST_SHOWN * len(wanted)
        self._followed: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}

    def observation(self, asked: bool) -> dict[str, Any]:
        """All pivot tables of all sheets, and the model of their sources. Nothing if they are not asked for.

        Raises:
            BadContainer: A part is not XML or too large, or there are more pivot tables than any workbook has.
        """
        found: list[dict[str, Any]] = []
        for sheet in sheet_parts(self._package) if asked else ():
            for relation in self._package.relations(sheet.part).values():
                root = self._package.tree(relation.target) if relation.kind == "pivotTable" else None
                if root is None:
                    continue
                if len(found) >= MOST_PIVOTS:
                    raise container.BadContainer(f"more than {MOST_PIVOTS} pivot tables are not read")
                found.append({"sheet": sheet.title, **_UNREAD, **self._told(sheet, relation.target, root)})
        return {"tables": found, "model": self._reach.model(), "problem": self._reach.problem}

    def _area(self, source: str) -> str:
        """A requested source as the model names it; empty if its sheet does not exist."""
        area = reference(source)
        title = self._book.title_of(area.sheet) if area is not None and area.sheet else self._book.first
        if area is None or title is None:
            return ""
        return self._book.named(CellArea(title, area.top, area.left, area.bottom, area.right))

    def _told(self, sheet: SheetPart, part: str, root: Element) -> dict[str, Any]:
        try:
            cache = self._cache(part, root)
            for one in (root, cache):
                check_alike(one)
            return self._one(sheet, root, cache)
        except Ambiguous as problem:
            return {"hidden": str(problem)}

    def _one(self, sheet: SheetPart, root: Element, cache: Element) -> dict[str, Any]:
        fields = _listed(cache, "cacheFields", "cacheField")
        if len(fields) > _MOST_FIELDS:
            raise container.BadContainer(f"more than {_MOST_FIELDS} fields of a pivot table are not read")
        names = [field.get("name", "") for field in fields]
        axes = {name: _axis(root, tag, attribute) for name, (tag, attribute) in _AXES.items()}
        told: dict[str, Any] = {
            name: [_name(names, number) for number in numbers if number != _VALUES] for name, numbers in axes.items()
        }
        data = _listed(root, "dataFields", "dataField")[:_MOST_FIELDS]
        told["values"] = [[_name(names, whole(one, "fld", -1)), one.get("subtotal", "sum"), one.get("name", "")]
                          for one in data]  # fmt: skip
        told["source"] = self._source(sheet, cache)
        told["form"] = _Definition(root, cache, axes).rare()
        told["missing"] = root.get("missingCaption", "") if truth(root, "showMissing", default=True) else ""
        told["total"] = root.get("grandTotalCaption", "")
        told["totals"] = [truth(root, name, default=True) for name in ("colGrandTotals", "rowGrandTotals")]
        used = [*told["rows"], *told["columns"], *(name for name, _, _ in told["values"])]
        is_wanted = (told["source"], _folded(used)) in self._wanted
        return {"hidden": self._hidden(sheet, root), **told,
                **(self._columns(told["source"], (*used,)) if is_wanted else {}),
                **self._place(sheet, root, is_wanted)}  # fmt: skip

    def _hidden(self, sheet: SheetPart, root: Element) -> str:
        """Why nobody sees a pivot table; empty if people do."""
        if sheet.state != "visible":
            return "its sheet is hidden"
        area, shown = _area(root), self._book.sheets.get(sheet.title)
        return "it is far from the other cells" if area and shown and self._is_far(area, shown) else ""

    def _is_far(self, area: CellArea, shown: Any) -> bool:
        if area.top <= MOST_AWAY[0] and area.left <= MOST_AWAY[1]:
            return False
        others = [place for place, cell in shown._cells.items() if cell.value is not None and not _is_in(area, *place)]
        end = [max((place[axis] for place in others), default=0) + MOST_AWAY[axis] for axis in (0, 1)]
        return area.top > end[0] or area.left > end[1]

    def _cache(self, part: str, root: Element) -> Element:
        """The definition of a pivot table's cache; an empty element if it is missing or not the workbook's."""
        targets = [one.target for one in self._package.relations(part).values() if one.kind == "pivotCacheDefinition"]
        main = self._package.related("", "officeDocument")
        workbook, relations = self._package.tree(main), self._package.relations(main)
        caches = _listed(workbook, "pivotCaches", "pivotCache") if workbook is not None else []
        own = [one for one in caches if one.get("cacheId", "") == root.get("cacheId")]
        relation = relations.get(own[0].get(f"{R}id", "")) if len(own) == 1 else None
        found = self._package.tree(targets[0]) if relation is not None and targets == [relation.target] else None
        return found if found is not None else Element("none")

    def _source(self, sheet: SheetPart, cache: Element) -> str:
        """The area of the records with their headings; empty if it is not one fixed area."""
        source = only(cache, f"{S}cacheSource", f"{S}worksheetSource")
        if source is None or source.get(f"{R}id") is not None:
            return ""
        name, place, title = source.get("name", ""), source.get("ref", ""), source.get("sheet", "")
        if name and (table := whole_table(self._book, name)):
            return table
        quoted = "'" + title.replace("'", "''") + "'!" if title else ""
        found, _ = areas(self._book, sheet.title, (quoted + (name or place))[:8192])
        return found[0] if len(found) == 1 else ""

    def _columns(self, source: str, used: tuple[str, ...]) -> dict[str, Any]:
        """The columns of the used fields of a source, which is read once."""
        if (source, used) not in self._followed:
            self._followed[source, used] = self._read_columns(source, used)
        return self._followed[source, used]

    def _read_columns(self, source: str, used: tuple[str, ...]) -> dict[str, Any]:
        """The columns of the used fields, by their headings, and the headings that are formulas.

        The cells of these columns go into the model.
        """
        area = reference(source)
        if area is None:
            return {}
        title = self._title(area)
        headings, computed = self._headings(area)
        found = {name: headings[name.casefold()] for name in used if name.casefold() in headings}
        try:
            for column in found.values():
                for row in range(area.top + 1, area.bottom + 1):
                    self._reach.follow(title, row, column)
        except TooFar as problem:
            self._reach.problem = str(problem)
        return {"columns_of": found, "computed": computed}

    def _headings(self, area: CellArea) -> tuple[dict[str, int], list[str]]:
        headings: dict[str, int] = {}
        computed = []
        for column in range(area.left, area.right + 1):
            content = self._book.content(self._title(area), area.top, column)
            if content.formula:
                computed.append(self._book.key(self._title(area), area.top, column))
            headings.setdefault(_text(content.value).casefold(), column)
        return headings, computed

    def _title(self, area: CellArea) -> str:
        return [*self._book.sheets][int(area.sheet[1:]) - 1]

    def _place(self, sheet: SheetPart, root: Element, is_wanted: bool) -> dict[str, Any]:
        """The cells that the pivot table fills, by rows, and the first row and column of its numbers."""
        area, location = _area(root), only(root, f"{S}location")
        first = [max(whole(location, name), 0) for name in ("firstDataRow", "firstDataCol")]
        if not is_wanted or area is None or area.sheet or sheet.title not in self._book.sheets:
            return {"first": first}
        if area.size > min(MOST_SHOWN, self._left):
            return {"first": first, "large": True}
        self._left -= area.size
        cells = [[self._cell(sheet.title, row, column) for column in range(area.left, area.right + 1)]
                 for row in range(area.top, area.bottom + 1)]  # fmt: skip
        return {"cells": cells, "first": first}

    def _cell(self, title: str, row: int, column: int) -> dict[str, Any]:
        told = self._describe(title, row, column)
        value = told["value"]
        if not told["hidden"] and isinstance(value, float) and too_narrow(self._book.sheets[title], column, value):
            told["hidden"] = "its column is too narrow"
        return told


def _area(root: Element) -> CellArea | None:
    """The cells of a pivot table."""
    location = only(root, f"{S}location")
    return reference(location.get("ref", "")) if location is not None else None


def _is_in(area: CellArea, row: int, column: int) -> bool:
    return area.top <= row <= area.bottom and area.left <= column <= area.right


def _listed(element: Element, tag: str, inner: str) -> list[Element]:
    """The elements of a list."""
    found = only(element, f"{S}{tag}")
    return found.findall(f"{S}{inner}") if found is not None else []


_AXES = {"rows": ("rowFields", "x"), "columns": ("colFields", "x"), "filters": ("pageFields", "fld")}


def _axis(root: Element, tag: str, attribute: str) -> list[int]:
    axis = only(root, f"{S}{tag}")
    return [whole(one, attribute, -1) for one in axis][:_MOST_FIELDS] if axis is not None else []


def _name(names: Sequence[str], number: int) -> str:
    return names[number] if 0 <= number < len(names) else ""


def _folded(names: Sequence[str]) -> frozenset[str]:
    return frozenset(name.casefold() for name in names)


def _text(value: Any) -> str:
    """A heading as pivot tables name it."""
    return f"{value:.15g}" if isinstance(value, float) else str(value or "")


class _Definition:
    """What a pivot table declares."""

    def __init__(self, root: Element, cache: Element, axes: dict[str, list[int]]) -> None:
        self._root, self._cache, self._axes = root, cache, axes
        self._pivot = _listed(root, "pivotFields", "pivotField")
        self._fields = list(enumerate(_listed(cache, "cacheFields", "cacheField")))
        self._data = _listed(root, "dataFields", "dataField")[:_MOST_FIELDS]
        self._used = [number for name in ("rows", "columns") for number in axes[name] if 0 <= number < len(self._pivot)]

    def rare(self) -> str:
        """Why a pivot table does not plainly show its source, or has a rare layout. Empty if it does."""
        reasons = {
            "a field has groups": self._has_groups,
            "it omits items": self._is_filtered,
            "a value is shown as a difference or a percentage": self._shows_other,
            "it has calculated fields or items": self._is_calculated,
            "a field has subtotals of another kind, or blank rows": self._has_rare_lines,
            "the values are not the last field of the columns": self._has_values_elsewhere,
            "its fields have several layouts": self._is_mixed,
        }
        return next((reason for reason, applies in reasons.items() if applies()), "")

    def _has_groups(self) -> bool:
        return any(field.find(f"{S}fieldGroup") is not None for number, field in self._fields if number in self._used)

    def _is_filtered(self) -> bool:
        """Whether an item is hidden or selected, or a filter is set. Fields outside the table filter nothing."""
        pages = _listed(self._root, "pageFields", "pageField")
        if _listed(self._root, "filters", "filter") or any(page.get("item") is not None for page in pages):
            return True
        shown = {*self._used, *self._axes["filters"]}
        fields = [field for number, field in enumerate(self._pivot) if number in shown]
        hidden = any(truth(item, "h") for field in fields for item in _listed(field, "items", "item"))
        return hidden or any(truth(field, "autoShow") for field in fields)

    def _shows_other(self) -> bool:
        """Whether a value is shown as something else, or an extension shows it so."""
        shown = any(one.get("showDataAs", "normal") != "normal" for one in self._data)
        return shown or any(one.get("pivotShowAs", "normal") != "normal" for data in self._data for one in data.iter())

    def _is_calculated(self) -> bool:
        numbers = {*self._used, *(whole(one, "fld", -1) for one in self._data)}
        fields = any(not truth(field, "databaseField", default=True) or field.get("formula")
                     for number, field in self._fields if number in numbers)  # fmt: skip
        return fields or any(one.tag in _CALCULATED for one in self._cache.iter())

    def _has_rare_lines(self) -> bool:
        return any(truth(self._pivot[number], name) for number in self._used
                   for name in (*_OWN_SUBTOTALS, "insertBlankRow"))  # fmt: skip

    def _has_values_elsewhere(self) -> bool:
        rows, columns = self._axes["rows"], self._axes["columns"]
        return _VALUES in rows or (len(self._data) > 1 and (columns.count(_VALUES), columns[-1:]) != (1, [_VALUES]))

    def _is_mixed(self) -> bool:
        """Whether the outer fields of an axis have several layouts."""
        for name in ("rows", "columns"):
            outer = [number for number in self._axes[name] if 0 <= number < len(self._pivot)][:-1]
            if len({tuple(truth(self._pivot[number], one, default=True) for one in _LAYOUT) for number in outer}) > 1:
                return True
        return False
