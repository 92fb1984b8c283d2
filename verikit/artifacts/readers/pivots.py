"""Reads the pivot tables of a workbook in the sandbox: definition, source, and the cells that the sheet shows.

Stored records are ignored: what a pivot table must show is computed from the cells of its source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from verikit.artifacts.readers import container
from verikit.artifacts.readers.reach import OpenWorkbook, Reach, TooFar
from verikit.artifacts.readers.references import CellArea, reference
from verikit.artifacts.readers.sheet_parts import S, SheetPart, areas, sheet_parts, whole_table
from verikit.artifacts.readers.slides.package import Element, Package, R, truth, whole

MOST_PIVOTS = 100
MOST_SHOWN = 20_000
"""Cells of all pivot tables."""
_MOST_FIELDS = 16_384
_VALUES = -2
"""The number of the field that stands for the values."""
_OWN_SUBTOTALS = ("sumSubtotal", "countASubtotal", "avgSubtotal", "maxSubtotal", "minSubtotal", "productSubtotal",
                  "countSubtotal", "stdDevSubtotal", "stdDevPSubtotal", "varSubtotal", "varPSubtotal")  # fmt: skip
_LAYOUT = ("compact", "outline", "defaultSubtotal", "subtotalTop")
Describe = Callable[[str, int, int], dict[str, Any]]
"""Describes a cell of a sheet."""


class Pivots:
    """The pivot tables of a workbook, and all cells that their sources need.

    Args:
        package: The parts of the file.
        book: The workbook.
        describe: Describes a cell.
    """

    def __init__(self, package: Package, book: OpenWorkbook, describe: Describe) -> None:
        self._package, self._book, self._describe = package, book, describe
        self._reach = Reach(book)
        self._shown = 0

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
                found.append(self._one(sheet, relation.target, root))
        return {"tables": found, "model": self._reach.model(), "problem": self._reach.problem}

    def _one(self, sheet: SheetPart, part: str, root: Element) -> dict[str, Any]:
        cache = self._cache(part, root)
        fields = cache.findall(f"{S}cacheFields/{S}cacheField")
        if len(fields) > _MOST_FIELDS:
            raise container.BadContainer(f"more than {_MOST_FIELDS} fields of a pivot table are not read")
        names = [field.get("name", "") for field in fields]
        axes = {name: _axis(root, tag, attribute) for name, (tag, attribute) in _AXES.items()}
        told: dict[str, Any] = {
            name: [_name(names, number) for number in numbers if number != _VALUES] for name, numbers in axes.items()
        }
        data = root.findall(f"{S}dataFields/{S}dataField")[:_MOST_FIELDS]
        told["values"] = [[_name(names, whole(one, "fld", -1)), one.get("subtotal", "sum"), one.get("name", "")]
                          for one in data]  # fmt: skip
        told["source"], told["problem"] = self._source(sheet, cache)
        told["refreshes"] = truth(cache, "refreshOnLoad")
        told["form"] = _form(root, fields, axes, len(data))
        told["columns_of"] = self._columns(told)
        return {"sheet": sheet.title, "hidden": "" if sheet.state == "visible" else "its sheet is hidden",
                **told, **self._place(sheet, root)}  # fmt: skip

    def _cache(self, part: str, root: Element) -> Element:
        """The definition of a pivot table's cache; an empty element if it is missing or not the workbook's."""
        target = self._package.related(part, "pivotCacheDefinition")
        main = self._package.related("", "officeDocument")
        workbook, relations = self._package.tree(main), self._package.relations(main)
        for one in workbook.iterfind(f"{S}pivotCaches/{S}pivotCache") if workbook is not None else ():
            relation = relations.get(one.get(f"{R}id", ""))
            if one.get("cacheId") == root.get("cacheId") and relation is not None and relation.target == target:
                found = self._package.tree(target)
                return found if found is not None else Element("none")
        return Element("none")

    def _source(self, sheet: SheetPart, cache: Element) -> tuple[str, str]:
        """The area of the records with their headings, and why it can't be known."""
        source = cache.find(f"{S}cacheSource/{S}worksheetSource")
        if source is None or source.get(f"{R}id") is not None:
            return "", ""
        name, place, title = source.get("name", ""), source.get("ref", ""), source.get("sheet", "")
        if name and (table := whole_table(self._book, name)):
            return table, ""
        quoted = "'" + title.replace("'", "''") + "'!" if title else ""
        found, problem = areas(self._book, sheet.title, (quoted + (name or place))[:8192])
        return found[0] if len(found) == 1 else "", problem

    def _columns(self, told: dict[str, Any]) -> dict[str, int]:
        """The columns of the used fields, by their headings. The cells of these columns go into the model."""
        area = reference(told["source"])
        if area is None:
            return {}
        title, headings = self._title(area), self._headings(area, told)
        used = dict.fromkeys([*told["rows"], *told["columns"], *(name for name, _, _ in told["values"])])
        found = {name: headings[name.casefold()] for name in used if name.casefold() in headings}
        try:
            for column in found.values():
                for row in range(area.top + 1, area.bottom + 1):
                    self._reach.follow(title, row, column)
        except TooFar as problem:
            self._reach.problem = str(problem)
        return found

    def _headings(self, area: CellArea, told: dict[str, Any]) -> dict[str, int]:
        headings: dict[str, int] = {}
        for column in range(area.left, area.right + 1):
            content = self._book.content(self._title(area), area.top, column)
            if content.formula:
                told["problem"] = told["problem"] or "a heading of its source is a formula"
            headings.setdefault(_text(content.value).casefold(), column)
        return headings

    def _title(self, area: CellArea) -> str:
        return [*self._book.sheets][int(area.sheet[1:]) - 1]

    def _place(self, sheet: SheetPart, root: Element) -> dict[str, Any]:
        """The cells that the pivot table fills, by rows, and the first row and column of its numbers."""
        location = root.find(f"{S}location")
        area = reference(location.get("ref", "")) if location is not None else None
        first = [max(whole(location, name), 0) for name in ("firstDataRow", "firstDataCol")]
        if area is None or area.sheet or sheet.title not in self._book.sheets:
            return {"cells": [], "first": first, "large": False}
        self._shown += area.size
        if self._shown > MOST_SHOWN:
            return {"cells": [], "first": first, "large": True}
        cells = [[self._describe(sheet.title, row, column) for column in range(area.left, area.right + 1)]
                 for row in range(area.top, area.bottom + 1)]  # fmt: skip
        return {"cells": cells, "first": first, "large": False}


_AXES = {"rows": ("rowFields", "x"), "columns": ("colFields", "x"), "filters": ("pageFields", "fld")}


def _axis(root: Element, tag: str, attribute: str) -> list[int]:
    axis = root.find(f"{S}{tag}")
    return [whole(one, attribute, -1) for one in axis][:_MOST_FIELDS] if axis is not None else []


def _name(names: Sequence[str], number: int) -> str:
    return names[number] if 0 <= number < len(names) else ""


def _text(value: Any) -> str:
    """A heading as pivot tables name it."""
    return f"{value:.15g}" if isinstance(value, float) else str(value or "")


def _form(root: Element, fields: Sequence[Element], axes: dict[str, list[int]], data: int) -> str:
    """Why what a pivot table must show is not computed: it has groups or a rare layout. Empty if it is."""
    pivot = root.findall(f"{S}pivotFields/{S}pivotField")
    used = [number for name in ("rows", "columns") for number in axes[name] if 0 <= number < len(pivot)]
    if any(_has_groups(field) for number, field in enumerate(fields) if number in used):
        return "a field has groups"
    if any(truth(pivot[number], name) for number in used for name in (*_OWN_SUBTOTALS, "insertBlankRow")):
        return "a field has subtotals of another kind, or blank rows"
    places = [axes[name].index(_VALUES) - len(axes[name]) for name in ("rows", "columns") if _VALUES in axes[name]]
    if _VALUES in axes["rows"] or (data > 1 and places != [-1]):
        return "the values are not the last field of the columns"
    return "its fields have several layouts" if _is_mixed(pivot, axes) else ""


def _has_groups(field: Element) -> bool:
    return field.find(f"{S}fieldGroup") is not None


def _is_mixed(pivot: Sequence[Element], axes: dict[str, list[int]]) -> bool:
    """Whether the outer fields of an axis have several layouts."""
    for name in ("rows", "columns"):
        outer = [number for number in axes[name] if 0 <= number < len(pivot)][:-1]
        layouts = {tuple(truth(pivot[number], one, default=True) for one in _LAYOUT) for number in outer}
        if len(layouts) > 1:
            return True
    return False
