"""Several runs in one page: collected, named, and set side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from verikit.base import unique_names
from verikit.errors import UsageError
from verikit.report.items import fit, mark_differences
from verikit.report.kinds import Unfinished, collect, runs_in
from verikit.report.model import Cell, Chart, Metric, Options, Run, Series, Table
from verikit.report.page import render
from verikit.stats import mean_interval

PAIRED = "score"
"""The kind whose runs are compared prompt by prompt here; `verikit compare` does it for eval runs, task by task."""


def report(paths: Sequence[Path], options: Options | None = None) -> bytes:
    """Runs as one HTML page; a folder of runs stands for all of them that are finished.

    Raises:
        UsageError: a folder is no finished run, or the data is not what it was made from.
    """
    collected: list[tuple[Path, Run]] = []
    left_out = []
    for path in paths:
        for folder in runs_in(path):
            try:
                collected.append((folder, collect(folder, options or Options())))
            except Unfinished:
                if folder == path:
                    raise
                left_out.append(folder.name)
    if not collected:
        raise UsageError(f"no run in {', '.join(map(str, paths))} is finished", hint="run their commands again")
    runs = [run for _, run in collected]
    for run, name in zip(runs, unique_names(folder.resolve().name for folder, _ in collected), strict=True):
        run.name = name
    if left_out:
        runs[0].notices.append(f"not finished, and so not in this page: {', '.join(left_out)}")
    mark_differences(runs)
    fit(runs)
    title = "verikit report: " + ", ".join(run.name for run in runs[:4]) + (" …" if len(runs) > 4 else "")
    return render(title, runs, side_by_side(runs))


def side_by_side(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """For each kind with several runs: shared metrics, paired differences, curves laid over each other, settings."""
    found = []
    for kind in dict.fromkeys(run.kind for run in runs):
        same = [run for run in runs if run.kind == kind]
        if len(same) > 1:
            tables = [table for table in (_metrics(same), _differences(same), _settings(same)) if table.rows]
            found.append({"kind": kind, "tables": tables, "charts": _charts(same)})
    return found


def _metrics(runs: Sequence[Run]) -> Table:
    labels = dict.fromkeys(metric.label for run in runs for metric in run.metrics)
    held = [{metric.label: metric for metric in run.metrics} for run in runs]
    rows = [(label, *(values.get(label) for values in held)) for label in labels]
    rows = [row for row in rows if sum(value is not None for value in row[1:]) > 1]
    note = "with 95 % intervals; whether two runs differ is told by their difference, not by intervals that overlap"
    return Table("Metrics", ("", *(run.name for run in runs)), rows, note)


def _differences(runs: Sequence[Run]) -> Table:
    """Each run less the first, over the prompts that both have: what they share falls out of the difference."""
    first, *others = [_means(run) for run in runs]
    rows: list[Sequence[Cell]] = []
    for run, means in zip(runs[1:], others, strict=True):
        shared = [means[id] - first[id] for id in means if id in first]
        if run.kind == PAIRED and len(shared) > 1:
            percent = all(-1 <= value <= 1 for value in shared)
            found = mean_interval(shared, bounds=(-1.0, 1.0)).as_row()
            rows.append((run.name, Metric("", found["value"], found["low"], found["high"], percent), len(shared)))
    note = "of a prompt's mean score, over the samples in this page; the interval is over prompts"
    return Table(f"Difference from {runs[0].name}, paired by prompt", ("", "mean difference", "prompts"), rows, note)


def _means(run: Run) -> dict[str, float]:
    """Mean score by prompt, over the scored samples."""
    values: dict[str, list[float]] = {}
    for item in run.items:
        if item.value is not None:
            values.setdefault(item.id, []).append(item.value)
    return {id: fmean(some) for id, some in values.items()}


def _settings(runs: Sequence[Run]) -> Table:
    flat = [_flat(run.settings) for run in runs]
    names = dict.fromkeys(name for settings in flat for name in settings)
    rows = [(name, *(settings.get(name, "") for settings in flat)) for name in names]
    differing = [row for row in rows if len(set(row[1:])) > 1]
    return Table("Settings that differ", ("", *(run.name for run in runs)), differing)


def _flat(settings: Any, prefix: str = "") -> dict[str, str]:
    """Settings by dotted name, as text."""
    if not isinstance(settings, dict) or not settings:
        told = ", ".join(map(str, settings)) if isinstance(settings, list) else str(settings)
        return {prefix: "" if settings is None else told} if prefix else {}
    found: dict[str, str] = {}
    for name, value in settings.items():
        found |= _flat(value, f"{prefix}.{name}" if prefix else str(name))
    return found


def _charts(runs: Sequence[Run]) -> list[Chart]:
    """A chart for each series that at least two runs have, a line for each run."""
    found: dict[tuple[str, str], list[tuple[str, Chart, Series]]] = {}
    for run in runs:
        for chart in run.charts:
            for series in chart.series if chart.kind == "line" and not chart.more else ():
                found.setdefault((chart.key, series.name), []).append((run.name, chart, series))
    charts = []
    for (key, name), held in found.items():
        if len(held) > 1:
            first = held[0][1]
            title = f"{first.title}: {name}" if len(first.series) > 1 else first.title
            lines = [Series(run, series.points) for run, _, series in held]
            percent = all(chart.percent for _, chart, _ in held)
            charts.append(Chart(key, title, first.x, first.y, lines, percent=percent, log=first.log))
    return charts
