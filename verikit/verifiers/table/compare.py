"""Two tables, compared by the types of the expected one's values. Linear in the rows without a tolerance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from verikit.errors import WorkspaceError
from verikit.verifiers.table.readers import TypedTable, number_of
from verikit.workspaces.names import shown

Row = tuple[Any, ...]
_WORDS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class TableRules:
    """How tables are compared."""

    columns: str
    keys: tuple[str, ...]
    ordered: bool
    tolerance: float


def compared(found: TypedTable, expected: TypedTable, rules: TableRules) -> str:
    """Why a table is not the expected one; "" if it is.

    Raises:
        WorkspaceError: The expected one lacks the keys, or has a duplicate key.
    """
    if problem := _columns(found.columns, expected.columns, rules.columns):
        return problem
    places = [found.columns.index(column) for column in expected.columns]
    rows = [tuple(row[place] for place in places) for row in found.rows]
    if expected.texts and not found.texts:
        expected = _retyped(expected, rows)
    if len(rows) != len(expected.rows):
        return f"{len(rows)} rows, {len(expected.rows)} expected"
    fits = Fit(rules.tolerance, texts=found.texts, all_texts=found.texts and expected.texts)
    if rules.keys:
        return _by_keys(rows, expected, rules, fits)
    if rules.ordered:
        return _in_order(rows, expected, fits)
    return _as_bags(rows, expected, fits)


def _retyped(expected: TypedTable, rows: Sequence[Row]) -> TypedTable:
    """An expected table of CSV by the kinds of values that a table with types has."""
    kinds = [_kind(rows, place) for place in range(len(expected.columns))]
    read = Fit(0.0, texts=True, all_texts=False)
    cells = [
        [_null(read.read(cell, kind), kind) for cell, kind in zip(row, kinds, strict=True)] for row in expected.rows
    ]
    return TypedTable(expected.columns, tuple(map(tuple, cells)))


def _null(value: Any, kind: Any) -> Any:
    return None if value == "" and not isinstance(kind, str) else value


def _columns(found: Sequence[str], expected: Sequence[str], rule: str) -> str:
    if missing := next((column for column in expected if column not in found), None):
        return f"there is no column {shown(missing)!r}"
    further = [column for column in found if column not in expected]
    if further and rule != "superset":
        return f"a further column {shown(further[0])!r}"
    if rule == "ordered" and tuple(found) != tuple(expected):
        return "the columns are in a different order"
    return ""


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a value is an expected one."""

    tolerance: float
    texts: bool
    """Whether the values found are cells of CSV, which are read as the expected types."""
    all_texts: bool
    """Whether the expected ones are CSV cells too; then compare as strings, or as numbers within a tolerance."""

    def __call__(self, value: Any, wanted: Any) -> bool:
        """Whether it is."""
        return self._equal(self.read(value, wanted), self.read(wanted, wanted) if self.all_texts else wanted)

    def row(self, values: Row, wanted: Row) -> bool:
        """Whether all of a row's are."""
        return all(self(value, want) for value, want in zip(values, wanted, strict=True))

    def read(self, value: Any, wanted: Any) -> Any:
        """A cell of CSV as a value of the expected type; other values unchanged."""
        if not self.texts or not isinstance(value, str):
            return value
        if self.all_texts:
            return number_of(value) if self.tolerance and number_of(value) is not None else value
        if isinstance(wanted, bool):
            return _WORDS.get(value.strip().lower(), value)
        if isinstance(wanted, int | float):
            number = number_of(value)
            return value if number is None else number
        return None if wanted is None and value == "" else value

    def _equal(self, value: Any, wanted: Any) -> bool:
        if isinstance(value, bool) or isinstance(wanted, bool):
            return type(value) is type(wanted) and value == wanted
        if isinstance(value, int | float) and isinstance(wanted, int | float):
            return self._same_number(value, wanted)
        if isinstance(value, list) and isinstance(wanted, list):
            return len(value) == len(wanted) and all(map(self._equal, value, wanted))
        if isinstance(value, dict) and isinstance(wanted, dict):
            return value.keys() == wanted.keys() and all(self._equal(value[key], wanted[key]) for key in wanted)
        return type(value) is type(wanted) and bool(value == wanted)

    def _same_number(self, value: float, wanted: float) -> bool:
        if value == wanted or (value != value and wanted != wanted):
            return True
        try:
            return bool(self.tolerance) and math.isclose(value, wanted, rel_tol=self.tolerance, abs_tol=self.tolerance)
        except OverflowError:
            return False


def _in_order(rows: Sequence[Row], expected: TypedTable, fits: Fit) -> str:
    for number, (row, wanted) in enumerate(zip(rows, expected.rows, strict=True), 1):
        if not fits.row(row, wanted):
            return f"row {number}: {_difference(row, wanted, expected.columns, fits)}"
    return ""


def _by_keys(rows: Sequence[Row], expected: TypedTable, rules: TableRules, fits: Fit) -> str:
    if unknown := next((key for key in rules.keys if key not in expected.columns), None):
        raise WorkspaceError(f"the expected table has no key {unknown!r}")
    places = [expected.columns.index(key) for key in rules.keys]
    wanted = {_key(row, places): row for row in expected.rows}
    if len(wanted) < len(expected.rows):
        raise WorkspaceError("the expected table has a key twice")
    kinds = expected.rows[0] if expected.rows else ()
    order = [
        _key(tuple(fits.read(row[p], kinds[p]) if p in places else None for p in range(len(row))), places)
        for row in rows
    ]
    if len(set(order)) < len(order):
        return "a key occurs twice"
    for key, row in zip(order, rows, strict=True):
        if key not in wanted:
            return f"a row with the key {shown(repr(key))}, which is not expected"
        if not fits.row(row, wanted[key]):
            return f"row {shown(repr(key))}: {_difference(row, wanted[key], expected.columns, fits)}"
    return "the rows are in a different order" if rules.ordered and order != list(wanted) else ""


def _key(row: Row, places: Sequence[int]) -> tuple[Any, ...]:
    return tuple(_hashable(row[place]) for place in places)


def _as_bags(rows: Sequence[Row], expected: TypedTable, fits: Fit) -> str:
    """Rows in any order: equal ones are counted; the rest are paired by sorting, within the tolerance."""
    kinds = [_kind(expected.rows, place) for place in range(len(expected.columns))]
    empty = [
        fits.texts and not fits.all_texts and any(row[p] is None for row in expected.rows) for p in range(len(kinds))
    ]
    read = [
        tuple(
            None if null and cell == "" else fits.read(cell, kind)
            for cell, kind, null in zip(row, kinds, empty, strict=True)
        )
        for row in rows
    ]
    left = Counter(map(_hashable, read))
    rest = []
    for wanted in expected.rows:
        key = _hashable(tuple(map(fits.read, wanted, wanted)) if fits.all_texts else wanted)
        if left[key] > 0:
            left[key] -= 1
        else:
            rest.append(wanted)
    if not rest:
        return ""
    others = sorted(_unpaired(read, left), key=_order)
    for row, wanted in zip(others, sorted(rest, key=_order), strict=True):
        if not fits.row(row, wanted):
            return f"no row is {shown(repr(wanted))}; nearest: {_difference(row, wanted, expected.columns, fits)}"
    return ""


def _kind(rows: Sequence[Row], place: int) -> Any:
    """A value of a column that decides how its cells are read; null if all are null."""
    return next((row[place] for row in rows if row[place] is not None), None)


def _unpaired(rows: Sequence[Row], left: Counter[Any]) -> list[Row]:
    found = []
    for row in rows:
        key = _hashable(row)
        if left[key] > 0:
            left[key] -= 1
            found.append(row)
    return found


def _hashable(value: Any) -> Any:
    """A value with its type, for finding equal ones: 1 is 1.0, and neither equals true."""
    if isinstance(value, tuple | list):
        return ("list", *map(_hashable, value))
    if isinstance(value, dict):
        return ("object", *sorted((key, _hashable(item)) for key, item in value.items()))
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, int | float):
        return ("number", "nan" if value != value else value)
    return (type(value).__name__, value)


def _order(row: Row) -> tuple[tuple[str, str, float], ...]:
    """The sort key of rows: strings first, so slightly different numbers don't separate rows."""
    texts = tuple((type(v).__name__, str(v), 0.0) if not _is_number(v) else ("number", "", 0.0) for v in row)
    return (*texts, *(("", "", float(v)) for v in row if _is_number(v) and abs(v) < 1e300))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _difference(row: Row, wanted: Row, columns: Sequence[str], fits: Fit) -> str:
    """The first value that differs."""
    pairs = zip(columns, row, wanted, strict=True)
    column, value, want = next((c, v, w) for c, v, w in pairs if not fits(v, w))
    return f"{shown(column)} is {shown(repr(value))[:80]}, {shown(repr(want))[:80]} expected"
