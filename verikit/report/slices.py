"""Slices of runs by the keys of their rows: each run on the rows of a category, and runs compared row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from verikit.errors import UsageError
from verikit.report.differences import RunDifference, as_json, compare_all
from verikit.report.kinds import kind_of
from verikit.scoring.slices import PromptRow, ids_by_value, unknown_key
from verikit.stats import Estimate, mean_interval
from verikit.stats.paired import Outcomes, holm

Rows = Mapping[str, Mapping[str, PromptRow]]
"""Rows of several runs, by task and by the id that pairs them. The task "" has the rows of every task."""
RunOutcomes = Mapping[str, Sequence[Outcomes]]


class Slice(NamedTuple):
    """Runs on the questions that have one value of a key."""

    key: str
    value: str
    task: str
    n: int
    """Questions that every run has a value for."""
    estimates: Mapping[str, Estimate]
    """Estimates by run, over these questions."""
    differences: Sequence[RunDifference]
    """Each pair of runs."""


def _rows_of_run(folder: Path, keys: Sequence[str], others: Sequence[str]) -> Rows:
    """The rows of one run, by the reader of its kind."""
    kind = kind_of(folder)
    if kind is None or not kind.rows:
        raise UsageError(f"the rows of {folder} have no keys to go by", hint="leave --by-key out")
    module, _, attribute = kind.rows.partition(":")
    rows: Rows = getattr(import_module(module), attribute)(folder, keys, others)
    return rows


def read_rows_of(runs: Mapping[str, Path], keys: Sequence[str] = (), others: Sequence[str] = ()) -> Rows:
    """Read the rows of runs. A run whose rows lack the key takes it from another run's row with the same id.

    Args:
        runs: Folders by name.
        keys: Keys of the rows.
        others: Files to search for the rows, if those of a score run were moved.

    Raises:
        UsageError: A run's kind has no rows with keys, its input no longer exists, no row has a key, or the runs' rows
            of one id differ in it.
    """
    found: dict[str, dict[str, PromptRow]] = {}
    for name, folder in runs.items():
        rows = _rows_of_run(folder, keys, others)
        for task, several in rows.items():
            held = found.setdefault(task, {})
            for id, row in several.items():
                held[id] = _joined(id, name, held[id], row) if id in held else row
    for key in keys:
        if not any(row.values[key] for several in found.values() for row in several.values()):
            raise unknown_key(key, ())
    return found


def rows_of(rows: Rows, task: str) -> Mapping[str, PromptRow]:
    """The rows of a task."""
    return rows.get(task) or rows.get("") or {}


def _joined(id: str, run: str, before: PromptRow, row: PromptRow) -> PromptRow:
    """Merge two runs' rows of one id.

    Raises:
        UsageError: They differ in a key.
    """
    for key, values in row.values.items():
        if values and before.values[key] and values != before.values[key]:
            told = f"{key!r} is {', '.join(values)} in {run}, {', '.join(before.values[key])} in a run before it"
            raise UsageError(f"the rows of {id!r} differ: {told}", hint="compare runs of the same questions")
    known = {key: row.values[key] or before.values[key] for key in row.values}
    return PromptRow(before.question or row.question, known)


def sliced(outcomes: RunOutcomes, rows: Rows, keys: Sequence[str]) -> list[Slice]:
    """Return a slice for each value of each key, with the runs' results on its questions. The largest comes first."""
    return [found for key in keys for task in tasks_of_all(outcomes) for found in _by_value(outcomes, rows, key, task)]


def tasks_of_all(outcomes: RunOutcomes) -> list[str]:
    """The tasks that all runs have."""
    tasks = [[found.task for found in several] for several in outcomes.values()]
    return [
        task
        for task in dict.fromkeys(task for several in tasks for task in several)
        if all(task in several for several in tasks)
    ]


def _by_value(outcomes: RunOutcomes, rows: Rows, key: str, task: str) -> Iterator[Slice]:
    runs = on_task(outcomes, task)
    questions = {id for found in runs.values() for id in found.questions}
    kept = {id: row for id, row in rows_of(rows, task).items() if id in questions}
    for value, ids in _several_values(kept, key).items():
        differences = compare_all({run: [_only(found, ids)] for run, found in runs.items()})
        estimates, n = estimates_on(runs, ids)
        if n and (differences or len(runs) == 1):
            yield Slice(key, value, task, n, estimates, differences)


def _several_values(rows: Mapping[str, PromptRow], key: str) -> Mapping[str, Sequence[str]]:
    """The ids of rows by their value of a key. Empty if no row has the key: one slice of all rows says nothing new."""
    return ids_by_value(rows, key) if any(row.values[key] for row in rows.values()) else {}


def on_task(outcomes: RunOutcomes, task: str) -> dict[str, Outcomes]:
    """Each run's outcomes on a task."""
    return {run: found for run, several in outcomes.items() for found in several if found.task == task}


def estimates_on(runs: Mapping[str, Outcomes], ids: Iterable[str]) -> tuple[dict[str, Estimate], int]:
    """Return each run's mean over the questions for which all runs have a value, and the number of these questions."""
    shared = [id for id in ids if all(id in found.values for found in runs.values())]
    if not shared:
        return {}, 0
    means = {
        run: mean_interval((found.values[id] for id in shared), bounds=found.bounds) for run, found in runs.items()
    }
    return means, len(shared)


def _only(outcomes: Outcomes, ids: Iterable[str]) -> Outcomes:
    """The outcomes of some questions."""
    values = {id: outcomes.values[id] for id in ids if id in outcomes.values}
    return replace(outcomes, values=values, questions={id: outcomes.questions.get(id, id) for id in ids})


def slice_records(slices: Sequence[Slice]) -> Iterator[dict[str, Any]]:
    """One record for each slice and pair of runs; `p_holm` is corrected for the slices and pairs of a key."""
    for key in dict.fromkeys(found.key for found in slices):
        pairs = [(found, pair) for found in slices if found.key == key for pair in found.differences]
        ps = holm([pair.difference.p for _, pair in pairs])
        for (found, pair), p in zip(pairs, ps, strict=True):
            row = as_json(pair.difference)
            del row["changed"]
            del row["value"]
            ends = {"first": pair.first, "second": pair.second, "difference": pair.difference.value}
            yield {"key": key, "value": found.value, **ends, **row, "p_holm": p}


def row_records(outcomes: RunOutcomes, rows: Rows, keys: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield one record per question and metric: its id, the question, its keys, and each run's value under `values`.

    Questions with the largest differences between runs come first. The value of a run that has none is None.
    """
    for task in tasks_of_all(outcomes):
        held = {run: _values(several, task) for run, several in outcomes.items()}
        ids = dict.fromkeys(id for values in held.values() for id in values)
        for id in sorted(ids, key=lambda id: -_spread([values.get(id) for values in held.values()])):
            row = rows_of(rows, task).get(id, PromptRow("", {}))
            own: dict[str, Any] = {"id": id, "question": row.question, "metric": task}
            own |= {key: ", ".join(row.values.get(key, ())) or None for key in keys if key not in own}
            yield own | {"values": {run: values.get(id) for run, values in held.items()}}


def _values(several: Sequence[Outcomes], task: str) -> Mapping[str, float | None]:
    """A run's values on a metric; None of a question without one."""
    for found in several:
        if found.task == task:
            return {**dict.fromkeys(found.questions), **found.values}
    return {}


def _spread(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return max(known) - min(known) if known else 0.0


def with_questions(pair: RunDifference, rows: Rows) -> RunDifference:
    """Return a difference whose changed rows show their question if it is known, and otherwise only their id."""
    asked = rows_of(rows, pair.difference.task)
    changed = []
    for change in pair.difference.changed:
        if change.question == change.id:
            change = replace(change, question=asked[change.id].question if change.id in asked else "")
        changed.append(change)
    return pair._replace(difference=replace(pair.difference, changed=tuple(changed)))
