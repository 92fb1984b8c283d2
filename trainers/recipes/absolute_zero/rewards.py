"""Rewards of proposer and solver: learnability, penalties in both readings, extra terms (arXiv 2505.03335, 3.2)."""

from __future__ import annotations

from math import prod
from typing import Literal

from verikit.verifiers.proposals.proposal import Preset

Fault = Literal["", "format", "wrong", "error"]
"""The error in a completion: none, its format, its content, or `error` for a failure of verikit."""
Combine = Literal["sum", "multiply", "sum_multiply", "multiply_sum"]


def learnability(rate: float, form: Literal["paper", "edge"] = "paper") -> float:
    """Return the learnability of a problem with this solve rate: 1 - r, but 0 at r = 0; or 4 r (1 - r)."""
    if form == "edge":
        return 4 * rate * (1 - rate)
    return 1 - rate if rate > 0 else 0.0


def proposer_reward(
    fault: Fault, rate: float | None, preset: Preset, form: Literal["paper", "edge"] = "paper"
) -> float | None:
    """Return a proposal's reward: -1 for a wrong format, -0.5 for an invalid task, otherwise its learnability.

    The repository gives -1 to every invalid task, and -0.5 to a valid one with learnability 0. None: unscored.
    """
    if fault == "error" or (not fault and rate is None):
        return None
    if fault == "format":
        return -1.0
    if fault == "wrong":
        return -1.0 if preset == "azr-repo" else -0.5
    assert rate is not None
    worth = learnability(rate, form)
    return -0.5 if preset == "azr-repo" and worth == 0 else worth


def solver_reward(fault: Fault) -> float | None:
    """Return a solution's reward: 1, -0.5 for a wrong answer, -1 for a wrong format; None: unscored."""
    return {"": 1.0, "wrong": -0.5, "format": -1.0, "error": None}[fault]


def combined(base: float, extras: list[float], how: Combine) -> float:
    """Combine the reward with its extra terms.

    `sum` r + Σx; `multiply` r·Πx; `sum_multiply` r + Πx; `multiply_sum` r·Σx.
    """
    if not extras:
        return base
    terms = prod(extras) if how in ("multiply", "sum_multiply") else sum(extras)
    return base * terms if how.startswith("multiply") else base + terms
