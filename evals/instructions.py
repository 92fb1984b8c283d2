"""IFEval and IFBench: does a reply follow its prompt's instructions?

The four accuracies are lm-eval's: of prompts whose every instruction is followed, and of all instructions together,
each strict and loose. Prompts whose replies have no score take part in none of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from verikit.evals.aggregate import Aggregate
from verikit.evals.docs import Doc
from verikit.evals.grade import Grade
from verikit.evals.grade import results as graded
from verikit.stats import Estimate
from verikit.stats.drawn import drawn_estimate, typical

HOW = ("strict", "loose")


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, Any]:
    """Return a document's metrics: the fraction of replies that follow all instructions, and instruction counts."""
    found: dict[str, Any] = graded(doc, filtered)
    own = next(iter(filtered[0][0]))
    usages = [grade[own]["usage"] for grade in filtered[0] if grade[own]["value"] is not None]
    if usages:
        for how in HOW:
            found[f"prompt_level_{how}_acc"] = sum(usage[f"prompts_{how}"] for usage in usages) / len(usages)
            followed, among = (sum(usage[key] for usage in usages) for key in (f"followed_{how}", "instructions"))
            found[f"inst_level_{how}_acc"] = [followed, among]
    return found


def _pooled(values: Sequence[Sequence[float]]) -> Estimate | None:
    """Pool all instructions. The interval is over prompts, whose instructions are not independent."""
    counts = [(float(followed), float(among)) for followed, among in values if among]
    size = typical([among for _, among in counts])
    return drawn_estimate(counts, _share, worst=[(0.0, size)], best=[(size, size)])


def _share(prompts: Sequence[tuple[tuple[float, float], float]]) -> float:
    followed = math.fsum(weight * followed for (followed, _), weight in prompts)
    return followed / math.fsum(weight * among for (_, among), weight in prompts)


inst_level: Aggregate = Aggregate(_pooled)
