"""Two-turn tasks: MT-Bench's metric is the mean of the judge's ratings, 1 to 10, over turns."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from verikit.evals.docs import Doc
from verikit.evals.grade import Grade
from verikit.evals.grade import results as graded


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, Any]:
    """Return a document's metrics: the rating as a fraction of its scale, and as the judge gave it."""
    found: dict[str, Any] = dict(graded(doc, filtered))
    found.pop("unparsed", None)
    rated = [grade["rating"] for grade in filtered[0] if grade["rating"]["value"] is not None]
    given = [step["answer"] for row in rated for step in row.get("steps", [row]) if step.get("answer")]
    return found | ({"score_of_10": fmean(map(float, given))} if given else {})
