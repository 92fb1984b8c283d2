"""Which criteria tell right from wrong candidates, how many points they deserve, and how well they rank new candidates.

Right and wrong candidates are compared within a question, so a criterion gains nothing from easy questions. The
question is the independent unit of every test and interval.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul, sub
from statistics import fmean

from verikit.stats.paired import LEVEL, holm, sign_flip

Verdict = float | None
"""How far a criterion is met, 0 to 1. None: the judge gave no verdict."""
ROUNDS = 2000
"""Steps of the fit. It is convex with a fixed step size, and stops earlier once nothing moves."""
_STILL = 1e-7


@dataclass(frozen=True, slots=True)
class JudgedCandidates:
    """A question with the verdicts on its candidates."""

    id: str
    right: Sequence[bool]
    met: Sequence[Sequence[Verdict]]
    """By candidate and criterion."""


@dataclass(frozen=True, slots=True)
class Separation:
    """How one criterion differs between right and wrong candidates."""

    difference: float
    """Mean over questions: how far right candidates meet it, minus wrong ones. Below zero for a fault."""
    questions: int
    """Questions with verdicts on right and wrong candidates."""
    p: float
    """Two-sided sign-flip test over questions, adjusted for all proposed criteria by Holm's method."""

    @property
    def kept(self) -> bool:
        """Whether it separates."""
        return self.p < LEVEL


def separations(questions: Sequence[JudgedCandidates], criteria: int) -> list[Separation]:
    """Test every criterion."""
    differences = [_differences(questions, number) for number in range(criteria)]
    adjusted = holm([sign_flip(found) for found in differences])
    return [
        Separation(fmean(found) if found else 0.0, len(found), p)
        for found, p in zip(differences, adjusted, strict=True)
    ]


def _differences(questions: Sequence[JudgedCandidates], criterion: int) -> list[float]:
    """Right minus wrong candidates by question. Rows of one id are one question."""
    found: dict[str, list[float]] = defaultdict(list)
    for question in questions:
        sides: dict[bool, list[float]] = {True: [], False: []}
        for right, met in zip(question.right, question.met, strict=True):
            verdict = met[criterion]
            if verdict is not None:
                sides[right].append(verdict)
        if sides[True] and sides[False]:
            found[question.id].append(fmean(sides[True]) - fmean(sides[False]))
    return [fmean(rows) for rows in found.values()]


def fit_weights(questions: Sequence[JudgedCandidates], signs: Mapping[int, int]) -> dict[int, float]:
    """Weights of criteria, none below zero, under which right candidates rank above wrong ones.

    This is logistic regression on pairs within a question, where each question counts the same, with a standard normal
    prior on the weights (as one more question's worth of evidence). Correlated criteria share their weight.

    Args:
        questions: JudgedCandidates questions.
        signs: 1 for a criterion that right candidates meet, -1 for a fault.

    Returns:
        The weight of each criterion in `signs`.
    """
    by_id: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for question in questions:
        by_id[question.id] += _gaps(question, signs)
    pairs: dict[tuple[float, ...], float] = defaultdict(float)
    for gaps in by_id.values():
        for gap in gaps:
            pairs[gap] += 1 / len(gaps)
    weights = [0.0] * len(signs)
    # The curvature of the loss is at most a quarter of the squared length of a gap, plus the prior's.
    step = 1.0 / (0.25 * len(signs) * max(1.0, sum(pairs.values())) + 1.0)
    for _ in range(ROUNDS):
        slope = list(weights)
        for gap, share in pairs.items():
            wrong = share / (1.0 + math.exp(_product(weights, gap)))
            for place, value in enumerate(gap):
                slope[place] -= wrong * value
        moved = [max(0.0, weight - step * rise) for weight, rise in zip(weights, slope, strict=True)]
        still = max(map(abs, map(sub, moved, weights)), default=0.0) < _STILL
        weights = moved
        if still:
            break
    return dict(zip(signs, weights, strict=True))


def _gaps(question: JudgedCandidates, signs: Mapping[int, int]) -> list[tuple[float, ...]]:
    """How far each right candidate meets the criteria better than each wrong one. A pair needs all verdicts."""
    sides: dict[bool, list[list[float]]] = {True: [], False: []}
    for right, met in zip(question.right, question.met, strict=True):
        values = [met[number] for number in signs]
        if None not in values:
            sides[right].append([sign * (value or 0.0) for sign, value in zip(signs.values(), values, strict=True)])
    return [tuple(a - b for a, b in zip(good, bad, strict=True)) for good in sides[True] for bad in sides[False]]


def _product(weights: Sequence[float], gap: Sequence[float]) -> float:
    return math.fsum(map(mul, weights, gap))


def ranking_accuracy(question: JudgedCandidates, weights: Mapping[int, float]) -> float | None:
    """Fraction of pairs of a right and a wrong candidate that the weighted criteria rank rightly. A tie counts half.

    None if no pair has all verdicts.
    """
    signs = {number: 1 if weight >= 0 else -1 for number, weight in weights.items()}
    sizes = [abs(weight) for weight in weights.values()]
    totals = [_product(sizes, gap) for gap in _gaps(question, signs)]
    if not totals:
        return None
    return fmean(0.5 if abs(total) < _STILL else float(total > 0) for total in totals)
