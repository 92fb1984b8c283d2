"""The check of pivot tables: their definitions, and whether they show what their sources give today.

Plain Python computes what a pivot table must show, from the recalculated cells of its source.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeGuard

from verikit.artifacts.readers.references import reference
from verikit.errors import UsageError
from verikit.types import Score
from verikit.verifiers.xlsx import number_formats
from verikit.verifiers.xlsx.engines import Found, Same
from verikit.verifiers.xlsx.observed import SeenCell, SeenPivot, SeenWorkbook
from verikit.verifiers.xlsx.pivot_layout import (
    Content,
    Item,
    Line,
    Prefix,
    layouts,
    prefixes,
    shows_item,
)
from verikit.verifiers.xlsx.pivot_sources import Given, Groups, PivotSources, Records, where_of
from verikit.verifiers.xlsx.verdicts import YES, best, no, together

FUNCTIONS = ("average", "count", "max", "min", "sum")
_PIVOT = {"sheet", "source", "rows", "columns", "filters", "values"}
_EXAMPLE = 'pivot=[{"source": "Data!A1:D9", "rows": ["item"], "values": {"price": "sum"}}]'
Places = Sequence[tuple[Prefix, int] | None]


def check_pivots(asked: Sequence[Mapping[str, Any]]) -> None:
    """Look for errors in the option.

    Raises:
        UsageError: A pivot table has no source or no values, or an unknown key, function or reference.
    """
    if not isinstance(asked, list | tuple):
        raise _usage(f"pivot must be a list, got {asked!r:.80}")
    for number, pivot in enumerate(asked):
        name = f"pivot[{number}]"
        if not isinstance(pivot, Mapping) or not {"source", "values"} <= set(pivot) <= _PIVOT:
            raise _usage(f"{name} must have `source` and `values`, and may have `columns`, `filters`, `rows`, `sheet`; "
                         f"got {pivot!r:.80}")  # fmt: skip
        if not isinstance(pivot.get("sheet", ""), str):
            raise _usage(f"{name}.sheet must be a string, got {pivot['sheet']!r:.80}")
        area = reference(pivot["source"]) if isinstance(pivot["source"], str) else None
        if area is None or area.open_ended or area.top == area.bottom:
            raise UsageError(f"{name}.source must be a range of headings and records, without whole columns, got "
                             f"{pivot['source']!r:.80}", hint="Data!A1:D9")  # fmt: skip
        for axis in ("rows", "columns", "filters"):
            if not _is_names(pivot.get(axis, ())):
                raise _usage(f"{name}.{axis} must be a list of fields, got {pivot[axis]!r:.80}")
        _check_values(f"{name}.values", pivot["values"])


def _check_values(name: str, values: object) -> None:
    if not isinstance(values, Mapping) or not values:
        raise _usage(f"{name} must map fields to functions, got {values!r:.80}")
    for field, given in values.items():
        functions = [given] if isinstance(given, str) else given
        if not isinstance(field, str) or not functions or not _is_names(functions):
            raise _usage(f"{name} must map fields to functions, got {field!r:.80} with {given!r:.80}")
        if unknown := set(functions) - set(FUNCTIONS):
            raise UsageError(f"{name}[{field!r:.80}]: function {min(unknown)!r:.80} not found",
                             hint=", ".join(FUNCTIONS))  # fmt: skip


def _is_names(given: object) -> TypeGuard[Sequence[str]]:
    return isinstance(given, list | tuple) and all(isinstance(one, str) for one in given)


def _usage(message: str) -> UsageError:
    return UsageError(message, hint=_EXAMPLE)


def wanted_sources(asked: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """The source of each requested pivot table, and the fields that it uses."""
    return [(one["source"], [*one.get("rows", ()), *one.get("columns", ()), *one["values"]]) for one in asked]


def _values(wanted: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The requested fields, each with a function."""
    given = [(name, [one] if isinstance(one, str) else one) for name, one in wanted["values"].items()]
    return sorted((name.casefold(), function) for name, functions in given for function in functions)


def pivots(book: SeenWorkbook, same: Same, asked: Sequence[Mapping[str, Any]], given: Given) -> Score:
    """Whether the workbook has these pivot tables, and shows what their sources give.

    Args:
        book: The workbook.
        same: Whether two values are the same.
        asked: The requested pivot tables.
        given: Reads cells of the workbooks that the agent was given.
    """
    sources = PivotSources(book, same, given)
    return together([_pivot(sources, book, one) for one in asked])


def _pivot(sources: PivotSources, book: SeenWorkbook, wanted: Mapping[str, Any]) -> Score:
    place = wanted.get("sheet", "")
    found = [one for one in book.pivots.tables if not place or one.sheet.casefold() == place.casefold()]
    scores = (_definition(book, one, wanted) or _Shown(sources, one).score() for one in found)
    where = f" on the sheet {place!r:.60}" if place else ""
    return best(scores, f"the workbook has no pivot table{where}")


def _definition(book: SeenWorkbook, pivot: SeenPivot, wanted: Mapping[str, Any]) -> Score | None:
    """Why a pivot table is not the requested one; None if it is."""
    where = where_of(pivot)
    if pivot.hidden:
        return no(f"{where} is not shown: {pivot.hidden}")
    if other := _other_axis(pivot, wanted):
        return no(f"{where} has the fields {', '.join(getattr(pivot, other)) or 'none'!r:.80} as {other}")
    values = sorted((name.casefold(), function) for name, function, _ in pivot.values)
    if values != _values(wanted):
        told = ", ".join(f"{function} of {name}" for name, function, _ in pivot.values)
        return no(f"{where} shows the values {told or 'none':.80}")
    if pivot.source != book.key_of(wanted["source"]):
        return no(f"{where} has another source: {book.named(pivot.source) or 'no fixed range of cells':.80}")
    if pivot.form:
        return no(f"{where} does not plainly show its source: {pivot.form}")
    return no(f"{where} has more cells than are read") if pivot.large else None


def _other_axis(pivot: SeenPivot, wanted: Mapping[str, Any]) -> str | None:
    """The first axis that has other fields than requested. Filters are free if none are requested."""
    for axis in ("rows", "columns", "filters"):
        fields = [field.casefold() for field in wanted.get(axis, ())]
        if fields != [field.casefold() for field in getattr(pivot, axis)] and (axis in wanted or axis != "filters"):
            return axis
    return None


@dataclass(frozen=True)
class _Shown:
    """What one pivot table shows, against its source."""

    sources: PivotSources
    pivot: SeenPivot

    def score(self) -> Score:
        """Whether all numbers are those of the source."""
        where, cells = where_of(self.pivot), [cell for row in self.pivot.cells for cell in row]
        if all(map(_is_empty, cells)):
            return no(f"{where} is empty: it must be refreshed before the workbook is saved")
        for cell in cells:
            if cell.formula:
                return no(f"{cell.cell} of {where} is a formula")
            if not _is_blank(cell) and (reason := _unseen(cell)):
                return no(f"{cell.cell} of {where} is not visible: {reason}")
        records = self.sources.records(self.pivot)
        return records if isinstance(records, Score) else self._compared(records)

    def _compared(self, records: Records) -> Score:
        """Whether a layout explains the labels, and all numbers under them are right."""
        if outside := self._outside(records.items):
            return outside
        failed = no(f"{where_of(self.pivot)} shows other items or totals than its source has")
        for rows, columns in self._readings(records):
            score = self._numbers(rows, columns, records.groups)
            if score.value != 0.0:
                return score
            failed = score
        return failed

    def _outside(self, items: Set[Item]) -> Score | None:
        """Why the cells next to the labels and numbers are not those of a pivot table; None if they are."""
        pivot, (top, left), high = self.pivot, self.pivot.first, self._high()
        deep = len(pivot.rows)
        fits = max(high, 1) <= top <= high + 1 and min(deep, 1) <= left <= max(deep, 1)
        if not fits or len(pivot.cells) <= top or len(pivot.cells[0]) <= left:
            return no(f"{where_of(pivot)} has its first number in another place than its fields need")
        captions = [*pivot.cells[: top - high], *(row[:left] for row in pivot.cells[top - high : top])]
        for cell in (cell for row in captions for cell in row):
            if not _is_blank(cell) and (cell.error or shows_item(cell.value, items)):
                return no(f"{cell.cell} of {where_of(pivot)} shows an item or a number above the labels")
        return None

    def _captions(self) -> list[str]:
        values = self.pivot.values
        return [caption for _, _, caption in values] if len(values) > 1 else []

    def _high(self) -> int:
        """The rows of labels above the numbers."""
        return len(self.pivot.columns) + bool(self._captions())

    def _readings(self, records: Records) -> Iterator[tuple[Places, Places]]:
        """Each way to read the labels of the rows together with each way to read those of the columns."""
        pivot, captions = self.pivot, self._captions()
        row_lines, column_lines = self._labels(self._high())
        row_tree, column_tree = records.trees
        (deep, wide), (below, beside) = (len(pivot.rows), len(pivot.columns)), pivot.totals
        of_rows = [prefixes(row_lines, row_tree, deep, layout, (), pivot.total)
                   for layout in layouts(deep, columns=False) if layout.grand or not below]  # fmt: skip
        of_columns = [prefixes(column_lines, column_tree, wide, layout, captions, pivot.total)
                      for layout in layouts(wide, columns=True) if layout.grand or not beside]  # fmt: skip
        for one, other in product(of_rows, of_columns):
            if one is not None and other is not None:
                yield one, other

    def _labels(self, high: int) -> tuple[list[Line], list[Line]]:
        """The labels left of each row of numbers, and those in the `high` rows above each column of numbers."""
        top, left = self.pivot.first
        values = [[cell.value for cell in row] for row in self.pivot.cells]
        above = [line[left:] for line in values[top - high : top]]
        over: list[Line] = [*zip(*above, strict=True)] if high else [()] * (len(values[0]) - left)
        return [row[:left] for row in values[top:]], over

    def _numbers(self, rows: Places, columns: Places, groups: Groups) -> Score:
        top, left = self.pivot.first
        scores = []
        for row, line in zip(rows, self.pivot.cells[top:], strict=True):
            for column, cell in zip(columns, line[left:], strict=True):
                if row is None or column is None:
                    scores.append(YES if _is_blank(cell) else no(f"{cell.cell} shows a number without an item"))
                    continue
                field, function, _ = self.pivot.values[column[1]]
                scores.append(self._number(cell, groups.get((row[0], column[0]), {}).get(field, ()), function))
        return together(scores)

    def _is_caption(self, value: Content) -> bool:
        """Whether a value is what the pivot table shows for missing values: a word of its own, or 0."""
        missing = self.pivot.missing
        if value == 0.0:
            return missing == "0"
        return bool(missing) and value == missing and not any(map(str.isdigit, missing))

    def _number(self, cell: SeenCell, values: Sequence[Found], function: str) -> Score:
        """Whether a cell shows the function of some values."""
        if _is_blank(cell) and _has_result(values, function):
            return no(f"{cell.cell} of a pivot table shows no number")
        if not _has_result(values, function) and (_is_blank(cell) or self._is_caption(cell.value)):
            return YES
        if not values and function not in ("sum", "count"):
            return _wrong(cell)
        right = self.sources.same(Found(cell.value, cell.error), _result(values, function))
        return YES if right else _wrong(cell)


def _has_result(values: Sequence[Found], function: str) -> bool:
    """Whether a program shows a number for these values."""
    if function == "count":
        return any(one.value is not None for one in values)
    return any(isinstance(one.value, float) for one in values)


def _wrong(cell: SeenCell) -> Score:
    return no(f"{cell.cell} shows {Found(cell.value, cell.error)}, which its source does not give")


def _is_empty(cell: SeenCell) -> bool:
    return _is_blank(cell) and not cell.formula


def _unseen(cell: SeenCell) -> str:
    """Why a person does not see the content of a cell; empty if people do."""
    if isinstance(cell.value, str):
        return cell.hidden or number_formats.lies_of_text(cell.value, cell.format)
    if cell.hidden or not isinstance(cell.value, float):
        return cell.hidden
    if cell.value == 0 and number_formats.shown(cell.value, cell.format) == "-":
        return ""
    return number_formats.lies(cell.value, cell.format) or number_formats.disguises(cell.value, cell.format)


def _is_blank(cell: SeenCell) -> bool:
    return cell.value in (None, "") and not cell.error


def _result(values: Sequence[Found], function: str) -> Found:
    """What a function gives for some values."""
    numbers = [one.value for one in values if isinstance(one.value, float)]
    if function == "count":
        return Found(float(sum(one.value is not None for one in values)))
    if function == "sum":
        return Found(math.fsum(numbers))
    if function == "average":
        return Found(math.fsum(numbers) / len(numbers)) if numbers else Found(None, "#DIV/0!")
    return Found((max if function == "max" else min)(numbers, default=0.0))
