"""Are two query results the same? Compares bags of rows, in blocks if the query has an order; numbers have a tolerance.

Cells become ids such that close cells share one; then results compare as counters of tuples of ids. `NULL` is `NULL`,
and 1 is 1.0. Different integers never match, regardless of the tolerance, and text is not a number. It is n log n in
the cells.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import chain, groupby
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Literal

from verikit.verifiers.sql.columns import TooManyOrders, column_order

Columns = Literal["position", "name", "any"]
Cells = tuple[Hashable, ...]
_MOST_DIGITS = 5000
_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a query."""

    names: tuple[str, ...]
    rows: tuple[Cells, ...]
    blocks: tuple[int, ...] = ()
    """Sizes of the runs of rows that are in order; rows of one run may be in any order. Empty: all rows are one."""


def read(text: str) -> tuple[tuple[str, ...], tuple[Cells, ...], tuple[Cells, ...] | None]:
    """Columns, rows and keyed rows that the sandbox's child has printed.

    Raises:
        ValueError: It is not the child's output format.
    """
    try:
        names, rows, keyed = json.loads(text)
        return tuple(map(str, names)), _rows(rows), None if keyed is None else _rows(keyed)
    except (TypeError, KeyError, RecursionError, InvalidOperation, OverflowError) as problem:
        raise ValueError(f"query result can't be read: {problem}") from None


def _rows(rows: Any) -> tuple[Cells, ...]:
    return tuple(tuple(map(_cell, row)) for row in rows)


def _cell(value: Any) -> Hashable:
    if isinstance(value, dict):
        kind, inner = value["kind"], value["value"]
        if kind == "list":
            return ("list", tuple(map(_cell, inner)))
        if kind == "decimal":
            return _decimal(inner)
        return str(inner) if kind == "text" else (str(kind), str(inner))
    if isinstance(value, list):
        return ("list", tuple(map(_cell, value)))
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value  # type: ignore[no-any-return]


def _decimal(text: str) -> Hashable:
    number = Decimal(text[:_MOST_DIGITS])
    if not number.is_finite():
        return float(number)
    return int(number) if number == number.to_integral_value() and number.adjusted() < 400 else float(number)


def in_blocks(
    rows: Sequence[Cells], keyed: Sequence[Cells] | None, columns: Sequence[int], collations: Sequence[str] = ()
) -> tuple[int, ...]:
    """Sizes of the runs of rows whose sort keys tie; single rows if the keys are not known.

    Args:
        rows: Of the ordered query.
        keyed: The same rows with the keys as further columns, or None.
        columns: The 1-based output column of each key, 0 if it is a further column.
        collations: The collation of each key, in lower case; under sqlite's `nocase` and `rtrim`, different strings can
            tie.
    """
    width = len(rows[0]) if rows else 0
    if keyed is None or [row[:width] for row in keyed] != list(rows) or any(not 0 <= c <= width for c in columns):
        return (1,) * len(rows)
    places = [column - 1 if column else width + i for i, column in enumerate(columns)]
    runs = groupby(keyed, key=lambda row: _sort_key(row, places, collations))
    return tuple(len(list(run)) for _, run in runs)


def _sort_key(row: Cells, places: Sequence[int], collations: Sequence[str]) -> Cells:
    key = tuple(row[place] for place in places)
    return tuple(map(_collated, key, collations)) if collations else key


def _collated(cell: Hashable, collation: str) -> Hashable:
    if not isinstance(cell, str):
        return cell
    if collation == "nocase":
        return cell.translate(_ASCII_LOWER)
    return cell.rstrip(" ") if collation == "rtrim" else cell


def difference(gold: Result, said: Result, columns: Columns, tolerance: float, *, distinct: bool = False) -> str:
    """Empty if two results are the same, otherwise their difference.

    Args:
        gold: The expected result; its blocks define which order counts.
        said: The result of the candidate's query.
        columns: Matched by their position, by their names, or in any order.
        tolerance: Numbers may differ by this much, absolutely or relatively.
        distinct: Compare as sets: the number of times a row occurs is ignored.
    """
    if len(gold.names) != len(said.names):
        return f"{len(said.names)} columns, not {len(gold.names)}"
    if len(gold.rows) != len(said.rows) and not distinct:
        return f"{len(said.rows)} rows, not {len(gold.rows)}"
    order = tuple(range(len(gold.names)))
    if columns == "name":
        named = _by_name(gold.names, said.names)
        if named is None:
            return f"columns {', '.join(said.names)[:100]}, not {', '.join(gold.names)[:100]}"
        order = named
    close = _Ids((gold.rows, said.rows), tolerance)
    ours, theirs = close.table(gold.rows), close.table(said.rows)
    blocks = gold.blocks if not distinct else ()
    at = _numbered(blocks, len(ours))
    try:
        matched = _any_order(ours, theirs, at, distinct) if columns == "any" else order
    except TooManyOrders as problem:
        return str(problem)
    if matched is None or _bag(ours, at, None, distinct) != _bag(theirs, at, matched, distinct):
        return _told(ours, theirs, matched or order, blocks, distinct)
    if close.wide and not distinct and not _pairwise(gold.rows, said.rows, matched, at, ours, theirs, tolerance):
        return "numbers that differ by more than the tolerance"
    return ""


def _told(ours: list[Cells], theirs: list[Cells], order: Sequence[int], blocks: Sequence[int], distinct: bool) -> str:
    if blocks and _bag(ours, None, None, distinct) == _bag(theirs, None, order, distinct):
        return "the same rows in another order"
    return "other rows"


def _by_name(gold: Sequence[str], said: Sequence[str]) -> tuple[int, ...] | None:
    """The position of each gold column among the candidate's; equal names match in their order."""
    places: dict[str, list[int]] = {}
    for i, name in enumerate(said):
        places.setdefault(_plain(name), []).append(i)
    found = [places[key].pop(0) if places.get(key := _plain(name)) else -1 for name in gold]
    return None if -1 in found else tuple(found)


def _plain(name: str) -> str:
    return "".join(name.split()).strip('"`[]').casefold()


def _numbered(blocks: Sequence[int], rows: int) -> list[int] | None:
    """The number of each row's block; None if all rows are one bag."""
    if not blocks or sum(blocks) != rows:
        return None
    return [number for number, size in enumerate(blocks) for _ in range(size)]


def _bag(
    rows: Sequence[Cells], at: Sequence[int] | None, order: Sequence[int] | None, distinct: bool
) -> Counter[Cells]:
    shown: Iterable[Cells] = rows if order is None else [tuple(row[i] for i in order) for row in rows]
    if at is not None:
        shown = [(number, *row) for number, row in zip(at, shown, strict=True)]
    return Counter(set(shown)) if distinct else Counter(shown)


def _any_order(
    ours: list[Cells], theirs: list[Cells], at: Sequence[int] | None, distinct: bool
) -> tuple[int, ...] | None:
    """An order of the candidate's columns that makes its rows the gold's; None if there isn't one."""
    if distinct:
        return column_order([*dict.fromkeys(ours)], [*dict.fromkeys(theirs)], None)
    return column_order(ours, theirs, at)


class _Ids:
    """Ids of cells: numbers within the tolerance of each other share one."""

    def __init__(self, tables: Sequence[Sequence[Cells]], tolerance: float) -> None:
        self._ids: dict[float | int, int] = {}
        self.wide = False
        """Whether some id covers numbers further apart than the tolerance: a chain of close ones."""
        self._told: dict[Hashable, Hashable] = {}
        cells = set(chain.from_iterable(chain.from_iterable(tables)))
        numbers = {cell for cell in _flat(cells) if _is_number(cell)}
        start = last = None
        known = 0
        for number in sorted(numbers):
            if last is None or start is None or not near(last, number, tolerance):
                start, known = number, len(self._ids)
            elif not near(start, number, tolerance):
                self.wide = True
            self._ids[number] = known
            last = number

    def table(self, rows: Sequence[Cells]) -> list[Cells]:
        """The rows with an id for each cell."""
        for cell in {cell for row in rows for cell in row}:
            self._told[cell] = self._id(cell)
        return [tuple([self._told[cell] for cell in row]) for row in rows]

    def _id(self, cell: Hashable) -> Hashable:
        if _is_number(cell):
            return ("number", self._ids[cell])  # type: ignore[index]
        if isinstance(cell, tuple) and cell[0] == "list":
            return ("list", tuple(map(self._id, cell[1])))
        if isinstance(cell, float):
            return "nan"
        return ("text", cell) if isinstance(cell, str) else cell


def _flat(cells: Iterable[Hashable]) -> Iterable[Any]:
    for cell in cells:
        if isinstance(cell, tuple) and cell[0] == "list":
            yield from _flat(cell[1])
        else:
            yield cell


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float) and not (isinstance(cell, float) and math.isnan(cell))


def near(a: float, b: float, tolerance: float) -> bool:
    """Whether two numbers are equal, or within the tolerance and not both whole; infinity is near itself only."""
    if a == b:
        return True
    if (isinstance(a, int) and isinstance(b, int)) or math.isinf(a) or math.isinf(b):
        return False
    try:
        return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))
    except OverflowError:
        return False


def _pairwise(
    gold: Sequence[Cells],
    said: Sequence[Cells],
    order: Sequence[int],
    at: Sequence[int] | None,
    ours: Sequence[Cells],
    theirs: Sequence[Cells],
    tolerance: float,
) -> bool:
    """Whether rows with the same ids, sorted by their numbers, are within the tolerance one by one."""
    first = _grouped(gold, ours, tuple(range(len(order))), at)
    second = _grouped(said, theirs, order, at)
    return all(
        all(near(x, y, tolerance) for a, b in zip(rows, second[key], strict=True) for x, y in zip(a, b, strict=True))
        for key, rows in first.items()
    )


def _grouped(
    rows: Sequence[Cells], ids: Sequence[Cells], order: Sequence[int], at: Sequence[int] | None
) -> dict[Cells, list[list[float]]]:
    groups: dict[Cells, list[list[float]]] = {}
    for number, (row, known) in enumerate(zip(rows, ids, strict=True)):
        key = (at[number] if at else 0, *(known[i] for i in order))
        groups.setdefault(key, []).append([x for x in _flat(row[i] for i in order) if _is_number(x)])
    return {key: sorted(found) for key, found in groups.items()}
