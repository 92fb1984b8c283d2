"""A workbook as its reader reported it, checked: cells, the inputs of its formulas, charts and pivot tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verikit.artifacts.box import BoxReader, observe
from verikit.artifacts.readers.reach import MOST_SPANNED, VOLATILE, by_lower_case
from verikit.artifacts.readers.references import CellArea, letters, reference
from verikit.artifacts.shape import Shape, each, mapping, record, scalar, text, truth, whole
from verikit.errors import AgentFault, WorkspaceError

_MANY = 200_000


@dataclass(frozen=True, slots=True)
class SeenCell:
    """One requested cell."""

    cell: str
    key: str
    formula: str
    value: str | bool | float | None
    error: str
    format: str
    hidden: str
    epoch_1904: bool


@dataclass(frozen=True, slots=True)
class SeenSeries:
    """A series of a chart, with the areas of the model that it draws."""

    type: str
    values: Sequence[str]
    categories: Sequence[str]
    name: Sequence[str]
    hidden: str
    problem: str
    """Why its areas can't be known."""
    base: bool
    """Whether it is drawn without ink under others of its stack."""


@dataclass(frozen=True, slots=True)
class SeenChart:
    """A chart of a sheet."""

    sheet: str
    hidden: str
    series: Sequence[SeenSeries]


@dataclass(frozen=True, slots=True)
class SeenPivot:
    """A pivot table of a sheet."""

    sheet: str
    hidden: str
    source: str
    """The area of the model that has its records."""
    columns_of: Mapping[str, int]
    """The columns of its fields in the source."""
    rows: Sequence[str]
    columns: Sequence[str]
    filters: Sequence[str]
    values: Sequence[Sequence[str]]
    """A field, a function and a caption each."""
    form: str
    """Why it does not plainly show its source."""
    totals: Sequence[bool]
    """Whether it must have a row and a column of totals."""
    computed: Sequence[str]
    """Headings of its source that are formulas."""
    cells: Sequence[Sequence[SeenCell]]
    """The rows that it fills."""
    first: Sequence[int]
    """The first row and column of its numbers, counted from 0."""
    missing: str
    """What it shows for values that are missing. Empty: nothing."""
    total: str
    """Its own label of grand totals. Empty: the usual one."""
    large: bool
    """Whether it has more cells than are read."""


@dataclass(frozen=True, slots=True)
class SeenPivots:
    """All pivot tables, and the model of their sources."""

    tables: Sequence[SeenPivot]
    model: Mapping[str, Any]
    problem: str


def _made(kind: Callable[..., Any], fields: Mapping[str, Shape]) -> Shape:
    """The shape of a record that becomes an object."""
    check = record(fields)
    return lambda value: kind(**check(value))


_cell = _made(SeenCell, {
    "cell": text, "key": text, "formula": text, "value": scalar, "error": text, "format": text, "hidden": text,
    "epoch_1904": truth,
})  # fmt: skip


_MODEL: Shape = record({
    "values": mapping(scalar, _MANY), "formulas": mapping(text, _MANY), "errors": mapping(text, _MANY),
    "needs": mapping(each(text, 10_000), _MANY), "problems": mapping(text, _MANY), "faults": mapping(text, _MANY),
    "functions": mapping(each(text, 1000), _MANY),
})  # fmt: skip
_AREAS = each(text, 1000)
_SERIES = _made(SeenSeries, {
    "type": text, "values": _AREAS, "categories": _AREAS, "name": _AREAS, "hidden": text, "problem": text,
    "base": truth,
})  # fmt: skip
_CHART = _made(SeenChart, {"sheet": text, "hidden": text, "series": each(_SERIES, 5000)})
_NAMES = each(text, 20_000)
_PIVOT = _made(SeenPivot, {
    "sheet": text, "hidden": text, "source": text, "columns_of": mapping(whole, 20_000), "rows": _NAMES,
    "columns": _NAMES, "filters": _NAMES, "values": each(each(text, 3), 20_000), "form": text,
    "totals": each(truth, 2), "computed": _NAMES, "cells": each(each(_cell, 20_000), 20_000), "first": each(whole, 2),
    "missing": text, "total": text, "large": truth,
})  # fmt: skip
_PIVOTS = _made(SeenPivots, {"tables": each(_PIVOT, 1000), "model": _MODEL, "problem": text})
_SHAPE: Shape = record({
    "sheets": each(record({"title": text, "state": text, "key": text}), 10_000), "names": mapping(text, 10_000),
    "macros": truth, "links": each(text, 10_000), "cells": mapping(each(_cell, 20_000), 10_000),
    "missing": each(text, 10_000), "model": _MODEL, "problem": text, "charts": each(_CHART, 1000), "pivots": _PIVOTS,
})  # fmt: skip
READER = BoxReader(
    "verikit.artifacts.readers.workbook", {"openpyxl": "reading workbooks"}, "office", _SHAPE, kind="xlsx"
)


@dataclass(frozen=True)
class SeenWorkbook:
    """The observation of a workbook."""

    sheets: Sequence[Mapping[str, str]]
    names: Mapping[str, str]
    macros: bool
    links: Sequence[str]
    cells: Mapping[str, Sequence[SeenCell]]
    missing: Sequence[str]
    model: Mapping[str, Any]
    problem: str
    charts: Sequence[SeenChart] = ()
    pivots: SeenPivots = SeenPivots((), {}, "")

    @classmethod
    def read(
        cls,
        blob: bytes,
        cells: Sequence[str],
        model: Sequence[str],
        *,
        charts: bool = False,
        pivots: Sequence[tuple[str, Sequence[str]]] = (),
    ) -> SeenWorkbook:
        """Have a workbook read in the sandbox.

        Args:
            blob: The file.
            cells: References to describe.
            model: The cells among them whose formulas are followed.
            charts: Whether to read its charts.
            pivots: The sources and fields of the requested pivot tables. Without them none is read.

        Raises:
            AgentFault: It is not a workbook that is safe to open.
            WorkspaceError: The reader died.
            MissingExtra: openpyxl is not installed.
        """
        request = {"cells": list(dict.fromkeys(cells)), "model": list(model), "charts": charts, "pivots": bool(pivots),
                   "sources": [*map(list, pivots)]}  # fmt: skip
        return cls(**observe(READER, [blob], request))

    def asked(self, name: str) -> Sequence[SeenCell]:
        """The cells of a reference.

        Raises:
            AgentFault: Its sheet does not exist.
        """
        found = self.cells.get(name, ())
        if not found:
            raise AgentFault(f"{name} is not in the workbook")
        return found

    def one(self, name: str) -> SeenCell:
        """The cell of a reference.

        Raises:
            AgentFault: Its sheet does not exist.
        """
        return self.asked(name)[0]

    def reached(self, *keys: str) -> set[str]:
        """Cells of the model and all that their formulas need. No cell is visited twice, nor is an area.

        Raises:
            WorkspaceError: They span more cells than the reader follows.
        """
        seen, pending, areas, spanned = set(keys), [*keys], set[str](), 0
        while pending:
            for area in self.model["needs"].get(pending.pop(), ()):
                if area not in areas:
                    areas.add(area)
                    needed = keys_of(area)
                    spanned += len(needed)
                    if spanned > MOST_SPANNED:
                        raise WorkspaceError("the workbook reader reported more cells than were requested")
                    fresh = set(needed) - seen
                    seen |= fresh
                    pending += fresh
        return seen

    def told_of(self, keys: set[str], kind: str) -> str:
        """The first problem or error of some cells; empty if they don't have one."""
        found: Mapping[str, str] = self.model[kind]
        return next((found[key] for key in sorted(keys & set(found))), "")

    def functions(self, keys: set[str]) -> set[str]:
        """The functions that some cells name."""
        found: Mapping[str, Sequence[str]] = self.model["functions"]
        return {name for key in keys & set(found) for name in found[key]}

    def volatile(self, keys: set[str]) -> set[str]:
        """Functions among them whose value changes on its own."""
        return self.functions(keys) & VOLATILE

    def key_of(self, name: str) -> str:
        """A reference as the model names its area. Without a sheet it is on the first visible one.

        Empty if its sheet does not exist.
        """
        area = reference(name)
        assert area is not None
        first = next((one["key"] for one in self.sheets if one["key"] and one["state"] == "visible"), "")
        sheet = self.sheet_key(area.sheet) if area.sheet else first
        if not sheet:
            return ""
        start = f"{sheet}!{letters(area.left)}{area.top}"
        return start if area.size == 1 else f"{start}:{letters(area.right)}{area.bottom}"

    def named(self, area: str) -> str:
        """An area of the model with the title of its sheet, for reasons."""
        key, mark, cells = area.partition("!")
        title = next((sheet["title"] for sheet in self.sheets if sheet["key"] == key), key)
        return f"{title}{mark}{cells}"

    def sheet_key(self, name: str) -> str:
        """A sheet of cells as the model names it, by its exact title, or else in any case. Empty if it isn't there."""
        keys = {sheet["title"]: sheet["key"] for sheet in self.sheets if sheet["key"]}
        title = name if name in keys else by_lower_case(keys).get(name.casefold())
        return "" if title is None else keys[title]


def keys_of(area: str) -> list[str]:
    """The cells of an area of the model (`S1!B2:C5`)."""
    found = reference(area)
    if found is None or found.size > _MANY:
        return []
    return [f"{found.sheet}!{letters(column)}{row}" for row, column in _places(found)]


def _places(area: CellArea) -> list[tuple[int, int]]:
    return [(row, column) for row in range(area.top, area.bottom + 1) for column in range(area.left, area.right + 1)]
