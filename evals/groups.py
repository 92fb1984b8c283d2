"""Figures of groups of tasks: the means that the group's YAML names, over the tasks that have them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from lm_eval.tasks._yaml_loader import load_yaml

from verikit.evals.loading import task_file
from verikit.stats import Estimate

Results = Mapping[str, Mapping[str, Any]]
_Z = 1.959963984540054


def group_figures(names: Iterable[str], tasks: Results) -> dict[str, dict[str, Any]]:
    """The figures of each group among some names, and of the groups in it: group -> metric -> estimate.

    Args:
        names: Of tasks and groups.
        tasks: What results.json holds of each task; those that were not run are left out of the means.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        config = load_yaml(task_file(name), resolve_func=False)
        if "group" in config:
            found |= group_figures(config["task"], tasks)
            known = {member: tasks[member]["metrics"] for member in config["task"] if member in tasks}
            known |= {member: found[member] for member in config["task"] if member in found}
            means = {one["metric"]: _mean(one, known) for one in config.get("aggregate_metric_list", ())}
            if kept := {metric: asdict(mean) for metric, mean in means.items() if mean is not None}:
                found[name] = kept
    return found


def _mean(how: Mapping[str, Any], members: Results) -> Estimate | None:
    """The mean of the members' figures, by size or plain, with the normal interval of independent parts."""
    parts = [metrics[how["metric"]] for metrics in members.values() if how["metric"] in metrics]
    if not parts:
        return None
    total = sum(part["n"] for part in parts)
    weights = [part["n"] / total if how.get("weight_by_size", True) else 1 / len(parts) for part in parts]
    value = math.fsum(weight * part["value"] for weight, part in zip(weights, parts, strict=True))
    stderr = math.sqrt(math.fsum((weight * part["stderr"]) ** 2 for weight, part in zip(weights, parts, strict=True)))
    low, high = max(0.0, value - _Z * stderr), min(1.0, value + _Z * stderr)
    return Estimate(value, low, high, stderr, total, f"normal, over {len(parts)} parts")
