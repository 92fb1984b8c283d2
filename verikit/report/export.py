"""Exports runs for a paper or a spreadsheet: every table as CSV, LaTeX or Markdown, every chart as SVG or PDF.

A file's name has its run and its content: `candidates-metrics.csv`, `candidates-over-k.svg`. Files that compare several
runs start with `side-by-side-` and the kind of run. CSV also has the numbers behind every chart.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from verikit.platform.terminal import in_percent, markdown_table
from verikit.report.compare import SideBySide
from verikit.report.drawing import draw
from verikit.report.latex import latex_table
from verikit.report.model import Cell, Chart, Metric, Run, Table
from verikit.report.pictures import pdf, svg

METRICS = "metrics"
PRINTED = 200
"""Maximum rows of a collapsed table for it to be printed."""
STEM = 60
"""Maximum letters of a file name's description of the content."""
FORMULA = ("=", "+", "-", "@", "\t")
"""Prefixes that a spreadsheet reads as a formula, which a model's text must not become."""


class Exported(NamedTuple):
    """One table or chart on its way to a file."""

    stem: str
    content: Table | Chart


def exports(runs: Sequence[Run], together: Sequence[SideBySide]) -> Iterator[Exported]:
    """Yield every table and chart of runs under the name of its file, each name once."""
    used: dict[str, int] = {}
    for name, table_or_chart in _named(runs, together):
        used[name] = used.get(name, 0) + 1
        yield Exported(name if used[name] == 1 else f"{name}-{used[name]}", table_or_chart)


def _named(runs: Sequence[Run], together: Sequence[SideBySide]) -> Iterator[tuple[str, Table | Chart]]:
    for same in together:
        prefix = f"side-by-side-{same.kind}"
        yield from ((stem(prefix, table.title), table) for table in same.tables)
        yield from ((stem(prefix, chart.title), chart) for chart in same.charts)
    for run in runs:
        if run.metrics:
            yield stem(run.name, METRICS), metrics_table(run)
        yield from ((stem(run.name, table.title), table) for table in run.tables)
        yield from ((stem(run.name, chart.key), chart) for chart in run.charts)


def metrics_table(run: Run) -> Table:
    """A run's headline metrics, which the page shows as large numbers."""
    noted = any(metric.note for metric in run.metrics)
    rows: list[tuple[str | Metric, ...]] = [
        (metric.label, metric, *([metric.note] if noted else [])) for metric in run.metrics
    ]
    return Table(f"Metrics of {run.name}", ("metric", "value", *(["note"] if noted else [])), rows)


def stem(run: str, what: str) -> str:
    """A file's name without its ending: small letters, digits and hyphens, wherever the names come from.

    >>> stem("candidates", "steps/0.9*answer")
    'candidates-steps-0-9-answer'
    """
    spoken = (text.lower().replace("@", "-at-").replace("^", "-hat-") for text in (run, what))
    first, second = (re.sub(r"[^a-z0-9]+", "-", text).strip("-")[:STEM].strip("-") for text in spoken)
    return f"{first or 'run'}-{second or 'table'}"


def csv_table(table: Table) -> str:
    """Return a table as CSV: values in full, a value with an interval in three columns."""
    columns: list[str] = []
    wide = [any(isinstance(row[at], Metric) for row in table.rows) for at in range(len(table.columns))]
    for name, three in zip(table.columns, wide, strict=True):
        title = name or "name"
        columns += [title, f"{title} low", f"{title} high"] if three else [title]
    rows = []
    for row in table.rows:
        cells: list[str] = []
        for value, three in zip(row, wide, strict=True):
            cells += _three(value) if three else [_plain(value)]
        rows.append(cells)
    return _csv(columns, rows)


def csv_chart(chart: Chart) -> str:
    """Return the numbers behind a chart as CSV, a row for each point."""
    columns = {
        "line": [chart.x or "x", "value", "low", "high"],
        "histogram": ["from", "to", "count"],
        "forest": ["value", "low", "high"],
    }[chart.kind]
    rows = []
    for series in chart.series:
        for at, point in enumerate(series.points):
            cells = [*point, *[None] * len(columns)][: len(columns)]
            rows.append([_plain(series.name), *map(_plain, chart.rows[at : at + 1]), *map(_plain, cells)])
    return _csv(["series", *(["row"] if chart.rows else []), *columns], rows)


def csv_metrics(runs: Sequence[Run]) -> str:
    """Return the headline metrics of all runs as one tidy CSV."""
    columns = ["run", "kind", "metric", "value", "low", "high", "note"]
    rows = [
        [_plain(run.name), run.kind, _plain(metric.label), *_three(metric), _plain(metric.note)]
        for run in runs
        for metric in run.metrics
    ]
    return _csv(columns, rows)


def _csv(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    held = io.StringIO()
    csv.writer(held, lineterminator="\n").writerows([columns, *rows])
    return held.getvalue()


def _three(value: Cell) -> list[str]:
    if isinstance(value, Metric):
        return [_plain(value.value), _plain(value.low), _plain(value.high)]
    return [_plain(value), "", ""]


def _plain(value: Cell) -> str:
    """Format a cell so that it can be read back. A string that a spreadsheet would evaluate gets an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = value.replace("\r", "\n").replace("\0", "\ufffd").encode("utf-8", "replace").decode()
        return f"'{text}" if text.startswith(FORMULA) and not _is_number(text) else text
    return repr(value.value) if isinstance(value, Metric) else repr(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def markdown(table: Table) -> str:
    """Return a table as Markdown, under its title."""
    cells = [[shown(value) for value in row] for row in table.rows]
    lines = [f"### {_line(table.title)}", "", *markdown_table([_line(name) for name in table.columns], cells)]
    return "\n".join([*lines, *(["", _line(table.note)] if table.note else []), ""])


def _line(text: str) -> str:
    return " ".join(text.split())


def shown(value: Cell) -> str:
    """Format a cell for readers: a fraction in percent, with its interval."""
    if value is None:
        return ""
    if isinstance(value, Metric):
        if value.value is None:
            return "\u2013"
        number = f"{in_percent(value.value)} %" if value.percent else f"{value.value:.4g}"
        if value.low is None or value.high is None:
            return number
        if not value.percent:
            return f"{number} [{value.low:.4g}, {value.high:.4g}]"
        return f"{number} [{in_percent(value.low)}, {in_percent(value.high)}]"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else _line(value)


def _latex(table: Table, label: str) -> str:
    rows = [[shown(value) for value in row] for row in table.rows]
    return latex_table(table.columns, rows, caption=". ".join(filter(None, (table.title, table.note))), label=label)


TABLES: Mapping[str, tuple[str, Callable[[Table, str], str]]] = {
    "csv": ("csv", lambda table, label: csv_table(table)),
    "latex": ("tex", _latex),
    "markdown": ("md", lambda table, label: markdown(table)),
}
"""Formats of tables: the ending of their files, and what writes them."""
CHARTS: Mapping[str, tuple[str, Callable[[Chart], bytes]]] = {
    "csv": ("csv", lambda chart: csv_chart(chart).encode()),
    "svg": ("svg", lambda chart: svg(draw(chart)).encode()),
    "pdf": ("pdf", lambda chart: pdf(draw(chart))),
}
"""The same of charts."""
FORMATS = tuple(dict.fromkeys([*TABLES, *CHARTS]))


def files(runs: Sequence[Run], together: Sequence[SideBySide], formats: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of every file in these formats.

    Raises:
        MissingExtra: PDF is requested and matplotlib is not installed.
    """
    if "csv" in formats:
        yield f"{METRICS}.csv", csv_metrics(runs).encode()
    for name, content in exports(runs, together):
        for format in formats:
            if isinstance(content, Table) and format in TABLES:
                ending, write = TABLES[format]
                yield f"{name}.{ending}", write(content, f"tab:{name}").encode()
            elif isinstance(content, Chart) and format in CHARTS:
                ending, draw_it = CHARTS[format]
                yield f"{name}.{ending}", draw_it(content)


def text(runs: Sequence[Run], together: Sequence[SideBySide], format: str) -> str:
    """Return the tables in one text format: `latex` or `markdown`. `csv` gives only the headline metrics.

    Collapsed tables of more than `PRINTED` rows are only written to files, since a job's summary has no room for them.
    """
    if format == "csv":
        return csv_metrics(runs)
    write = TABLES[format][1]
    found = exports(runs, together)
    tables = [(name, held) for name, held in found if isinstance(held, Table)]
    return "\n".join(write(held, f"tab:{name}") for name, held in tables if not held.more or len(held.rows) <= PRINTED)
