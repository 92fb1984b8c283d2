"""Figures of groups of tasks: the means that the group's YAML names, over the tasks that have them.

A group whose means are by size is one benchmark in parts (MMLU-Pro's categories): it is compared as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lm_eval.tasks._yaml_loader import load_yaml

from verikit.evals.loading import task_file
from verikit.stats import Estimate, mean_interval

Results = Mapping[str, Mapping[str, Any]]


def group_metrics(
    names: Iterable[str], tasks: Results, rows_of: Callable[[str], Sequence[Mapping[str, Any]]]
) -> dict[str, dict[str, Any]]:
    """Each group among some names, and the groups in it: its `members` that were run, `metrics`, and if it is `whole`.

    Args:
        names: Of tasks and groups.
        tasks: What results.json holds of each task; those that were not run are left out of the means.
        rows_of: The sample rows of a task.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        config = load_yaml(task_file(name), resolve_func=False)
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
    """The plain mean of the members' metrics; each end lies as far off as the parts' ends do together.

    That is the square root of their summed squared distances (Zou and Donner 2008), so no part counts as certain.
    """
    parts = [member["metrics"][metric] for member in members if metric in member["metrics"]]
    if not parts:
        return None
    value = math.fsum(part["value"] for part in parts) / len(parts)
    stderr = math.sqrt(math.fsum(part["stderr"] ** 2 for part in parts)) / len(parts)
    low, high = (
        value + sign * math.hypot(*(part[end] - part["value"] for part in parts)) / len(parts)
        for sign, end in ((-1, "low"), (1, "high"))
    )
    return Estimate(value, low, high, stderr, sum(part["n"] for part in parts), f"beta, over {len(parts)} parts")
