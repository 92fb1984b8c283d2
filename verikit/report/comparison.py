"""Runs compared as a whole: every pair's differences, and of three or more a leaderboard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from verikit.errors import UsageError
from verikit.report.differences import RunDifference, compare_all, read_outcomes
from verikit.report.leaderboard import Standing, leaderboard
from verikit.report.slices import Rows, RunOutcomes, Slice, read_rows_of, row_records, sliced, with_questions


class ComparedRuns(NamedTuple):
    """Runs side by side."""

    differences: list[RunDifference]
    standings: list[Standing]
    """From the best down; none of two runs."""
    slices: Sequence[Slice] = ()
    """Slices by key and value, if keys are given."""
    outcomes: RunOutcomes = MappingProxyType({})
    rows: Rows = MappingProxyType({})
    keys: Sequence[str] = ()

    def row_records(self) -> Iterator[dict[str, Any]]:
        """One record for each question and metric, with each run's value; see `slices.row_records`."""
        return row_records(self.outcomes, self.rows, self.keys)


def _first_ids(outcomes: RunOutcomes) -> str:
    ids = [next((id for some in found for id in some.values), None) for found in outcomes.values()]
    return ", ".join(repr(id) for id in ids if id is not None) or "none"


def compare_folders(
    folders: Mapping[str, Path], metric: str = "", keys: Sequence[str] = (), others: Sequence[str] = ()
) -> ComparedRuns:
    """Compare the runs of folders by name, on the metrics they are judged by or on the named one.

    Args:
        folders: The runs' folders by name.
        metric: A metric to compare instead of those that the runs are judged by.
        keys: Keys of the rows to compare by as well, value by value.
        others: Files with the rows, if they were moved.

    Raises:
        UsageError: A folder is not a finished run of a kind with questions, the runs share no question, or no row has a
            key.
    """
    outcomes = {name: read_outcomes(folder, metric) for name, folder in folders.items()}
    pairs = compare_all(outcomes)
    if not pairs:
        told = " and ".join(str(folder) for folder in folders.values())
        hint = f"run all on the same questions; they are joined by id, the first of each: {_first_ids(outcomes)}"
        raise UsageError(f"{told} share no question with results", hint=hint)
    rows = read_rows_of(folders, keys, others)
    return ComparedRuns(
        [with_questions(pair, rows) for pair in pairs],
        leaderboard(outcomes, pairs) if len(folders) > 2 else [],
        sliced(outcomes, rows, keys),
        outcomes,
        rows,
        keys,
    )
