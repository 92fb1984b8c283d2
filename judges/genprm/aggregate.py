"""Combine the rewards of the steps into one value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Literal, get_args

from verikit.engines.usage import added
from verikit.errors import ConfigError
from verikit.types import Score

Aggregation = Literal["last", "min", "mean", "product"]
_RULES: dict[Aggregation, Callable[[Sequence[float]], float]] = {
    "last": lambda rewards: rewards[-1],
    "min": min,
    "mean": fmean,
    "product": math.prod,
}


def check_aggregation(name: str) -> None:
    """Check the name of an aggregation.

    Raises:
        ConfigError: It is unknown.
    """
    if name not in get_args(Aggregation):
        raise ConfigError(f"the aggregation of steps must be one of {', '.join(get_args(Aggregation))}, got {name!r}")


def aggregate(rewards: Sequence[float], how: Aggregation) -> float:
    """The value of at least one step's rewards."""
    return _RULES[how](rewards)


def scored_steps(steps: Sequence[Score], how: Aggregation, answer: str | None = None) -> Score:
    """The score of a solution from its steps' scores. If a step has no value, the whole is unscored."""
    usage = added(*(step.usage for step in steps))
    lost = next(((number, step) for number, step in enumerate(steps, 1) if not step.scored), None)
    if lost is not None:
        number, step = lost
        return Score(
            None, step.status, answer=answer, reason=f"step {number}: {step.reason}", steps=tuple(steps), usage=usage
        )
    rewards = [float(step) for step in steps]
    bad = next((number for number, step in enumerate(steps, 1) if not step.passed), None)
    verdict = f"the first doubtful one is step {bad}" if bad else "none is doubtful"
    reason = f"{how} of {len(steps)} steps; {verdict}"
    return Score(aggregate(rewards, how), answer=answer, reason=reason, steps=tuple(steps), usage=usage)
