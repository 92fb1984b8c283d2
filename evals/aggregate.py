"""Metrics of a task that are not a mean over its documents, with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from verikit.stats import Estimate


@dataclass(frozen=True)
class Aggregate:
    """lm-eval calls it with a metric's values of all documents. verikit's own reports also use the interval."""

    estimate: Callable[[Sequence[Any]], Estimate | None]
    """Returns None if the metric is undefined for the values."""

    def __call__(self, values: Sequence[Any]) -> float:
        """Return the metric, or NaN if it is undefined."""
        found = self.estimate(values)
        return float("nan") if found is None else found.value
