"""The sources of pivot tables: their recalculated records, each source once, and why some have no value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, filterfalse, product
from typing import NamedTuple

from verikit.artifacts.readers.references import letters, reference
from verikit.types import Score
from verikit.verifiers.xlsx.engines import Found, Same
from verikit.verifiers.xlsx.observed import SeenCell, SeenPivot, SeenWorkbook
from verikit.verifiers.xlsx.pivot_layout import Item, Prefix, Tree, item_of, tree_of
from verikit.verifiers.xlsx.recalculated import Recalculated, Unfound
from verikit.verifiers.xlsx.verdicts import no, undecided

_MOST_UNCLEAR = 100
"""Cells that are looked up in the given workbooks."""
_MOST_ROWS = 10_000
"""Of a range that is followed."""
Given = Callable[[Sequence[str], Sequence[str]], Iterable[SeenWorkbook]]
"""Reads the workbooks that the agent was given: the cells to describe, and the ranges whose formulas are followed."""
Groups = Mapping[tuple[Prefix, Prefix], Mapping[str, Sequence[Found]]]
"""The values of each field of values, by the items of the rows and of the columns."""


class Records(NamedTuple):
    """The records of a source, as a pivot table groups them."""

    groups: Groups
    trees: tuple[Tree, Tree]
    """The items of rows and of columns."""
    items: Set[Item]


def where_of(pivot: SeenPivot) -> str:
    """A pivot table, for reasons."""
    return f"the pivot table on the sheet {pivot.sheet!r:.60}"


class PivotSources:
    """The sources of the pivot tables of a workbook.

    Args:
        book: The workbook.
        same: Whether two values are the same.
        given: Reads the workbooks that the agent was given.
    """

    def __init__(self, book: SeenWorkbook, same: Same, given: Given) -> None:
        self._book, self.same, self._given = book, same, given
        self._sources = Recalculated(replace(book, model=book.pivots.model, problem=book.pivots.problem), same)
        self._known: dict[tuple[object, ...], Records | Score] = {}

    def records(self, pivot: SeenPivot) -> Records | Score:
        """The records of a pivot table's source, or why there are none. Pivot tables of equal fields share them."""
        fields = frozenset(field for field, _, _ in pivot.values)
        key = (pivot.source, (*pivot.rows,), (*pivot.columns,), fields, *pivot.columns_of.items())
        if key not in self._known:
            self._known[key] = self._records(pivot)
        return self._known[key]

    def _records(self, pivot: SeenPivot) -> Records | Score:
        where = where_of(pivot)
        if pivot.computed:
            return self._unclear(pivot, pivot.computed, "is a formula", _has_formulas)
        used = (*pivot.rows, *pivot.columns, *(value[0] for value in pivot.values))
        if missing := next(filterfalse(pivot.columns_of.__contains__, used), None):
            return no(f"{where} has a field that its source does not have: {missing!r:.80}")
        keys = {name: _column(pivot, number) for name, number in pivot.columns_of.items()}
        found = self._sources.found(f"the source of {where}", [*chain(*keys.values())])
        if isinstance(found, Unfound):
            return self._undecided(pivot, found)
        if unclear := [key for key, one in found.items() if _is_unclear(one)]:
            return self._unclear(pivot, unclear, "is an error or a truth value", self._has_unclear)
        records = zip(*keys.values(), strict=True)
        return _grouped(pivot, [dict(zip(keys, map(found.__getitem__, one), strict=True)) for one in records])

    def _undecided(self, pivot: SeenPivot, found: Unfound) -> Score:
        """The score for formulas of the source that can't be recalculated: not the agent's own ones leave it open."""
        if found.score.value is not None or not found.keys:
            return found.score
        if not self._book.pivots.problem:
            return self._unclear(pivot, found.keys, f"is not recalculated ({found.score.reason})", self._has_unclear)
        if any(book.problem for book in self._given((), self._followed())):
            return undecided(f"{found.score.reason} in the given workbook too")
        return no(f"the source of {where_of(pivot)}: {found.score.reason}")

    def _followed(self) -> list[str]:
        """The columns that are used of all requested sources."""
        found: dict[str, None] = {}
        for pivot in self._book.pivots.tables:
            title = self._book.named(pivot.source).rpartition("!")[0]
            for keys in (_column(pivot, number) for number in pivot.columns_of.values()):
                for start in range(0, len(keys), _MOST_ROWS):
                    part = keys[start : start + _MOST_ROWS]
                    first, last = (key.rpartition("!")[2] for key in (part[0], part[-1]))
                    found[f"{_quoted(title)}!{first}:{last}"] = None
        return [*found]

    def _unclear(self, pivot: SeenPivot, keys: Sequence[str], told: str,
                 is_so: Callable[[SeenWorkbook, Sequence[SeenCell]], bool]) -> Score:  # fmt: skip
        """The score for cells of the source that programs count differently: undecided if the agent was given one."""
        names = [self._book.named(key) for key in keys[:_MOST_UNCLEAR]]
        reason = f"{names[0]:.60}, of the source of {where_of(pivot)}, {told}"
        quoted = [f"{_quoted(title)}!{cell}" for title, _, cell in (name.rpartition("!") for name in names)]
        for book in self._given(quoted, quoted):
            if is_so(book, [cell for name in quoted for cell in book.cells.get(name, ())]):
                return undecided(f"{reason} in the given workbook too")
        return no(reason)

    def _has_unclear(self, book: SeenWorkbook, cells: Sequence[SeenCell]) -> bool:
        """Whether cells of a given workbook have errors or truth values, or can't be recalculated."""
        found = Recalculated(book, self.same).found("the given workbook", [cell.key for cell in cells])
        return found.score.value is None if isinstance(found, Unfound) else any(map(_is_unclear, found.values()))


def _grouped(pivot: SeenPivot, records: Sequence[Mapping[str, Found]]) -> Records:
    """The values of the fields of values, for all items and totals."""
    axes, fields = (pivot.rows, pivot.columns), [*dict.fromkeys(field for field, _, _ in pivot.values)]
    keys = [[tuple(item_of(record[name].value) for name in axis) for axis in axes] for record in records]
    groups: dict[tuple[Prefix, Prefix], dict[str, list[Found]]] = {}
    for record, (row, column) in zip(records, keys, strict=True):
        for high, wide in product(range(len(row) + 1), range(len(column) + 1)):
            group = groups.setdefault((row[:high], column[:wide]), {field: [] for field in fields})
            for field, values in group.items():
                values.append(record[field])
    trees = tree_of([row for row, _ in keys]), tree_of([column for _, column in keys])
    return Records(groups, trees, {item for key in keys for axis in key for item in axis})


def _column(pivot: SeenPivot, number: int) -> list[str]:
    """The cells of a column of the source, without its heading."""
    area = reference(pivot.source)
    assert area is not None
    return [f"{area.sheet}!{letters(number)}{row}" for row in range(area.top + 1, area.bottom + 1)]


def _has_formulas(_: SeenWorkbook, cells: Sequence[SeenCell]) -> bool:
    return any(cell.formula for cell in cells)


def _quoted(title: str) -> str:
    return "'" + title.replace("'", "''") + "'"


def _is_unclear(one: Found) -> bool:
    return bool(one.error) or isinstance(one.value, bool)
