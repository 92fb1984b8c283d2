"""An interval for the mean of values in [0, 1] that is honest near 0 and 1 and where the values hardly vary.

What was not seen may still be there: to 30 zeros a 31st prompt could add a one. So each end of the interval is taken as
if `UNSEEN` of a prompt more had been seen at the far bound: at 0 for the lower end, at 1 for the upper. With the
observations' weights drawn from a Dirichlet distribution, the mean then has a distribution whose quantile is the end; a
beta distribution of the same mean and variance stands for it, so that moments are all that is needed. A whole unseen
prompt gives Gaffke's bound (Gaffke 2005; Learned-Miller and Thomas 2019, "A new confidence interval for the mean of a
bounded random variable"), which for 0/1 values is the exact interval of Clopper and Pearson (1934); half a prompt is
its mid-P kin, which covers too little for some rates.
"""

from __future__ import annotations

import math

UNSEEN = 0.75
"""Weight of the unseen value: 95 % intervals of 0/1 values then cover 93.1 % or more at any rate, from 2 values on."""
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
        mean: Of the values.
        variance: Their mean squared distance from it (divided by n, not n - 1); no more than mean x (1 - mean) counts.
        n: How many independent values there are; the effective number where they weigh differently.
        level: Confidence, in (0, 1).
        unseen: The unseen value that the lower end counts in, and that of the upper end.
        seen: The least and the greatest value that was seen. Where they are far from 0 and 1 the ends are also taken on
            the narrower range, whose beta distribution is as skewed as one unseen value makes it, and the wider counts.
    """
    tail, variance = (1 - level) / 2, min(variance, mean * (1 - mean))
    below = _lower(mean, variance, n, tail, unseen[0], seen[1])
    above = _lower(1.0 - mean, variance, n, tail, 1.0 - unseen[1], 1.0 - seen[0])
    return below, 1.0 - above


def _lower(mean: float, variance: float, n: float, tail: float, unseen: float, highest: float = 1.0) -> float:
    """The lower end, where the unseen value is counted in; of the ranges up to 1 and up to `highest` the lower one."""
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
    """The x in [0, 1] up to which the beta distribution of a and b has the probability p, by bisection."""
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
