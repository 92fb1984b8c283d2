"""HealthBench (Arora et al. 2025): the fraction of a rubric's points, averaged over conversations, clipped to 0 to 1.

A single conversation's score may be below zero. As in the benchmark's own script, only means are clipped. The score of
an axis uses only its criteria, over the conversations in which some of them have positive points.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from verikit.evals.aggregate import Aggregate
from verikit.evals.docs import Doc
from verikit.evals.grade import Grade
from verikit.evals.grade import results as graded
from verikit.judges.rubric.read import read
from verikit.stats import Estimate, mean_interval

OWN = "overall_score"
AXES = ("accuracy", "completeness", "context_awareness", "communication_quality", "instruction_following")
_AXIS = "axis:"


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, Any]:
    """Return a conversation's metrics: its score and that of each axis, as means over its replies."""
    found: dict[str, Any] = dict(graded(doc, filtered))
    found.pop("unparsed", None)
    rubric = read(json.loads(doc["rubrics"]))
    axes: dict[str, list[float]] = defaultdict(list)
    for grade in filtered[0]:
        if grade[OWN]["value"] is None:
            continue
        # A conversation without a reply was never judged: no criterion is met.
        parts = grade[OWN].get("parts")
        met = [parts[item.name]["value"] if parts else 0.0 for item in rubric.items]
        for category, value in rubric.by_category(met, clip=False).items():
            if category.startswith(_AXIS):
                axes[category.removeprefix(_AXIS)].append(value)
    return found | {name: fmean(axes[name]) for name in AXES if axes[name]}


def _clipped(values: Sequence[float]) -> Estimate | None:
    """The mean, clipped, and its interval: the ends of the mean's own, clipped."""
    if not values:
        return None
    found = mean_interval(values)
    value, low, high = (min(1.0, max(0.0, end)) for end in (found.value, found.low, found.high))
    return replace(found, value=value, low=low, high=high)


clipped_mean: Aggregate = Aggregate(_clipped)
