"""An interval for the mean of values in [0, 1] that is valid near 0 and 1, and for values that hardly vary.

Unseen values may differ from those seen: after 30 zeros, a 31st prompt could give a one. So each end of the interval
assumes that `UNSEEN` of another prompt was seen at the far bound. That is 0 for the lower end and 1 for the upper. If
the observations' weights follow a Dirichlet distribution, the mean has a distribution whose quantile is that end. A
beta distribution with the same mean and variance approximates it, so only moments are needed. A whole unseen prompt
gives Gaffke's bound (Gaffke 2005; Learned-Miller and Thomas 2019, "A new confidence interval for the mean of a bounded
random variable"). For 0/1 values that is the exact interval of Clopper and Pearson (1934). Half a prompt is the mid-P
variant, whose coverage is too low for some rates.
"""

from __future__ import annotations

import math

UNSEEN = 0.75
"""Weight of the unseen value. 95 % intervals of 2 or more 0/1 values then cover at least 93.1 % at any rate."""
_STEPS = 20_000
_TINY = 1e-300


def beta_interval(
    mean: float,
    variance: float,
    n: float,
    level: float = 0.95,
    *,
    unseen: tuple[float, float] = (0.0, 1.0),
    seen: tuple[float, float] = (0.0, 1.0),
) -> tuple[float, float]:
    """Both ends of the interval of a mean, from the moments of n values in [0, 1].

    Args:
        mean: Mean of the values.
        variance: Mean squared distance from the mean (divided by n, not n - 1). It is capped at mean x (1 - mean).
        n: Number of independent values, or the effective number if they have different weights.
        level: Confidence, in (0, 1).
        unseen: The unseen value that the lower end includes, and that of the upper end.
        seen: The least and the greatest value seen. If they are far from 0 and 1, the ends are also computed on the
            narrower range, with a beta distribution as skewed as one unseen value makes it. The wider interval is used.
    """
    tail, variance = (1 - level) / 2, min(variance, mean * (1 - mean))
    below = _lower(mean, variance, n, tail, unseen[0], seen[1])
    above = _lower(1.0 - mean, variance, n, tail, 1.0 - unseen[1], 1.0 - seen[0])
    return below, 1.0 - above


def _lower(mean: float, variance: float, n: float, tail: float, unseen: float, highest: float = 1.0) -> float:
    """The lower end, including the unseen value. The lower one of the ranges up to 1 and up to `highest` is used."""
    if mean <= unseen:
        return unseen
    if highest < 1:
        share = min(1.0, mean / highest)
        narrow = _lower(share, min(variance / highest**2, share * (1 - share)), n, tail, unseen / highest)
        return min(highest * narrow, _lower(mean, variance, n, tail, unseen))
    total = n + UNSEEN
    centre = (mean * n + unseen * UNSEEN) / total
    spread = (variance + (mean - unseen) ** 2 * UNSEEN / total) * n / total
    size = centre * (1 - centre) * (total + 1) / spread - 1
    return min(mean, beta_quantile(tail, centre * size, (1 - centre) * size))


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x in [0, 1] at which the cumulative beta distribution with parameters a and b reaches p, by bisection."""
    low, high = 0.0, 1.0
    while high - low > 1e-15 * high and high > _TINY:
        middle = (low + high) / 2
        if beta_probability(middle, a, b) < p:
            low = middle
        else:
            high = middle
    return high


def beta_probability(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b): Lentz's method on its continued fraction (DLMF 8.17.22)."""
    if not 0 < x < 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_probability(1 - x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + term * d) or _TINY)
            c = (1 + term / c) or _TINY
            found *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return math.exp(front) * found / a
