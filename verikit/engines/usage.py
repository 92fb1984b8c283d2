"""Usage of generations: the counts that a score reports, and sums over several calls."""

from __future__ import annotations

from collections.abc import Mapping

from verikit.engines.types import Generation

COUNTED = ("prompt_tokens", "prompt_cached", "completion_tokens", "calls", "cost", "cached")
"""The counts of a generation's usage that a score reports."""
Prices = tuple[float, float] | tuple[float, float, float]
"""Per million prompt tokens, reply tokens, and prompt tokens from the server's prefix cache (default: the first)."""


def cost_of(usage: Mapping[str, float], prices: Prices) -> float:
    """The cost of a request's tokens."""
    sent, got, read = (usage.get(name, 0.0) for name in ("prompt_tokens", "completion_tokens", "prompt_cached"))
    return ((sent - read) * prices[0] + got * prices[1] + read * prices[2 if len(prices) == 3 else 0]) / 1e6


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
