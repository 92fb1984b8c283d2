"""A mean over values that are correlated within clusters, such as labels of a prompt's candidates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist

from verikit.errors import UsageError
from verikit.stats.beta import beta_interval
from verikit.stats.intervals import Estimate, check_interval


def clustered_mean(clusters: Iterable[Sequence[float]], level: float = 0.95) -> Estimate:
    """The mean of all values, equally weighted, with its beta interval over clusters.

    The interval uses Kish's effective number of clusters, (sum of sizes)^2 / sum of squared sizes, with the variance of
    the ratio estimator. Clusters of one value each give the interval of `mean_interval`.

    Args:
        clusters: The values of each cluster, in [0, 1]. Empty clusters are ignored.
        level: Confidence.

    Raises:
        UsageError: There is no value, or the level is outside (0, 1).
    """
    check_interval(level)
    held = [values for values in clusters if values]
    if not held:
        raise UsageError("can't compute the mean of an empty list")
    sums, sizes = [math.fsum(values) for values in held], [len(values) for values in held]
    total, squares = sum(sizes), sum(size**2 for size in sizes)
    mean, effective = math.fsum(sums) / total, total**2 / squares
    variance = math.fsum((value - mean * size) ** 2 for value, size in zip(sums, sizes, strict=True)) / squares
    low, high = beta_interval(mean, variance, effective, level)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    stderr = math.sqrt(variance / (effective - 1)) if variance and effective > 1 else (high - low) / (2 * z)
    return Estimate(mean, low, high, stderr, len(held), "beta")
