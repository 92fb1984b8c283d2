"""Settings of intervals whose coverage is simulated: what a setting is, and one simulation of it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import fmean, pstdev
from typing import NamedTuple

from verikit.stats import Estimate

Interval = tuple[float, float, float]
"""The estimate and its ends."""
Value = Callable[[random.Random], float]
Both = Callable[[random.Random], tuple[float, float]]
"""A question's chance in each of two runs."""
Draw = Callable[[random.Random], list[Interval] | None]
"""One run's intervals, or None if such a run has none."""


class Setting(NamedTuple):
    name: str
    truths: list[float]
    """Of each interval that a run has."""
    draw: Draw


class Result(NamedTuple):
    setting: Setting
    coverage: float
    """Of the interval of a run that covers least."""
    width: float
    """Beside the ideal."""


def simulate(setting: Setting, runs: int, seed: str) -> Result:
    rng = random.Random(f"{seed} {setting.name}")
    found = [drawn for _ in range(runs) if (drawn := setting.draw(rng)) is not None]
    covers, widths = [], []
    for column, truth in zip(zip(*found, strict=True), setting.truths, strict=True):
        covers.append(fmean(low <= truth <= high for _, low, high in column))
        spread = pstdev(value for value, _, _ in column)
        if spread:
            widths.append(fmean(high - low for _, low, high in column) / (3.92 * spread))
    return Result(setting, min(covers), fmean(widths) if widths else math.nan)


def told(estimate: Estimate | None) -> Interval:
    assert estimate is not None
    return estimate.value, estimate.low, estimate.high


def beta_chance(rng: random.Random, mean: float, concentration: float) -> float:
    return rng.betavariate(mean * concentration, (1 - mean) * concentration)


def population(value: Callable[[random.Random], float], draws: int = 40_000) -> float:
    rng = random.Random("population")
    return fmean(value(rng) for _ in range(draws))


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))
