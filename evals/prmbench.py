"""PRMBench (Song et al. 2025, arXiv 2501.03124): does a process reward model see every wrong step, of nine kinds?

Some steps of each solution contain one kind of error. A threshold decides whether a step is called right or wrong.
PRMScore is the mean of the F1 of right steps and the F1 of wrong steps (negative F1), over all steps (section 4.2).
Counts follow the benchmark's `prmtest_classified` for models that only give validities: redundant and circular steps
are wrong, and numbers of nonexistent steps are ignored. A division by zero gives 0 here and -1 there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import mul
from typing import Any, NamedTuple

from verikit.errors import SchemaError
from verikit.evals.aggregate import Aggregate
from verikit.evals.docs import STEP_SCORES, THRESHOLD, Doc, Row, process_doc
from verikit.evals.processbench import NO_ERROR, harmonic
from verikit.evals.replies import Failed, Noted
from verikit.stats import Estimate
from verikit.stats.drawn import drawn_estimate, typical


class StepCounts(NamedTuple):
    """How steps that are right or wrong were called: counts, or their sums under weights of the solutions."""

    right_kept: float
    wrong_kept: float
    wrong_found: float
    right_refused: float


def prmbench_doc(row: Row) -> Doc:
    """A row of PRMBench as a solution in steps, with the steps that are wrong.

    Raises:
        SchemaError: A column is missing or has another format.
    """
    errors = row.get("error_steps")
    if not isinstance(errors, list) or not all(type(step) is int and step > 0 for step in errors):
        raise SchemaError("a list of the numbers of wrong steps, from 1, is expected", field="error_steps")
    steps = row.get("modified_process")
    errors = [step for step in errors if isinstance(steps, list) and step <= len(steps)]
    kept = {
        "id": f"{row.get('classification')}_{row.get('idx')}",
        "problem": row.get("modified_question"),
        "steps": steps,
        "label": min(errors) - 1 if errors else NO_ERROR,
        "config": row.get("classification"),
        STEP_SCORES: row.get(STEP_SCORES),
    }
    return process_doc(kept) | {"error_steps": errors}


def prompt(doc: Doc) -> str:
    """Return the question. This task's model is a verifier, which scores the steps in the document."""
    return str(doc["question"])


def results(doc: Doc, replies: Sequence[str]) -> dict[str, Any]:
    """Return a document's step counts, also under its kind of error, and whether its first wrong step was found.

    Raises:
        SchemaError: A reply has no step scores.
    """
    kind = str(doc["category"])
    reply = replies[0]
    if isinstance(reply, Failed):
        return {"prmscore": None, kind: None}
    if not isinstance(reply, Noted) or STEP_SCORES not in reply.meta:
        hint = "--model is a verifier of steps, such as prm('hf:DIR')"
        raise SchemaError(f"{doc['id']}: the reply contains no step scores", hint=hint)
    kept = [score >= reply.meta[THRESHOLD] for score in reply.meta[STEP_SCORES]]
    counts = count_steps(kept, doc["error_steps"])
    found: dict[str, Any] = dict.fromkeys(("prmscore", "f1", "negative_f1", kind), counts)
    if doc["error_steps"]:
        found["first_error_acc"] = float(not kept[min(doc["error_steps"]) - 1])
    return found


def count_steps(kept: Sequence[bool], error_steps: Sequence[int]) -> StepCounts:
    """Count steps called right (`kept`) against the numbers, from 1, of those that are wrong."""
    wrong = [number in error_steps for number in range(1, len(kept) + 1)]
    pairs = list(zip(kept, wrong, strict=True))
    return StepCounts(*(pairs.count(pair) for pair in ((True, False), (True, True), (False, True), (False, False))))


def f1(counts: StepCounts) -> float:
    """F1 of the right steps, or 0 for a division by zero."""
    return _f1(counts.right_kept, counts.wrong_kept, counts.right_refused)


def negative_f1(counts: StepCounts) -> float:
    """F1 of the wrong steps."""
    return _f1(counts.wrong_found, counts.right_refused, counts.wrong_kept)


def prmscore(counts: StepCounts) -> float:
    """The mean of both."""
    return (f1(counts) + negative_f1(counts)) / 2


def _f1(hits: float, false: float, missed: float) -> float:
    precision, recall = (hits / (hits + other) if hits + other else 0.0 for other in (false, missed))
    return harmonic(precision, recall)


def over_steps(of: Callable[[StepCounts], float]) -> Aggregate:
    """Turn a metric of one solution's counts into a metric of all solutions."""

    def estimate(values: Sequence[StepCounts | None]) -> Estimate | None:
        """Estimate a metric over all steps. The interval is over solutions, since their steps are not independent."""
        known = [StepCounts(*value) for value in values if value is not None]
        right = typical([counts.right_kept + counts.right_refused for counts in known])
        wrong = typical([counts.wrong_kept + counts.wrong_found for counts in known])
        # A solution that was not seen may have all its steps called wrongly, or all rightly.
        worst, best = StepCounts(0, wrong, 0, right), StepCounts(right, 0, wrong, 0)
        return drawn_estimate(known, lambda solutions: of(_sum(solutions)), worst=[worst], best=[best])

    return Aggregate(estimate)


def _sum(solutions: Sequence[tuple[StepCounts, float]]) -> StepCounts:
    columns = zip(*(counts for counts, _ in solutions), strict=True)
    weights = [weight for _, weight in solutions]
    return StepCounts(*(sum(map(mul, column, weights)) for column in columns))


prmscore_of: Aggregate = over_steps(prmscore)
f1_of: Aggregate = over_steps(f1)
negative_f1_of: Aggregate = over_steps(negative_f1)
