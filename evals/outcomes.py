"""An eval run's values by question, for a comparison with another run's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from verikit.errors import UsageError
from verikit.evals.run_folder import read_results, samples_name, units
from verikit.evals.samples import read_samples, row_metric, value_of
from verikit.readers.layout import either, locate
from verikit.scoring.slices import PromptRow, question_of, texts_of
from verikit.stats.paired import Outcomes

Row = Mapping[str, Any]


def outcomes(run: Path, metric: str = "") -> list[Outcomes]:
    """Return the values of each task, and of each group that is one benchmark, by its own metric or the named one.

    Raises:
        UsageError: The folder is not a run, or none of its rows has the metric.
    """
    results = read_results(run)
    found = []
    for name, tasks in units(results).items():
        rows = [row for task in tasks for row in read_samples(run / samples_name(task))]
        unit = _of_rows(name, rows, metric, results["tasks"][tasks[0]]["own"])
        if unit.values or not metric:
            found.append(unit)
    if not found:
        raise UsageError(f"{run} has no metric {metric!r} of single questions", hint="report.md names those there are")
    return found


def _of_rows(name: str, rows: Sequence[Row], metric: str, own: str) -> Outcomes:
    """Return the values of a task's rows by a metric, or by the rows' own (`own` if no row has a value) without one."""
    values = [(_key(row), _value(row, metric)) for row in rows]
    known = {key: value for (key, _), value in values if value is not None}
    own = next((row_metric(row) for row in rows if value_of(row) is not None), own)
    return Outcomes(name, metric or own, known, dict(key for key, _ in values))


def rows(run: Path, keys: Sequence[str] = (), others: Sequence[str] = ()) -> dict[str, dict[str, PromptRow]]:
    """Return the documents of each task by their ids: the questions, and the values of keys."""
    return {
        name: {
            id: PromptRow(question_of(question), {key: _values(row["doc"], key) for key in keys})
            for task in tasks
            for row in read_samples(run / samples_name(task))
            for id, question in (_key(row),)
        }
        for name, tasks in units(read_results(run)).items()
    }


def _values(doc: Row, key: str) -> tuple[str, ...]:
    found = locate(dict(doc), either(key))
    return () if found is None else tuple(texts_of(found[1], key))


def _value(row: Row, metric: str) -> float | None:
    if not metric:
        return value_of(row)
    value = row.get(metric)
    return float(value) if isinstance(value, (int, float)) else None


def _key(row: Row) -> tuple[str, str]:
    """Return the key that pairs a question between runs, and the question."""
    doc = row["doc"]
    return str(doc.get("id", row["doc_id"])), str(doc.get("question", row.get("doc_hash", "")))
