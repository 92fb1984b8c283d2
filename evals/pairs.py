"""Pairwise tasks: a judge compares the model's answer with a baseline's (AlpacaEval)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verikit.evals.aggregate import Aggregate
from verikit.evals.docs import Doc
from verikit.evals.grade import Grade
from verikit.evals.grade import results as graded
from verikit.judges.rates.length_control import length_controlled
from verikit.stats import Estimate
from verikit.stats.drawn import drawn_estimate

DRAWS = 200
"""Bootstrap draws of the fit, for its interval."""
Compared = tuple[float, float, float]
"""A preference for the model, and the lengths of the model's and the baseline's answer in characters."""


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


def _length_controlled(values: Sequence[Sequence[Sequence[float]]]) -> Estimate | None:
    """The win rate at equal lengths; the next comparison may be lost, or won, by answers of equal lengths."""
    # Numbered, so that equal ones stay apart: the spread of the lengths is that of the documents.
    documents = [(number, tuple((won, a, b) for won, a, b in compared)) for number, compared in enumerate(values)]
    lost, won = ((-1, ((preference, 1.0, 1.0),)) for preference in (0.0, 1.0))
    return drawn_estimate(documents, _rate, worst=[lost], best=[won], draws=DRAWS)


def _rate(documents: Sequence[tuple[tuple[int, tuple[Compared, ...]], float]]) -> float:
    rows = [(*one, weight) for (_, compared), weight in documents for one in compared]
    preferences, ours, theirs, weights = zip(*rows, strict=True)
    return length_controlled(preferences, [*map(int, theirs)], [*map(int, ours)], weights=weights).value


length_controlled_rate: Aggregate = Aggregate(_length_controlled)
