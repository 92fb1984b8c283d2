"""Tables of runs by the keys of their rows, and row by row: for the page, its exports and notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from verikit.report.curves import estimate
from verikit.report.difference_text import p_header
from verikit.report.differences import RunDifference
from verikit.report.model import Cell, Metric, Table
from verikit.report.slices import Slice
from verikit.scoring.show import slice_metrics
from verikit.scoring.slices import Slices
from verikit.stats.paired import holm

ROWS = 30
"""Visible rows of a table. A longer table is collapsed."""
QUESTION = 160
"""Characters of a question in a table."""


def of_one_run(slices: Slices) -> Iterator[Table]:
    """A run's slices, a table for each key."""
    for key, values in slices.items():
        metrics = slice_metrics(values)
        rows: list[Sequence[Cell]] = [
            (
                value,
                row["prompts"],
                row["candidates"],
                row["unscored"],
                *(estimate("", row["metrics"][name]) if name in row["metrics"] else None for name in metrics),
            )
            for value, row in values.items()
        ]
        columns = (key, "prompts", "candidates", "unscored", *metrics)
        yield Table(f"By {key}", columns, rows, "95 % intervals over the prompts of a row", more=len(rows) > ROWS)


def of_runs(slices: Sequence[Slice]) -> Iterator[Table]:
    """Each value of a key with every run's value on its questions; of two runs also their difference."""
    for key, task in dict.fromkeys((found.key, found.task) for found in slices):
        several = [found for found in slices if (found.key, found.task) == (key, task)]
        runs = list(several[0].estimates)
        rows: list[list[Cell]] = [
            [found.value, found.n, *(estimate("", row.as_row()) for row in found.estimates.values())]
            for found in several
        ]
        columns = [key, "questions", *runs]
        note = "on the questions that all runs have, with 95 % intervals"
        if len(runs) == 2:
            columns += [f"{runs[1]} less {runs[0]}", p_header(len(several))]
            differences = _differences([found.differences[0] for found in several])
            rows = [[*row, *cells] for row, cells in zip(rows, differences, strict=True)]
            note += "; sign-flip test, p corrected by Holm over the values, intervals not corrected"
        yield Table(f"{task} by {key}", columns, rows, note, more=len(rows) > ROWS)


def _differences(pairs: Sequence[RunDifference]) -> Iterator[tuple[Cell, Cell]]:
    """The difference of each pair of runs, and its p corrected for all of them."""
    for pair, p in zip(pairs, holm([pair.difference.p for pair in pairs]), strict=True):
        yield difference(pair), f"{p:.4f}"


def difference(pair: RunDifference) -> Metric:
    """Return a difference with its interval, in percent if both means are fractions."""
    found = pair.difference
    low, high = (None, None) if math.isinf(found.low) else (found.low, found.high)
    fractions = all(0 <= mean <= 1 for mean in (found.before, found.after))
    return Metric("", found.value, low, high, percent=fractions and found.low >= -1 and found.high <= 1)


def of_rows(records: Iterable[Mapping[str, Any]], most: int) -> Iterator[Table]:
    """Yield a table per metric with every question and each run's value, with at most `most` rows."""
    by_metric: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        by_metric.setdefault(record["metric"], []).append(record)
    for metric, held in by_metric.items():
        keys = [key for key in held[0] if key not in ("id", "question", "metric", "values")]
        rows: list[Sequence[Cell]] = [
            (
                record["id"],
                record["question"][:QUESTION],
                *(record[key] for key in keys),
                *("unscored" if value is None else value for value in record["values"].values()),
            )
            for record in islice(held, most)
        ]
        left = f"; the first {most:,} of {len(held):,}" if len(held) > most else ""
        note = f"{metric} of each row under each run, those that differ most first{left}"
        columns = ("row", "question", *keys, *held[0]["values"])
        yield Table(f"Row by row: {metric}", columns, rows, note, more=len(rows) > ROWS)
