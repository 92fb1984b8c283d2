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
from verikit.stats import Estimate, mean_interval

HOW = ("strict", "loose")


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, Any]:
    """A document's metrics: the share of its replies that follow all, and how many instructions of how many they do."""
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
    """All instructions together; the interval is over prompts, whose instructions are no independent ones."""
    counts = [(float(followed), float(among)) for followed, among in values if among]
    if not counts:
        return None
    whole = math.fsum(among for _, among in counts)
    share = math.fsum(followed for followed, _ in counts) / whole
    n = len(counts)
    spread = math.fsum((followed - share * among) ** 2 for followed, among in counts)
    if n < 2 or not spread:
        alike = mean_interval([followed / among for followed, among in counts])
        return Estimate(share, alike.low, alike.high, alike.stderr, n, alike.method)
    # The standard error of a ratio of two sums over prompts (the delta method).
    stderr = math.sqrt(spread * n / (n - 1)) / whole
    low, high = max(0.0, share - 1.96 * stderr), min(1.0, share + 1.96 * stderr)
    return Estimate(share, low, high, stderr, n, "normal")


inst_level: Aggregate = Aggregate(_pooled)
