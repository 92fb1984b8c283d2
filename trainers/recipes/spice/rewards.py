"""The Challenger's reward for a question: the variance of its answers, and the paper's alternatives."""

from __future__ import annotations

from math import exp

from verikit.trainers.recipes.spice.options import Reward

SPREAD = 0.01
"""The variance of the Gaussian."""


def challenger_reward(rate: float, kind: Reward = "variance") -> float:
    """Return the reward of a valid question, given the fraction of right answers.

    `variance`: exp(-(p(1-p) - 0.25)² / (2 · 0.01)), with the population variance p(1-p), highest at p = 1/2.
    `absolute-zero`: 1 - p, but 0 at p = 0 and p = 1. `threshold`: 1 strictly between. `r-zero`: 1 - 2 |p - 1/2|.
    """
    if kind == "variance":
        return exp(-((rate * (1 - rate) - 0.25) ** 2) / (2 * SPREAD))
    if kind == "r-zero":
        return 1 - 2 * abs(rate - 0.5)
    if not 0 < rate < 1:
        return 0.0
    return 1.0 if kind == "threshold" else 1 - rate
