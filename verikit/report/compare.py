"""Several runs in one page: collected, named, and set side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from verikit.report.items import fit, mark_differences
from verikit.report.kinds import collect
from verikit.report.model import Chart, Options, Run, Series, Table
from verikit.report.page import render
from verikit.verifier import unique_names


def report(paths: Sequence[Path], options: Options | None = None) -> bytes:
    """Runs as one HTML page.

    Raises:
        UsageError: a folder is no finished run, or the data is not what it was made from.
    """
    runs = [collect(path, options or Options()) for path in paths]
    for run, name in zip(runs, unique_names(run.name for run in runs), strict=True):
        run.name = name
    mark_differences(runs)
    fit(runs)
    title = "verikit report: " + ", ".join(run.name for run in runs[:4]) + (" …" if len(runs) > 4 else "")
    return render(title, runs, side_by_side(runs))


def side_by_side(runs: Sequence[Run]) -> dict[str, Sequence[Any]]:
    """Figures that several runs have in one table, their charts laid over each other, and the settings that differ."""
    if len(runs) < 2:
        return {"charts": [], "tables": []}
    tables = [table for table in (_figures(runs), _settings(runs)) if table.rows]
    return {"charts": _charts(runs), "tables": tables}


def _figures(runs: Sequence[Run]) -> Table:
    labels = dict.fromkeys(figure.label for run in runs for figure in run.figures)
    held = [{figure.label: figure for figure in run.figures} for run in runs]
    rows = [(label, *(figures.get(label) for figures in held)) for label in labels]
    rows = [row for row in rows if sum(one is not None for one in row[1:]) > 1]
    note = "with 95 % intervals; whether two runs differ is told by their difference, not by intervals that overlap"
    return Table("Figures", ("", *(run.name for run in runs)), rows, note)


def _settings(runs: Sequence[Run]) -> Table:
    flat = [_flat(run.settings) for run in runs]
    names = dict.fromkeys(name for settings in flat for name in settings)
    rows = [(name, *(settings.get(name, "") for settings in flat)) for name in names]
    differing = [row for row in rows if len(set(row[1:])) > 1]
    return Table("Settings that differ", ("", *(run.name for run in runs)), differing)


def _flat(settings: Any, prefix: str = "") -> dict[str, str]:
    """Settings by dotted name, as text."""
    if not isinstance(settings, dict) or not settings:
        return {prefix: "" if settings is None else str(settings)} if prefix else {}
    found: dict[str, str] = {}
    for name, value in settings.items():
        found |= _flat(value, f"{prefix}.{name}" if prefix else str(name))
    return found


def _charts(runs: Sequence[Run]) -> list[Chart]:
    """A chart for each series that at least two runs have, a line for each run."""
    found: dict[tuple[str, str, str], list[tuple[str, Chart, Series]]] = {}
    for run in runs:
        for chart in run.charts:
            for series in chart.series if chart.kind == "line" and not chart.more else ():
                found.setdefault((run.kind, chart.key, series.name), []).append((run.name, chart, series))
    charts = []
    for (_, key, name), held in found.items():
        if len(held) > 1:
            first = held[0][1]
            title = name if len(first.series) > 1 else first.title
            lines = [Series(run, series.points) for run, _, series in held]
            percent = all(chart.percent for _, chart, _ in held)
            charts.append(Chart(key, title, first.x, first.y, lines, percent=percent, log=first.log))
    return charts
