"""Which order of a result's columns matches another result? Found by refining classes of columns, then by trying.

Columns can only match within a class: those whose cells are the same bag, seen together with the classes of the cells'
rows (colour refinement). Columns that the classes leave open are tried one by one, within a bound of work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from verikit.errors import VerikitError

Ids = tuple[int, ...]
_MOST_WORK = 4_000_000
"""Maximum cells read while columns are refined, and again while orders are tried: some seconds."""
_PER_TRY = 20
"""The cost of a try in addition to its rows."""


class TooManyOrders(VerikitError):
    """Columns are so similar that the bound is reached before an order is found."""


def column_order(
    ours: Sequence[tuple[Hashable, ...]], theirs: Sequence[tuple[Hashable, ...]], at: Sequence[int] | None
) -> Ids | None:
    """An order of the second table's columns that makes its rows the first's as a bag; None if there isn't one.

    Args:
        ours: Rows.
        theirs: As many rows, of the same width.
        at: The number of each row's block, in both; rows match within blocks. None: all are one.

    Raises:
        TooManyOrders: An order was not found within the bound.
    """
    if len(ours) != len(theirs):
        return None
    width = len(ours[0]) if ours else 0
    if not width:
        return ()
    known: dict[Hashable, int] = {}
    first, second = ([tuple([known.setdefault(cell, len(known)) for cell in row]) for row in t] for t in (ours, theirs))
    blocks = at or [0] * len(first)
    if Counter(zip(blocks, first, strict=True)) == Counter(zip(blocks, second, strict=True)):
        return tuple(range(width))
    classes = _classes(first, second, blocks)
    return None if classes is None else _tried(first, second, blocks, classes)


def _classes(first: Sequence[Ids], second: Sequence[Ids], blocks: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """The class of each column of both tables; None if no order can make them the same.

    Classes are hashes: a collision only leaves more orders to try.
    """
    upright, other_upright = [*zip(*first, strict=True)], [*zip(*second, strict=True)]
    columns, others = ([_bag_of(column, blocks) for column in table] for table in (upright, other_upright))
    rows, other_rows = [*blocks], [*blocks]
    found = 0
    for _ in range(max(1, min(8, _MOST_WORK // (4 * len(first) * len(upright))))):
        if sorted(columns) != sorted(others):
            return None
        if len(set(columns)) in (found, len(columns)):
            break
        found = len(set(columns))
        rows, other_rows = _refined(first, rows, columns), _refined(second, other_rows, others)
        if sorted(rows) != sorted(other_rows):
            return None
        columns, others = _refined(upright, columns, rows), _refined(other_upright, others, other_rows)
    return (columns, others) if sorted(columns) == sorted(others) else None


def _bag_of(column: Ids, blocks: Sequence[int]) -> int:
    return hash(frozenset(Counter(zip(column, blocks, strict=True)).items()))


def _refined(lines: Sequence[Ids], old: Sequence[int], across: Sequence[int]) -> list[int]:
    """New classes of lines, from their classes and the bag of their cells with the crossing classes."""
    return [hash((kind, sum(map(hash, zip(line, across, strict=True))))) for kind, line in zip(old, lines, strict=True)]


def _tried(
    first: Sequence[Ids], second: Sequence[Ids], blocks: Sequence[int], classes: tuple[list[int], list[int]]
) -> Ids | None:
    """Depth first over the gold's columns; each step has to keep the row prefixes equal as bags."""
    mine, hers = [*zip(*first, strict=True)], [*zip(*second, strict=True)]
    alike: dict[Ids, int] = {}
    content = [alike.setdefault(column, len(alike)) for column in hers]
    options = [
        list({content[i]: i for i in reversed(range(len(hers))) if classes[1][i] == kind}.values())
        for kind in classes[0]
    ]
    copies = [[i for i in range(len(hers)) if content[i] == number] for number in range(len(alike))]
    begun: list[tuple[list[int], list[int]]] = [([*blocks], [*blocks])]
    chosen: list[int] = []
    waiting = [iter(options[0])]
    work, most = 0, max(_MOST_WORK, 2 * len(mine) * (len(first) + _PER_TRY))
    while waiting:
        option = next(waiting[-1], None)
        if option is None:
            waiting.pop()
            if chosen:
                chosen.pop()
                begun.pop()
            continue
        free = next((i for i in copies[content[option]] if i not in chosen), None)
        if free is None:
            continue
        work += len(first) + _PER_TRY
        if work > most:
            raise TooManyOrders(f"{len(hers)} columns look too much alike to be matched")
        step = _step(begun[-1], mine[len(chosen)], hers[free])
        if step is None:
            continue
        chosen.append(free)
        if len(chosen) == len(mine):
            return tuple(chosen)
        begun.append(step)
        waiting.append(iter(options[len(chosen)]))
    return None


def _step(begun: tuple[list[int], list[int]], column: Ids, other: Ids) -> tuple[list[int], list[int]] | None:
    """The row prefixes with one more column, as ids that both tables share; None if the bags differ."""
    known: dict[tuple[int, int], int] = {}
    first = [known.setdefault(pair, len(known)) for pair in zip(begun[0], column, strict=True)]
    try:
        second = [known[pair] for pair in zip(begun[1], other, strict=True)]
    except KeyError:
        return None
    return (first, second) if Counter(first) == Counter(second) else None
