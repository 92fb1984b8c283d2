"""Metrics of groups of tasks: the means that the group's YAML names, over the tasks that have them.

A group whose means are weighted by size is one benchmark in parts (MMLU-Pro's categories), and is compared as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from verikit.evals.loading import read_task
from verikit.results.run import estimate_of
from verikit.stats import Estimate, mean_interval
from verikit.stats.parts import mean_of_parts

Results = Mapping[str, Mapping[str, Any]]


def group_metrics(
    names: Iterable[str], tasks: Results, rows_of: Callable[[str], Sequence[Mapping[str, Any]]]
) -> dict[str, dict[str, Any]]:
    """Return each named group, and the groups in it: its `members` that were run, `metrics`, and whether it is `whole`.

    Args:
        names: Names of tasks and groups.
        tasks: The entries of results.json by task. Tasks that were not run are excluded from the means.
        rows_of: Returns the sample rows of a task.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        config = read_task(name)
        if "group" in config:
            found |= group_metrics(config["task"], tasks, rows_of)
            known = {member: held[member] for member in config["task"] for held in (tasks, found) if member in held}
            hows = config.get("aggregate_metric_list", ())
            whole = bool(hows) and all(how.get("weight_by_size", True) for how in hows)
            rows = [row for member in known if whole for row in rows_of(member)]
            metrics = [how["metric"] for how in hows]
            means = [_pooled(metric, rows) if whole else _mean(metric, known.values()) for metric in metrics]
            if kept := {metric: mean.as_row() for metric, mean in zip(metrics, means, strict=True) if mean is not None}:
                found[name] = {"members": list(known), "whole": whole, "own": next(iter(kept)), "metrics": kept}
    return found


def _pooled(metric: str, rows: Sequence[Mapping[str, Any]]) -> Estimate | None:
    values = [row[metric] for row in rows if isinstance(row.get(metric), (int, float))]
    return mean_interval(values) if values else None


def _mean(metric: str, members: Iterable[Mapping[str, Any]]) -> Estimate | None:
    parts = [estimate_of(member["metrics"][metric]) for member in members if metric in member["metrics"]]
    return mean_of_parts(parts) if parts else None
