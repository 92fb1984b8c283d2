"""Two runs side by side, or all models of a suite."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from verikit.errors import UsageError
from verikit.evals.paired import Change, Difference, compare_rows, holm
from verikit.evals.report import markdown_table
from verikit.evals.run_folder import read_results, samples_name, units
from verikit.evals.samples import read_samples, row_metric, value_of
from verikit.terminal import printable, table

LEVEL = 0.05
HEADER = ("task", "metric", "first", "second", "difference", "95% interval", "p", "gained", "lost", "n")


def compare_runs(first: Path, second: Path) -> list[Difference]:
    """The differences of two runs on the tasks, and groups that are one benchmark, that both have.

    Raises:
        UsageError: a folder is no run's, or they share no task.
    """
    runs = read_results(first), read_results(second)
    parts = [units(run) for run in runs]
    found = []
    for name in (name for name in parts[0] if name in parts[1]):
        rows = [
            [row for task in tasks[name] for row in read_samples(folder / samples_name(task))]
            for folder, tasks in zip((first, second), parts, strict=True)
        ]
        own = runs[0]["tasks"][parts[0][name][0]]["own"]
        metric = next((row_metric(row) for row in rows[0] if value_of(row) is not None), own)
        found.append(compare_rows(name, metric, *rows))
    if not any(found):
        raise UsageError(f"{first} and {second} share no question with results", hint="run both on the same tasks")
    return [difference for difference in found if difference is not None]


def differences(runs: Mapping[str, Path]) -> list[tuple[str, str, Difference]]:
    """The differences of each pair of runs by name."""
    return [(a, b, difference) for a, b in combinations(runs, 2) for difference in compare_runs(runs[a], runs[b])]


def cells(differences: Sequence[Difference]) -> list[tuple[str, ...]]:
    """Rows of the table of differences; the p-values are corrected for there being several."""
    return [
        (
            difference.task,
            difference.metric,
            f"{100 * difference.before:.2f}",
            f"{100 * difference.after:.2f}",
            f"{100 * difference.value:+.2f}",
            f"{100 * difference.low:+.2f} to {100 * difference.high:+.2f}",
            f"{p:.4f}{' *' if p < LEVEL else ''}",
            str(difference.gained),
            str(difference.lost),
            str(difference.docs),
        )
        for difference, p in zip(differences, holm([difference.p for difference in differences]), strict=True)
    ]


def show_comparison(differences: Sequence[Difference], examples: int) -> Iterator[str]:
    """Lines that tell two runs' differences, and the rows that changed most."""
    yield from table(HEADER, cells(differences))
    yield ""
    yield verdict([(difference.task, difference) for difference in differences])
    for difference in differences:
        if difference.left_out:
            yield f"{difference.task}: {difference.left_out:,} documents have no value in both runs and are left out"
        if examples and difference.changed:
            yield f"{difference.task}: {len(difference.changed):,} documents changed"
            for change in _ends(difference.changed, examples):
                yield printable(f"  {change.before:.2f} -> {change.after:.2f}  {change.id}: {change.question[:90]}")


def verdict(named: Sequence[tuple[str, Difference]]) -> str:
    """Which of some differences are real."""
    ps = holm([difference.p for _, difference in named])
    real = [
        f"{name} ({100 * difference.value:+.2f})" for (name, difference), p in zip(named, ps, strict=True) if p < LEVEL
    ]
    told = f"real at {LEVEL:.0%}: {', '.join(real)}" if real else f"no difference is real at {LEVEL:.0%}"
    return told + (f" (sign-flip test, Holm over {len(named)})" if len(named) > 1 else " (sign-flip test)")


def _ends(changes: Sequence[Change], most: int) -> list[Change]:
    """The largest losses and the largest gains, half and half."""
    if len(changes) <= most:
        return list(changes)
    return [*changes[: (most + 1) // 2], *changes[len(changes) - most // 2 :]]


def as_json(difference: Difference) -> dict[str, Any]:
    """A difference for a file."""
    kept = {name: getattr(difference, name) for name in difference.__dataclass_fields__ if name != "changed"}
    kept |= {name: None for name in ("low", "high") if math.isinf(kept[name])}
    return kept | {"value": difference.value, "changed": [vars(change) for change in difference.changed]}


def markdown_differences(pairs: Sequence[tuple[str, str, Difference]]) -> list[str]:
    """A suite's differences as Markdown."""
    rows = cells([difference for _, _, difference in pairs])
    named = [(f"{b} - {a}", row[0], *row[4:]) for (a, b, _), row in zip(pairs, rows, strict=True)]
    return markdown_table(("models", "task", *HEADER[4:]), named)
