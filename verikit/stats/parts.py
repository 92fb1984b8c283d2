"""The plain mean of independent estimates, such as the tasks of a group or the subsets of a benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence

from verikit.stats.intervals import Estimate


def mean_of_parts(parts: Sequence[Estimate]) -> Estimate:
    """The plain mean, with an interval that combines the intervals of the parts.

    Each end's distance from the mean is the square root of the parts' summed squared distances (Zou and Donner 2008).
    So no part is treated as certain.

    Args:
        parts: At least one estimate. They must be independent of each other.
    """
    count = len(parts)
    value = math.fsum(part.value for part in parts) / count
    stderr = math.hypot(*(part.stderr for part in parts)) / count
    low = value - math.hypot(*(part.value - part.low for part in parts)) / count
    high = value + math.hypot(*(part.high - part.value for part in parts)) / count
    return Estimate(value, low, high, stderr, sum(part.n for part in parts), f"beta, over {count} parts")
