"""SimpleQA (Wei et al. 2024): short facts, graded as correct, incorrect or not attempted; figures as in simple-evals.

`f1` is the harmonic mean of the share that is correct and the share of the attempted that is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist, fmean
from typing import Any

from verikit.evals.aggregate import Aggregate
from verikit.evals.docs import Doc
from verikit.evals.grade import Grade
from verikit.evals.grade import results as graded
from verikit.stats import Estimate, mean_interval

OWN = "correct"
Shares = Sequence[float]
"""Of a question's graded replies: how many are correct, and how many incorrect."""
_Z = NormalDist().inv_cdf(0.975)


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, Any]:
    """A question's metrics: the shares of its replies by grade, and what the ratios over all questions are made of."""
    found: dict[str, Any] = dict(graded(doc, filtered))
    found.pop("unparsed", None)
    letters = [letter(grade[OWN]) for grade in filtered[0] if grade[OWN]["value"] is not None]
    if not letters:
        return found
    right, wrong = (letters.count(name) / len(letters) for name in "AB")
    told = {"incorrect": wrong, "not_attempted": letters.count("C") / len(letters)}
    return found | told | {"accuracy_given_attempted": [right, wrong], "f1": [right, wrong]}


def letter(row: Grade) -> str:
    """A grade's letter. A judge of your own without these letters tells right from wrong; no reply is no attempt."""
    said = row.get("answer")
    if said in ("A", "B", "C"):
        return str(said)
    if row["value"] == 1:
        return "A"
    return "C" if said is None else "B"


def _ratio(parts: Callable[[Shares], tuple[float, float]]) -> Aggregate:
    """A ratio of two sums over questions, with the interval of the delta method; 0 where the second sum is."""

    def estimate(values: Sequence[Shares]) -> Estimate | None:
        if not values:
            return None
        pairs = [parts(shares) for shares in values]
        count, below = len(pairs), fmean(bottom for _, bottom in pairs)
        if below == 0:
            return Estimate(0.0, 0.0, 1.0, 0.0, count, "none")
        value = fmean(top for top, _ in pairs) / below
        spread = sum((top - value * bottom) ** 2 for top, bottom in pairs) / max(1, count - 1)
        if spread == 0:
            return mean_interval([value] * count)
        error = math.sqrt(spread / count) / below
        low, high = max(0.0, value - _Z * error), min(1.0, value + _Z * error)
        return Estimate(value, low, high, error, count, "normal")

    return Aggregate(estimate)


given_attempted: Aggregate = _ratio(lambda shares: (shares[0], shares[0] + shares[1]))
f1: Aggregate = _ratio(lambda shares: (2 * shares[0], 1 + shares[0] + shares[1]))
