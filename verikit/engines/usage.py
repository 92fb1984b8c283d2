"""Usage of generations: the counts that a score reports, and sums over several calls."""

from __future__ import annotations

from collections.abc import Mapping

from verikit.engines.types import Generation

COUNTED = ("prompt_tokens", "completion_tokens", "calls", "cost", "cached")
"""The counts of a generation's usage that a score reports."""


def counted(generation: Generation) -> dict[str, float]:
    """The counts of a generation's usage that a score reports."""
    return {name: generation.usage[name] for name in COUNTED if name in generation.usage}


def added(*usages: Mapping[str, float]) -> dict[str, float]:
    """Usage of several calls together."""
    total: dict[str, float] = {}
    for usage in usages:
        for name, amount in usage.items():
            total[name] = total.get(name, 0) + amount
    return total
