"""A run's display in a notebook: headline numbers, tables and pictures as one piece of HTML.

It has no script and no style sheet, which notebooks strip, and model output is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from verikit.platform.terminal import in_percent, printable
from verikit.report.drawing import draw
from verikit.report.model import Cell, Chart, Metric, Run, Table
from verikit.report.pictures import svg

ROWS = 12
"""Number of rows shown of a table. The report has all."""
NOTICES = 5
LONGEST = 120
"""Maximum characters of a cell."""
_NO_TEX = 'class="tex2jax_ignore mathjax_ignore"'
"""Dollar signs in the text are not TeX's, which notebooks look for."""
_SOFT = 'style="color:#7a7f86;font-size:90%"'
_LEFT, _RIGHT = 'style="text-align:left"', 'style="text-align:right"'


def render(
    run: Run, tables: Sequence[Table], charts: Sequence[Chart], notes: Sequence[str] = (), folder: Path | None = None
) -> str:
    """Return a run as HTML: its title, notices, metrics with their intervals, tables, and charts."""
    pieces = [f"<p><b>{_text(run.title)}</b> ({_text(run.kind)})</p>", *_facts(run), *_notices([*run.notices, *notes])]
    if run.metrics:
        pieces += _table(headline(run.metrics))
    for table in tables:
        pieces += _table(table)
    pieces += [f"<div>{_caption(chart.title, chart.note)}{svg(draw(chart))}</div>" for chart in charts]
    if folder is not None:
        pieces.append(f"<p {_SOFT}>in <code>{_text(str(folder))}</code></p>")
    return f"<div {_NO_TEX}>{''.join(pieces)}</div>"


def headline(metrics: Sequence[Metric]) -> Table:
    """A run's headline numbers as a table."""
    width = 3 if any(metric.note for metric in metrics) else 2
    rows: list[Sequence[Cell]] = [(metric.label, metric, metric.note)[:width] for metric in metrics]
    return Table("", ("", "value and 95 % interval", "")[:width], rows)


def _facts(run: Run) -> Iterator[str]:
    told = " · ".join(f"{_text(name)}: {_text(value)}" for name, value in run.facts if value != run.title)
    if told:
        yield f"<p {_SOFT}>{told}</p>"


def _notices(notices: Sequence[str]) -> Iterator[str]:
    if notices:
        left = [f"and {len(notices) - NOTICES:,} more, in the report"] if len(notices) > NOTICES else []
        items = "".join(f"<li>{_text(notice, 300)}</li>" for notice in [*notices[:NOTICES], *left])
        yield f"<ul>{items}</ul>"


def _table(table: Table) -> Iterator[str]:
    if not table.rows:
        return
    aligned = [_RIGHT if _numeric(table, column) else _LEFT for column in range(len(table.columns))]
    yield f"<div>{_caption(table.title, table.note)}<table><thead><tr>"
    yield "".join(f"<th {side}>{_text(name)}</th>" for name, side in zip(table.columns, aligned, strict=True))
    yield "</tr></thead><tbody>"
    for row in table.rows[:ROWS]:
        yield f"<tr>{''.join(f'<td {side}>{cell(value)}</td>' for value, side in zip(row, aligned, strict=True))}</tr>"
    yield "</tbody></table>"
    if len(table.rows) > ROWS:
        yield f"<p {_SOFT}>and {len(table.rows) - ROWS:,} more rows, in the report</p>"
    yield "</div>"


def _numeric(table: Table, column: int) -> bool:
    return any(isinstance(row[column], (int, float, Metric)) for row in table.rows)


def _caption(title: str, note: str) -> str:
    told = f"<b>{_text(title)}</b> " if title else ""
    told += f"<span {_SOFT}>{_text(note, 400)}</span>" if note else ""
    return f"<div>{told}</div>" if told else ""


def cell(value: Cell) -> str:
    """Format a table's cell. A number with its interval is `62.5 [41.0, 80.1]`, in percent if it is a fraction."""
    match value:
        case Metric():
            return _text(interval(value))
        case float():
            return f"{value:.4g}"
        case int():
            return f"{value:,}"
        case None:
            return ""
    return _text(value)


def interval(metric: Metric) -> str:
    """A number with its 95 % interval as text."""
    if metric.value is None:
        return "-"
    if metric.percent:
        value, low, high = (None if x is None else in_percent(x) for x in (metric.value, metric.low, metric.high))
    else:
        value, low, high = (None if x is None else f"{x:.4g}" for x in (metric.value, metric.low, metric.high))
    told = f"{value} %" if metric.percent else f"{value}"
    return told if low is None or high is None else f"{told} [{low}, {high}]"


def _text(text: str, most: int = LONGEST) -> str:
    """Return text as HTML."""
    cut = text if len(text) <= most else text[: most - 1] + "\u2026"
    return escape(printable(cut))
