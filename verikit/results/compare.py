"""`verikit.compare`: the command `verikit compare` as a function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from verikit.base import unique_names
from verikit.errors import UsageError
from verikit.report.comparison import ComparedRuns, compare_folders
from verikit.report.curves import forest
from verikit.report.difference_text import p_header, show_comparison, show_leaderboard, show_slices, verdict
from verikit.report.differences import RunDifference, as_json
from verikit.report.leaderboard import Standing
from verikit.report.model import Cell, Metric, Run, Table
from verikit.report.slice_tables import ROWS, of_rows, of_runs
from verikit.report.slices import Slice, slice_records
from verikit.results.columns import to_dataset, to_pandas, to_polars
from verikit.results.html import render
from verikit.results.run import FinishedRun
from verikit.stats.paired import holm

if TYPE_CHECKING:
    import datasets
    import pandas
    import polars

AnyRun: TypeAlias = FinishedRun | str | PathLike[str]
"""A run that a call returned, or its folder."""
Of: TypeAlias = Literal["differences", "slices", "rows"]
"""The part of a comparison in a data frame."""
EXAMPLES = 6


class RunComparison:
    """The result of `compare`: paired differences, which of them are real, and a leaderboard for three or more runs."""

    def __init__(self, comparison: ComparedRuns) -> None:
        self.differences: list[RunDifference] = comparison.differences
        """Each pair of runs on each metric: `first`, `second`, and the `difference` of the second from the first."""
        self.standings: list[Standing] = comparison.standings
        """The runs from best to worst, with the ranks that are possible by chance. Empty for two runs."""
        self.slices: list[Slice] = list(comparison.slices)
        """Each value of the keys of `by_key`: every run's estimate on its questions, and each pair's difference."""
        self._comparison = comparison

    @property
    def verdict(self) -> str:
        """Which differences are real at 5 %: who beats whom, by how much."""
        return verdict(self.differences)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield one record per pair of runs and metric. `p_holm` is corrected for multiple comparisons."""
        ps = holm([pair.difference.p for pair in self.differences])
        for pair, p in zip(self.differences, ps, strict=True):
            row = as_json(pair.difference)
            del row["changed"]
            yield {"first": pair.first, "second": pair.second, **row, "p_holm": p}

    def slice_records(self) -> Iterator[dict[str, Any]]:
        """Yield one record per value of a key and pair of runs. `p_holm` is corrected for all values of a key."""
        yield from slice_records(self.slices)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one record per question and metric, with a column for each run. Those that differ most come first.

        A column is None if the run has no value. A run with the name of another column gets a number.
        """
        for record in self._comparison.row_records():
            values = record.pop("values")
            names = unique_names([*record, *values])[len(record) :]
            yield record | dict(zip(names, values.values(), strict=True))

    def changes(self) -> Iterator[dict[str, Any]]:
        """Yield one record per question whose value differs between two runs, with both values."""
        for pair in self.differences:
            for row in as_json(pair.difference)["changed"]:
                yield {"first": pair.first, "second": pair.second, "task": pair.difference.task, **row}

    def to_pandas(self, of: Of = "differences") -> pandas.DataFrame:
        """Return the differences as a pandas data frame, or `slices`, or `rows`: each question under each run.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return to_pandas(self._records(of))

    def to_polars(self, of: Of = "differences") -> polars.DataFrame:
        """Return the differences as a polars data frame, or `slices`, or `rows`: each question under each run.

        Raises:
            MissingExtra: polars is not installed.
        """
        return to_polars(self._records(of))

    def to_dataset(self, of: Of = "differences") -> datasets.Dataset:
        """Return the differences as a dataset of the package datasets, or `slices`, or `rows`.

        `rows` has one record for each question under each run.

        Raises:
            MissingExtra: It is not installed.
        """
        return to_dataset(self._records(of))

    def _records(self, of: Of) -> Iterator[dict[str, Any]]:
        records = {"differences": self.records, "slices": self.slice_records, "rows": self.rows}
        if of not in records:
            raise UsageError(f"comparisons have no {of!r}", hint=f"use {', '.join(records)}")
        return records[of]()

    def __repr__(self) -> str:
        """Return the command's output, without colours."""
        if self.standings:
            lines = show_leaderboard(self.standings, self.differences)
        else:
            lines = show_comparison(self.differences, EXAMPLES)
        return click.unstyle("\n".join([*lines, *show_slices(self.slices)]))

    def _repr_html_(self) -> str:
        """Tables and a picture for a notebook."""
        metrics = [Metric(label, *told) for label, told in self._told()]
        page = Run("comparison", "comparison", "Differences, paired by question", notices=[self.verdict])
        title = "Differences, paired by question"
        charts = list(forest("differences", title, "difference in points", metrics, 0.0))
        rows = of_rows(self._comparison.row_records(), ROWS)
        return render(page, [*self._leaderboard(), self._table(), *of_runs(self.slices), *rows], charts)

    def _told(self) -> Iterator[tuple[str, tuple[float, float | None, float | None, bool]]]:
        for pair, row in zip(self.differences, self.records(), strict=True):
            points = [None if row[name] is None else 100 * row[name] for name in ("low", "high")]
            label = f"{pair.second} less {pair.first}: {pair.difference.task}"
            yield label, (100 * row["value"], points[0], points[1], False)

    def _table(self) -> Table:
        rows: list[list[Cell]] = []
        for row, (_, told) in zip(self.records(), self._told(), strict=True):
            counts = (row["gained"], row["lost"], row["docs"])
            rows.append([row["first"], row["second"], row["task"], Metric("", *told), f"{row['p_holm']:.4f}", *counts])
        columns = ("first", "second", "metric", "points", p_header(len(rows)), "gained", "lost", "questions")
        return Table("Differences", columns, rows, "the second less the first, in points, with 95 % intervals")

    def _leaderboard(self) -> Iterator[Table]:
        rows: list[list[Cell]] = []
        for row in self.standings:
            ranks = str(row.first_rank) if row.first_rank == row.last_rank else f"{row.first_rank} to {row.last_rank}"
            value = Metric("", row.estimate.value, row.estimate.low, row.estimate.high)
            rows.append([ranks, row.run, row.task, value, row.estimate.n])
        if rows:
            yield Table("Leaderboard", ("rank", "run", "metric", "value", "questions"), rows)


def compare(*runs: AnyRun | Mapping[str, AnyRun], metric: str = "", by_key: str | Sequence[str] = ()) -> RunComparison:
    """Compare runs of `score` or of `evaluate` on the same questions: which differences are real, and what changed.

    Does the same as `verikit compare`: paired differences with intervals over questions, and p-values of a sign-flip
    test, corrected for several comparisons.

    Args:
        runs: Two or more runs or folders of runs, or one mapping from names to them.
        metric: A metric of single questions other than the runs' default: `selected`, `pass@4`, `pass^4`.
        by_key: One key of the rows or several, to also compare value by value.

    Returns:
        The comparison: each pair's differences, which of them are real, and a leaderboard for three or more runs.

    Raises:
        UsageError: There are fewer than two runs, a folder is not a run, a run has no such metric, they have no
            question in common, or no row has a key.
    """
    named: dict[str, AnyRun] = {}
    for run in runs:
        named |= run if isinstance(run, Mapping) else {_free(_name(run, len(named) + 1), named): run}
    if len(named) < 2:
        raise UsageError("compare takes two runs or more", hint="compare(before, after)")
    keys = [by_key] if isinstance(by_key, str) else by_key
    return RunComparison(compare_folders({name: _folder(run) for name, run in named.items()}, metric, keys))


def _name(run: AnyRun, number: int) -> str:
    path = run.folder if isinstance(run, FinishedRun) else Path(fspath(run))
    return f"run {number}" if path is None else path.resolve().name


def _free(name: str, taken: Mapping[str, object]) -> str:
    """A name that no other run has."""
    return unique_names([*taken, name])[-1]


def _folder(run: AnyRun) -> Path:
    return run.path if isinstance(run, FinishedRun) else Path(fspath(run)).expanduser()
