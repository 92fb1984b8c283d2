"""Process reward models as the model of a task: converts the scores of a document's steps to its first error."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from verikit.base import Verifier
from verikit.errors import UsageError
from verikit.evals.docs import STEP_SCORES, THRESHOLD
from verikit.evals.processbench import best_threshold, first_below
from verikit.evals.replies import Failed, Noted
from verikit.types import PASS_MARK, Sample, Score

SPLIT: Literal["split"] = "split"
Threshold = float | Literal["split"]


def check_threshold(threshold: object) -> Threshold:
    """Return a threshold of step scores: a number, or `split`.

    Raises:
        UsageError: It is neither.
    """
    if threshold == SPLIT:
        return SPLIT
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not math.isfinite(threshold):
        raise UsageError(
            f"a threshold must be a number or '{SPLIT}', got {threshold!r}", hint="--model-args threshold=0.5"
        )
    return float(threshold)


def step_replies(verifier: Verifier, docs: Sequence[Mapping[str, Any]], threshold: Threshold) -> list[str]:
    """Return, for each document's solution, the first step below the threshold in a box, along with the scores.

    Args:
        verifier: Scores each step: `prm`, `genprm`, `step_column`.
        docs: Problems with `steps`, and `step_scores` if they are stored.
        threshold: `split` chooses it for each half of the documents on the other half, by the highest F1.
    """
    samples = [_sample(doc) for doc in docs]
    values = [_values(score, len(doc["steps"])) for score, doc in zip(verifier.score(samples), docs, strict=True)]
    halves = [int(hashlib.sha256(str(doc["id"] or doc["question"]).encode()).hexdigest(), 16) % 2 for doc in docs]
    at = [_chosen(values, docs, halves, half) if threshold == SPLIT else threshold for half in (0, 1)]
    replies: list[str] = []
    for scores, half in zip(values, halves, strict=True):
        if isinstance(scores, Failed):
            replies.append(scores)
        else:
            note = {STEP_SCORES: scores, THRESHOLD: at[half]}
            replies.append(Noted(f"\\boxed{{{first_below(scores, at[half])}}}", note))
    return replies


def _sample(doc: Mapping[str, Any]) -> Sample:
    stored = {STEP_SCORES: list(doc[STEP_SCORES])} if doc.get(STEP_SCORES) else {}
    return Sample(doc["question"], "\n\n".join(doc["steps"]), id=doc["id"], meta={"steps": list(doc["steps"])} | stored)


def _values(score: Score, count: int) -> list[float] | Failed:
    if not score.steps:
        return Failed(f"{score.status}: {score.reason}" if not score.scored else "the verifier scores no steps")
    values = [step.value for step in score.steps]
    known = [value for value in values if value is not None]
    if len(known) < len(values) or len(values) != count:
        lost = next((step.reason for step in score.steps if step.value is None), f"{len(values)} scores")
        return Failed(f"not every one of the {count} steps has a score: {lost}")
    return known


def _chosen(
    values: Sequence[list[float] | Failed], docs: Sequence[Mapping[str, Any]], halves: Sequence[int], half: int
) -> float:
    """Return the best threshold of the other half, or the default threshold if that half is empty."""
    others = [
        (scores, int(doc["answer"][0]))
        for scores, doc, of in zip(values, docs, halves, strict=True)
        if of != half and not isinstance(scores, Failed)
    ]
    if not others:
        return PASS_MARK
    return best_threshold(*zip(*others, strict=True))[0]
