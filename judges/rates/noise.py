"""How noisy a judge is: absolute scores against comparisons (Elo-Evolve's noise analysis).

Absolute scores are regressed on expert scores. A flat slope means that the judge's noise dominates quality. So the
noise of ranking two answers by them is sqrt(2) x residual / slope, in units of the expert's scale. Comparisons follow
Thurstone's model, P(right) = Phi(gap / sigma). Both are then in the same unit and can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, variance

from verikit.errors import UsageError


@dataclass(frozen=True, slots=True)
class AbsoluteNoise:
    """A judge's absolute scores against an expert's."""

    slope: float
    intercept: float
    r2: float
    residual: float
    """Standard deviation of the regression's residuals (n - 2 degrees of freedom)."""
    within: float
    """Mean variance of repeated judgements of one answer. NaN without repetitions."""
    ranking: float
    """Effective ranking noise (see `ranking_noise`)."""


@dataclass(frozen=True, slots=True)
class NoiseReport:
    """Both ways of judging, in units of the expert's scale."""

    absolute: AbsoluteNoise
    sigma: Mapping[float, float]
    """Thurstone's sigma by quality gap."""
    ratio: float
    """Absolute ranking noise over sigma at the smallest gap. Above 1, comparisons judge better."""


def ranking_noise(residual: float, slope: float) -> float:
    """Noise of ranking two answers by absolute scores: sqrt(2) x residual / slope.

    Infinite unless the slope is positive.
    """
    return math.sqrt(2) * residual / slope if slope > 0 else math.inf


def thurstone_sigma(gap: float, accuracy: float) -> float:
    """Sigma that gives this accuracy at this quality gap. Infinite at chance or below, 0 at 1.

    Raises:
        UsageError: A gap that is not positive, or an accuracy outside [0, 1].
    """
    if not (gap > 0 and 0 <= accuracy <= 1):
        raise UsageError(f"expected a positive gap and an accuracy in [0, 1], got {gap!r} and {accuracy!r}")
    if accuracy <= 0.5:
        return math.inf
    return gap / NormalDist().inv_cdf(accuracy) if accuracy < 1 else 0.0


def absolute_noise(expert: Sequence[float], judged: Sequence[Sequence[float]]) -> AbsoluteNoise:
    """Regress the judge's scores on the expert's. Each repeated judgement is a separate point.

    Args:
        expert: One score per answer.
        judged: The judge's scores of the same answers, one or more each.

    Raises:
        UsageError: Lengths differ, there are fewer than three judgements, or the expert gave every answer the same
            score.
    """
    if len(expert) != len(judged):
        raise UsageError(f"{len(expert)} expert scores for {len(judged)} answers")
    points = [(x, y) for x, scores in zip(expert, judged, strict=True) for y in scores]
    if len(points) < 3 or len({x for x, _ in points}) < 2:
        raise UsageError("a regression needs three judgements and two different expert scores")
    slope, intercept = _line(points)
    rss, syy = math.fsum((y - intercept - slope * x) ** 2 for x, y in points), _squares([y for _, y in points])
    residual = math.sqrt(rss / (len(points) - 2))
    r2 = 1 - rss / syy if syy else 0.0
    return AbsoluteNoise(slope, intercept, r2, residual, _within(judged), ranking_noise(residual, slope))


def _squares(values: Sequence[float]) -> float:
    """The sum of squared distances from the mean."""
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values)


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Slope and intercept of the least-squares line."""
    mean_x, mean_y = fmean(x for x, _ in points), fmean(y for _, y in points)
    slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / _squares([x for x, _ in points])
    return slope, mean_y - slope * mean_x


def _within(judged: Sequence[Sequence[float]]) -> float:
    """Mean variance of repeated judgements of one answer."""
    repeated = [variance(scores) for scores in judged if len(scores) > 1]
    return fmean(repeated) if repeated else math.nan


def noise_report(
    expert: Sequence[float], judged: Sequence[Sequence[float]], accuracy: Mapping[float, float]
) -> NoiseReport:
    """Compare absolute scores with comparisons, whose accuracy is given by quality gap.

    Raises:
        UsageError: As `absolute_noise` and `thurstone_sigma`, or no gap.
    """
    if not accuracy:
        raise UsageError("the list of comparisons is empty")
    absolute = absolute_noise(expert, judged)
    sigma = {gap: thurstone_sigma(gap, share) for gap, share in sorted(accuracy.items())}
    hardest = next(iter(sigma.values()))
    if math.isinf(hardest):
        ratio = math.nan if math.isinf(absolute.ranking) else 0.0
    else:
        ratio = absolute.ranking / hardest if hardest else math.inf
    return NoiseReport(absolute, sigma, ratio)
