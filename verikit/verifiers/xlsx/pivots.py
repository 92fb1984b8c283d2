"""The check of pivot tables: their definitions, and whether they show what their sources give today.

Plain Python computes what a pivot table must show, from the recalculated cells of its source.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from verikit.artifacts.readers.references import letters, reference
from verikit.errors import UsageError
from verikit.types import Score
from verikit.verifiers.xlsx import number_formats
from verikit.verifiers.xlsx.engines import Found, Same
from verikit.verifiers.xlsx.observed import SeenCell, SeenPivot, SeenWorkbook
from verikit.verifiers.xlsx.pivot_layout import Line, Prefix, item_of, layouts, prefixes, tree_of
from verikit.verifiers.xlsx.recalculated import Recalculated
from verikit.verifiers.xlsx.verdicts import YES, best, no, together, undecided

FUNCTIONS = ("average", "count", "max", "min", "sum")
_PIVOT = {"sheet", "source", "rows", "columns", "filters", "values"}
_EXAMPLE = 'pivot=[{"source": "Data!A1:D9", "rows": ["item"], "values": {"price": "sum"}}]'
Places = Sequence[tuple[Prefix, int] | None]
Groups = Mapping[tuple[Prefix, Prefix], Sequence[Sequence[Found]]]
"""The values of each field of values, by the items of the rows and of the columns."""


def check_pivots(asked: Sequence[Mapping[str, Any]]) -> None:
    """Look for errors in the option.

    Raises:
        UsageError: A pivot table has no source or no values, or an unknown key, function or reference.
    """
    for pivot in asked:
        if not isinstance(pivot, Mapping) or not {"source", "values"} <= set(pivot) <= _PIVOT or not pivot["values"]:
            raise UsageError(
                f"a pivot table has `source` and `values`, and may have `columns`, `filters`, `rows`, `sheet`; got "
                f"{pivot!r:.80}", hint=_EXAMPLE,
            )  # fmt: skip
        area = reference(pivot["source"]) if isinstance(pivot["source"], str) else None
        if area is None or area.open_ended:
            raise UsageError(f"source must be a range, got {pivot['source']!r:.80}", hint="Data!A1:D9")
        for name in ("rows", "columns", "filters"):
            if isinstance(pivot.get(name, ()), str):
                raise UsageError(f"{name} of a pivot table must be a list, got {pivot[name]!r:.80}", hint=_EXAMPLE)
        _check_values(pivot)


def _check_values(pivot: Mapping[str, Any]) -> None:
    if not isinstance(pivot["values"], Mapping):
        raise UsageError(f"values must map fields to functions, got {pivot['values']!r:.80}", hint=_EXAMPLE)
    if unknown := {function for _, function in _values(pivot)} - set(FUNCTIONS):
        raise UsageError(f"function {min(unknown)!r:.80} not found", hint=", ".join(FUNCTIONS))


def _values(wanted: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The requested fields, each with a function."""
    given = [(name, [one] if isinstance(one, str) else one) for name, one in wanted["values"].items()]
    return sorted((name.casefold(), function) for name, functions in given for function in functions)


def pivots(book: SeenWorkbook, same: Same, asked: Sequence[Mapping[str, Any]]) -> Score:
    """Whether the workbook has these pivot tables, and shows what their sources give. `same` compares values."""
    sources = Recalculated(replace(book, model=book.pivots.model, problem=book.pivots.problem), same)
    return together([_pivot(sources, book, one) for one in asked])


def _pivot(sources: Recalculated, book: SeenWorkbook, wanted: Mapping[str, Any]) -> Score:
    place = wanted.get("sheet", "")
    found = [one for one in book.pivots.tables if not place or one.sheet.casefold() == place.casefold()]
    scores = [_definition(book, one, wanted) or _Shown(sources, one).score() for one in found]
    where = f" on the sheet {place!r:.60}" if place else ""
    return best(scores, f"the workbook has no pivot table{where}")


def _definition(book: SeenWorkbook, pivot: SeenPivot, wanted: Mapping[str, Any]) -> Score | None:
    """Why a pivot table is not the requested one; None if it is."""
    where = _where(pivot)
    if pivot.hidden:
        return no(f"{where} is not shown: {pivot.hidden}")
    if other := _other_axis(pivot, wanted):
        return no(f"{where} has the fields {', '.join(getattr(pivot, other)) or 'none'!r:.80} as {other}")
    values = sorted((name.casefold(), function) for name, function, _ in pivot.values)
    if values != _values(wanted):
        told = ", ".join(f"{function} of {name}" for name, function, _ in pivot.values)
        return no(f"{where} shows the values {told or 'none':.80}")
    if pivot.problem:
        return undecided(f"the source of {where} is not read: {pivot.problem}")
    if pivot.source != book.key_of(wanted["source"]):
        return no(f"{where} has another source: {book.named(pivot.source) or 'no range of cells':.80}")
    missing = [name for name in (*pivot.rows, *pivot.columns, *(one[0] for one in pivot.values))
               if name not in pivot.columns_of]  # fmt: skip
    return no(f"{where} has a field that its source does not have: {missing[0]!r:.80}") if missing else None


def _other_axis(pivot: SeenPivot, wanted: Mapping[str, Any]) -> str | None:
    """The first axis that has other fields than requested. Filters are free if none are requested."""
    for axis in ("rows", "columns", "filters"):
        fields = [field.casefold() for field in wanted.get(axis, ())]
        if fields != [field.casefold() for field in getattr(pivot, axis)] and (axis in wanted or axis != "filters"):
            return axis
    return None


def _where(pivot: SeenPivot) -> str:
    return f"the pivot table on the sheet {pivot.sheet!r:.60}"


@dataclass(frozen=True)
class _Shown:
    """What one pivot table shows, against its source."""

    sources: Recalculated
    pivot: SeenPivot

    def score(self) -> Score:
        """Whether all numbers are those of the source."""
        pivot, where = self.pivot, _where(self.pivot)
        cells = [cell for row in pivot.cells for cell in row]
        if pivot.refreshes and cells and all(map(_is_empty, cells)):
            return YES  # programs fill it when they open the workbook
        if unclear := self._unclear():
            return undecided(f"{where} is not read: {unclear}")
        if formula := next((cell for cell in cells if cell.formula), None):
            return no(f"{formula.cell} of {where} is a formula")
        records = self._records()
        if isinstance(records, Score):
            return records
        return self._compared(records)

    def _unclear(self) -> str:
        return self.pivot.form or ("it has too many cells" if self.pivot.large else "")

    def _records(self) -> list[Mapping[str, Found]] | Score:
        """The records of the source, with a value for each field."""
        area, where = reference(self.pivot.source), _where(self.pivot)
        assert area is not None
        rows = range(area.top + 1, area.bottom + 1)
        keys = {name: [f"{area.sheet}!{letters(column)}{row}" for row in rows]
                for name, column in self.pivot.columns_of.items()}  # fmt: skip
        found = self.sources.found(f"the source of {where}", [key for column in keys.values() for key in column])
        if isinstance(found, Score):
            return found
        records: list[Mapping[str, Found]] = [
            {name: found[column[row]] for name, column in keys.items()} for row in range(len(rows))
        ]
        if any(map(_is_unclear, found.values())):
            return undecided(f"the source of {where} has errors or truth values, which programs count differently")
        return records

    def _compared(self, records: Sequence[Mapping[str, Found]]) -> Score:
        """Whether a layout explains the labels, and all numbers under them are right."""
        pivot = self.pivot
        keys = [tuple(tuple(item_of(record[name].value) for name in axis) for axis in (pivot.rows, pivot.columns))
                for record in records]  # fmt: skip
        groups = self._groups(records, keys)
        failed = no(f"{_where(pivot)} shows other items than its source has")
        for rows, columns in self._readings([key[0] for key in keys], [key[1] for key in keys]):
            score = self._numbers(rows, columns, groups)
            if score.value != 0.0:
                return score
            failed = score
        return failed

    def _groups(self, records: Sequence[Mapping[str, Found]], keys: Sequence[tuple[Prefix, ...]]) -> Groups:
        groups: dict[tuple[Prefix, Prefix], list[list[Found]]] = {}
        for record, (row, column) in zip(records, keys, strict=True):
            for high, wide in product(range(len(row) + 1), range(len(column) + 1)):
                group = groups.setdefault((row[:high], column[:wide]), [[] for _ in self.pivot.values])
                for values, (name, _, _) in zip(group, self.pivot.values, strict=True):
                    values.append(record[name])
        return groups

    def _readings(self, rows: Sequence[Prefix], columns: Sequence[Prefix]) -> Iterator[tuple[Places, Places]]:
        """Each way to read the labels of the rows together with each way to read those of the columns."""
        pivot, (top, left) = self.pivot, self.pivot.first
        captions = [caption for _, _, caption in pivot.values] if len(pivot.values) > 1 else []
        high = len(pivot.columns) + bool(captions)
        if high > top or len(pivot.cells) <= top or len(pivot.cells[0]) <= left:
            return
        row_lines, column_lines = self._labels(high)
        row_tree, column_tree = tree_of(rows), tree_of(columns)
        deep, wide = len(pivot.rows), len(pivot.columns)
        of_rows = [prefixes(row_lines, row_tree, deep, layout) for layout in layouts(deep, columns=False)]
        of_columns = [prefixes(column_lines, column_tree, wide, layout, captions)
                      for layout in layouts(wide, columns=True)]  # fmt: skip
        yield from ((one, other) for one in of_rows for other in of_columns if one is not None and other is not None)

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
                values = groups.get((row[0], column[0]), [()] * len(self.pivot.values))[column[1]]
                scores.append(self._number(cell, values, self.pivot.values[column[1]][1]))
        return together(scores)

    def _number(self, cell: SeenCell, values: Sequence[Found], function: str) -> Score:
        """Whether a cell shows the function of some values."""
        numbers = [one.value for one in values if isinstance(one.value, float)]
        if reason := _unseen(cell):
            return no(f"{cell.cell} of a pivot table is not visible: {reason}")
        if _is_blank(cell):
            return no(f"{cell.cell} of a pivot table is empty") if _has_result(values, function) else YES
        if not values and function not in ("sum", "count"):
            return _wrong(cell)
        if not numbers and function == "average":
            return undecided(f"{cell.cell} is an average of no numbers")
        right = self.sources.same(Found(cell.value, cell.error), Found(_result(numbers, values, function)))
        return YES if right else _wrong(cell)


def _has_result(values: Sequence[Found], function: str) -> bool:
    """Whether a program shows a number for these values."""
    if function == "count":
        return any(one.value is not None for one in values)
    return any(isinstance(one.value, float) for one in values)


def _wrong(cell: SeenCell) -> Score:
    return no(f"{cell.cell} shows {Found(cell.value, cell.error)}, which its source does not give")


def _is_unclear(one: Found) -> bool:
    return bool(one.error) or isinstance(one.value, bool)


def _is_empty(cell: SeenCell) -> bool:
    return _is_blank(cell) and not cell.formula


def _unseen(cell: SeenCell) -> str:
    """Why a person does not see the number of a cell; empty if people do."""
    lie = number_formats.lies(cell.value, cell.format) if isinstance(cell.value, float) else ""
    return cell.hidden or lie


def _is_blank(cell: SeenCell) -> bool:
    return cell.value in (None, "") and not cell.error


def _result(numbers: Sequence[float], values: Sequence[Found], function: str) -> float:
    if function == "count":
        return float(sum(one.value is not None for one in values))
    if function == "sum":
        return math.fsum(numbers)
    if function == "average":
        return math.fsum(numbers) / len(numbers)
    return (max if function == "max" else min)(numbers, default=0.0)
