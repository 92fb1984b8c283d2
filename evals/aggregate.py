"""Figures of a task that are no mean over its documents, with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from verikit.stats import Estimate


@dataclass(frozen=True)
class Aggregate:
    """What lm-eval calls with a metric's values of all documents; verikit's own reports ask for the interval too."""

    estimate: Callable[[Sequence[Any]], Estimate | None]
    """None where the values give no figure."""

    def __call__(self, values: Sequence[Any]) -> float:
        """The figure; NaN where there is none."""
        found = self.estimate(values)
        return float("nan") if found is None else found.value
