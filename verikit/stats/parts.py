"""The plain mean of figures that have nothing in common: tasks of a group, subsets of a benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence

from verikit.stats.intervals import Estimate


def mean_of_parts(parts: Sequence[Estimate]) -> Estimate:
    """The plain mean; each end lies as far off as the parts' ends do together.

    That is the square root of their summed squared distances (Zou and Donner 2008), so no part counts as certain.

    Args:
        parts: At least one; independent of each other.
    """
    count = len(parts)
    value = math.fsum(part.value for part in parts) / count
    stderr = math.hypot(*(part.stderr for part in parts)) / count
    low = value - math.hypot(*(part.value - part.low for part in parts)) / count
    high = value + math.hypot(*(part.high - part.value for part in parts)) / count
    return Estimate(value, low, high, stderr, sum(part.n for part in parts), f"beta, over {count} parts")
