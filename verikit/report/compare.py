"""Several runs on one page: read, named, and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from verikit.base import unique_names
from verikit.errors import UsageError
from verikit.report.curves import estimate
from verikit.report.difference_text import p_header, verdict
from verikit.report.differences import RunDifference, check_drawn_alike, compare_all, read_outcomes
from verikit.report.headline import DifferingQuestion, flips, pictures, sentences, worst
from verikit.report.items import fit, mark_differences
from verikit.report.kinds import KINDS, SLICED, Unfinished, collect, runs_in
from verikit.report.leaderboard import leaderboard
from verikit.report.model import Cell, Chart, Options, Run, Series, Table
from verikit.report.page import render
from verikit.report.slice_tables import difference, of_rows, of_runs
from verikit.report.slices import read_rows_of, row_records, sliced
from verikit.stats.paired import Outcomes, holm

COMPARABLE = {kind.name for kind in KINDS if kind.outcomes}
"""Kinds whose runs have a value for each question."""
WITH_KEYS = {kind.name for kind in KINDS if kind.rows or kind.slices}


class SideBySide(NamedTuple):
    """Comparison of several runs of one kind."""

    kind: str
    tables: Sequence[Table]
    charts: Sequence[Chart]
    sentences: Sequence[str] = ()
    """What differs, with intervals."""
    worst: Sequence[DifferingQuestion] = ()
    """The questions on which the runs differ most."""


def report(paths: Sequence[Path], options: Options | None = None) -> bytes:
    """Render runs as one HTML page. A folder of runs includes all of its finished runs.

    Raises:
        UsageError: A folder is not a finished run, or the data is not the run's input.
    """
    runs, together = collect_all(paths, options or Options())
    mark_differences(runs)
    fit(runs)
    title = "verikit report: " + ", ".join(run.name for run in runs[:4]) + (" …" if len(runs) > 4 else "")
    return render(title, runs, [_plain(same) for same in together])


def _plain(same: SideBySide) -> dict[str, Any]:
    """A comparison by names, also of the tuples in it."""
    questions = [
        question._asdict() | {"replies": [reply._asdict() for reply in question.replies]} for question in same.worst
    ]
    return same._asdict() | {"worst": questions}


def _collected(paths: Sequence[Path], options: Options) -> tuple[list[tuple[Path, Run]], list[str]]:
    """The finished runs in folders, and the names of the others; an unfinished run that was named itself raises."""
    collected: list[tuple[Path, Run]] = []
    left_out = []
    for path in paths:
        for folder in runs_in(path):
            try:
                collected.append((folder, collect(folder, options)))
            except Unfinished:
                if folder == path:
                    raise
                left_out.append(folder.name)
    return collected, left_out


def collect_all(paths: Sequence[Path], options: Options) -> tuple[list[Run], list[SideBySide]]:
    """Read runs, give each a unique name, and compare those of one kind.

    Raises:
        UsageError: See `report`.
    """
    collected, left_out = _collected(paths, options)
    if not collected:
        raise UsageError(f"finished runs not found in {', '.join(map(str, paths))}", hint="run their commands again")
    if options.keys and not any(run.kind in WITH_KEYS for _, run in collected):
        raise UsageError("rows of these runs can't be sliced by a key", hint=f"give runs of {SLICED}")
    runs = _named_apart(collected)
    if len(runs) > 1:
        _fold_lengths(runs)
    if left_out:
        runs[0].notices.append(f"not finished, and so not in this page: {', '.join(left_out)}")
    folders = {run.name: folder for run, (folder, _) in zip(runs, collected, strict=True)}
    return runs, side_by_side(runs, folders, options)


def _named_apart(collected: Sequence[tuple[Path, Run]]) -> list[Run]:
    """Name each run by its folder, with a number where two folders have one name."""
    names = unique_names(folder.resolve().name for folder, _ in collected)
    for (_, run), name in zip(collected, names, strict=True):
        run.name = name
    return [run for _, run in collected]


def _fold_lengths(runs: Sequence[Run]) -> None:
    """Fold the histograms of lengths, because the comparison of runs comes first."""
    for run in runs:
        run.charts = [replace(chart, more=True) if chart.key == "lengths" else chart for chart in run.charts]


def side_by_side(runs: Sequence[Run], folders: Mapping[str, Path], options: Options) -> list[SideBySide]:
    """Compare each kind's runs: shared metrics, paired differences, rows, overlaid curves, settings.

    Raises:
        UsageError: No row has a requested key.
    """
    by_kind = {kind: [run for run in runs if run.kind == kind] for kind in dict.fromkeys(run.kind for run in runs)}
    return [_of_kind(kind, same, folders, options) for kind, same in by_kind.items() if len(same) > 1]


def _of_kind(kind: str, runs: Sequence[Run], folders: Mapping[str, Path], options: Options) -> SideBySide:
    """Compare the runs of one kind. Differences are omitted if their samples were generated in different ways."""
    folders = {run.name: folders[run.name] for run in runs}
    outcomes = {name: read_outcomes(folder) for name, folder in folders.items()} if kind in COMPARABLE else {}
    try:
        check_drawn_alike(outcomes)
    except UsageError as problem:
        runs[0].notices.append(f"no differences between runs: {problem}")
        outcomes = {}
    rows = read_rows_of(folders, options.keys, options.data) if outcomes else {}
    pairs, slices = compare_all(outcomes), sliced(outcomes, rows, options.keys)
    tables = (
        _standings(pairs, outcomes),
        flips(pairs, outcomes),
        *of_runs(slices),
        _differences(pairs),
        _metrics(runs),
        *of_rows(row_records(outcomes, rows, options.keys), options.samples),
        _settings(runs),
    )
    return SideBySide(
        kind,
        [table for table in tables if table.rows],
        [*(pictures(outcomes, slices) if pairs else ()), *_charts(runs)],
        sentences(pairs),
        worst(row_records(outcomes, rows, options.keys), runs),
    )


def _metrics(runs: Sequence[Run]) -> Table:
    labels = dict.fromkeys(metric.label for run in runs for metric in run.metrics)
    by_label = [{metric.label: metric for metric in run.metrics} for run in runs]
    values = {label: [metrics.get(label) for metrics in by_label] for label in labels}
    rows = [(label, *cells) for label, cells in values.items() if len(cells) - cells.count(None) > 1]
    note = "95 % intervals. Overlapping intervals do not show that runs are equal: read the paired differences"
    return Table("Metrics", ("", *(run.name for run in runs)), rows, note)


def _standings(pairs: Sequence[RunDifference], outcomes: Mapping[str, Sequence[Outcomes]]) -> Table:
    rows: list[Sequence[Cell]] = []
    for row in leaderboard(outcomes, pairs) if len(outcomes) > 2 else ():
        ranks = str(row.first_rank) if row.first_rank == row.last_rank else f"{row.first_rank} to {row.last_rank}"
        rows.append((ranks, row.run, row.task, estimate("", row.estimate.as_row()), row.estimate.n))
    note = "on the questions that all have; runs share ranks unless their paired difference is real at 5 %"
    return Table("Leaderboard", ("rank", "run", "", "value", "questions"), rows, note)


def _differences(pairs: Sequence[RunDifference]) -> Table:
    """Compare each pair of runs question by question, so that their shared variance cancels."""
    rows: list[Sequence[Cell]] = []
    for pair, p in zip(pairs, holm([pair.difference.p for pair in pairs]), strict=True):
        found, label = pair.difference, f"{pair.second} less {pair.first}"
        rows.append((label, found.task, difference(pair), f"{p:.4f}", found.docs))
    columns = ("", "metric", "mean difference", p_header(len(pairs)), "questions")
    note = f"intervals over questions. {verdict(pairs)}" if pairs else ""
    return Table("Differences, paired by question", columns, rows, note)


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
        if not prefix:
            return {}
        return {prefix: "" if settings is None else told}
    found: dict[str, str] = {}
    for name, value in settings.items():
        found |= _flat(value, f"{prefix}.{name}" if prefix else str(name))
    return found


def _charts(runs: Sequence[Run]) -> list[Chart]:
    """A chart for each series that at least two runs have, a line for each run."""
    by_series: dict[tuple[str, str], list[tuple[str, Chart, Series]]] = {}
    for run in runs:
        for chart in run.charts:
            for series in chart.series if chart.kind == "line" and not chart.more else ():
                by_series.setdefault((chart.key, series.name), []).append((run.name, chart, series))
    return [_laid_over(*named, several) for named, several in by_series.items() if len(several) > 1]


def _laid_over(key: str, name: str, several: Sequence[tuple[str, Chart, Series]]) -> Chart:
    """A series of several runs in one chart."""
    first = several[0][1]
    title = f"{first.title}: {name}" if len(first.series) > 1 else first.title
    lines = [Series(run, series.points) for run, _, series in several]
    percent = all(chart.percent for _, chart, _ in several)
    return Chart(key, title, first.x, first.y, lines, percent=percent, log=first.log)
