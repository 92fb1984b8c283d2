"""Win rates by the keys of the judged rows, such as `category`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from verikit.errors import UsageError
from verikit.judges.match.entrants import Bout, judged_bouts
from verikit.judges.match.run import VERDICTS
from verikit.judges.match.summary import by_models, pair_summary
from verikit.readers.layout import either, locate
from verikit.report.model import Options
from verikit.scoring.rows import read_rows
from verikit.scoring.slices import PromptRow, ids_by_value, texts_of, unknown_key

Row = Mapping[str, Any]
Slices = dict[str, dict[str, list[dict[str, Any]]]]
"""By key and value: a win rate for each pair of models, as in `pairs` of summary.json."""


def check_keys(bouts: Sequence[Bout], keys: Sequence[str]) -> None:
    """Check that the rows can be sliced by each key, before a judge is asked.

    Raises:
        UsageError: No row has a key, a key has too many values, or a value is an object.
    """
    values = {str(number): PromptRow("", _values(bout, keys)) for number, bout in enumerate(bouts)} if keys else {}
    for key in keys:
        if not any(row.values[key] for row in values.values()):
            raise unknown_key(key, dict.fromkeys(name for bout in bouts for name in bout.keys))
        ids_by_value(values, key)


def slices(rows: Iterable[Row], bouts: Sequence[Bout], keys: Sequence[str]) -> Slices:
    """Return the win rates for each value of each key, the value with the most comparisons first.

    Args:
        rows: Rows of verdicts.jsonl.
        bouts: The judged comparisons.
        keys: Keys of the judged rows.

    Raises:
        UsageError: No row has a key, a key has too many values, or a value is an object.
    """
    check_keys(bouts, keys)
    verdicts = {str(row["line"]): row for row in rows}
    values = {line: PromptRow("", _values(bouts[row["line"] - 1], keys)) for line, row in verdicts.items()}
    return {
        key: {value: _pairs(verdicts[line] for line in lines) for value, lines in ids_by_value(values, key).items()}
        for key in keys
    }


def _pairs(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [pair_summary(a, b, several) for (a, b), several in by_models(rows)]


def _values(bout: Bout, keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found = {key: locate(dict(bout.keys), either(key)) for key in keys}
    return {key: () if place is None else tuple(texts_of(place[1], key)) for key, place in found.items()}


def slices_of(run: Path, summary: Row, config: Row, options: Options) -> Slices:
    """Return the slices that a run was judged with, and those by further keys of the options.

    Raises:
        UsageError: There are further keys, and the judged files no longer exist or lack them.
    """
    found: Slices = dict(summary.get("slices", {}))
    more = [key for key in options.keys if key not in found]
    if not more:
        return found
    rows = list(read_rows(run / VERDICTS))
    bouts, problem = judged_bouts(rows, config, options.data)
    if not bouts:
        raise UsageError(
            f"{run}: the rows' keys can't be read: {problem}", hint="give the files that were judged with --data"
        )
    return found | slices(rows, bouts, more)


def table_rows(slices: Slices) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """Each key with its values, and a pair's summary for each value: the lines of its table."""
    for key, values in slices.items():
        yield key, [(value, pair) for value, pairs in values.items() for pair in pairs]
