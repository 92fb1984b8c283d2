"""Pairwise tasks: a judge compares the model's answer with a baseline's (AlpacaEval)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from statistics import stdev
from typing import Any

from verikit.evals.aggregate import Aggregate
from verikit.evals.docs import Doc
from verikit.evals.grade import Grade
from verikit.evals.grade import results as graded
from verikit.judges.rates.length_control import length_controlled
from verikit.stats import Estimate

RESAMPLES = 200
"""Of the fit, for its interval."""
Compared = Sequence[float]
"""A document's preference for the model, and the lengths of the model's and the baseline's answer in characters."""


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, Any]:
    """A document's metrics: the win rate, and what its length-controlled form is fitted to."""
    found: dict[str, Any] = dict(graded(doc, filtered))
    found.pop("unparsed", None)
    compared = [
        [grade["win_rate"]["value"], grade["chars"], len(doc["opponent"])]
        for grade in filtered[0]
        if grade["win_rate"]["value"] is not None
    ]
    return found | ({"win_rate_lc": compared} if compared else {})


def _length_controlled(values: Sequence[Sequence[Compared]]) -> Estimate | None:
    """The win rate at equal lengths, with a percentile bootstrap over documents."""
    if not values:
        return None
    rng = Random(0)
    drawn = sorted(_rate(rng.choices(values, k=len(values))) for _ in range(RESAMPLES))
    low, high = drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES) - 1]
    return Estimate(_rate(values), low, high, stdev(drawn), len(values), "bootstrap")


def _rate(values: Sequence[Sequence[Compared]]) -> float:
    rows = [value for compared in values for value in compared]
    preferences, ours, theirs = zip(*rows, strict=True)
    return length_controlled(preferences, [int(their) for their in theirs], [int(our) for our in ours]).value


length_controlled_rate: Aggregate = Aggregate(_length_controlled)
