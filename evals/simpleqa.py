"""SimpleQA (Wei et al. 2024): short facts, graded correct, incorrect or not attempted, with simple-evals' metrics.

`f1` is the harmonic mean of the fraction that is correct and the fraction of the attempted that is correct.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from verikit.evals.aggregate import Aggregate
from verikit.evals.docs import Doc
from verikit.evals.grade import Grade
from verikit.evals.grade import results as graded
from verikit.stats import Estimate
from verikit.stats.drawn import drawn_estimate

OWN = "correct"
Shares = tuple[float, float]
"""Fractions of a question's graded replies that are correct, and that are incorrect."""


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, Any]:
    """Return a question's metrics: the fractions of its replies by grade, and the inputs of the overall ratios."""
    found: dict[str, Any] = dict(graded(doc, filtered))
    found.pop("unparsed", None)
    letters = [letter(grade[OWN]) for grade in filtered[0] if grade[OWN]["value"] is not None]
    if not letters:
        return found
    right, wrong = (letters.count(name) / len(letters) for name in "AB")
    told = {"incorrect": wrong, "not_attempted": letters.count("C") / len(letters)}
    return found | told | {"accuracy_given_attempted": [right, wrong], "f1": [right, wrong]}


def letter(row: Grade) -> str:
    """Return a grade's letter. A custom judge without letters decides right or wrong; no reply means not attempted."""
    said = row.get("answer")
    if said in ("A", "B", "C"):
        return str(said)
    if row["value"] == 1:
        return "A"
    return "C" if said is None else "B"


def _ratio(parts: Callable[[Shares], tuple[float, float]]) -> Aggregate:
    """Return a ratio of two sums over questions, or 0 if the second sum is 0."""

    def figure(questions: Sequence[tuple[Shares, float]]) -> float:
        pairs = [(parts(shares), weight) for shares, weight in questions]
        below = math.fsum(weight * bottom for (_, bottom), weight in pairs)
        return math.fsum(weight * top for (top, _), weight in pairs) / below if below else 0.0

    def estimate(values: Sequence[Sequence[float]]) -> Estimate | None:
        shares = [(right, wrong) for right, wrong in values]
        return drawn_estimate(shares, figure, worst=[(0.0, 1.0)], best=[(1.0, 0.0)])

    return Aggregate(estimate)


given_attempted: Aggregate = _ratio(lambda shares: (shares[0], shares[0] + shares[1]))
f1: Aggregate = _ratio(lambda shares: (2 * shares[0], 1 + shares[0] + shares[1]))
