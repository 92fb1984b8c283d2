"""ProcessBench: does a model, or a process reward model, find the first wrong step of a solution?

Reports accuracy on solutions with an error (the exact step must be named) and on solutions without one (none may be
named), and F1, their harmonic mean (Zheng et al. 2024, section 3). An answer that can't be read is a miss in both. The
average over configurations is the plain mean of their F1. Steps are numbered from 0, as in the benchmark's own script.
If a process reward model scored every step, AUC and Brier score evaluate the scores at any threshold.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from statistics import fmean
from typing import Any

from verikit.evals.aggregate import Aggregate
from verikit.evals.docs import STEP_SCORES, Doc
from verikit.evals.grade import Grade
from verikit.replies.text import boxes
from verikit.stats import Estimate
from verikit.stats.drawn import drawn_estimate, typical

CONFIGS = ("gsm8k", "math", "olympiadbench", "omnimath")
NO_ERROR = -1
GRID = tuple(i / 100 for i in range(2, 100))
"""Thresholds that `best_threshold` tries, as ReasonEval's scripts do."""
STEP_DRAWS = 200
"""Bootstrap draws for the area under the curve of all steps, which are sorted for each draw."""
Marked = list[tuple[float, bool]]
"""A solution's step scores, each with whether the step is right. Steps after the first error are excluded."""
_INDEX = re.compile(r"\s*(?:\\text\{\s*)?(?:paragraph[_ ]?)?(-?\d{1,6})\s*\}?\.?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FirstErrorMetrics:
    """ProcessBench's metrics. An accuracy is 0, never NaN, if there are no solutions of its kind."""

    acc_error: float
    acc_correct: float
    f1: float
    n_error: int
    n_correct: int


def metrics(predictions: Sequence[int | None], labels: Sequence[int]) -> FirstErrorMetrics:
    """Compute accuracies and F1 of predicted first errors (None: unreadable) against labels. -1 means no error."""
    hits = [(label, guess == label) for guess, label in zip(predictions, labels, strict=True)]
    wrong = [hit for label, hit in hits if label != NO_ERROR]
    right = [hit for label, hit in hits if label == NO_ERROR]
    accuracies = [fmean(some) if some else 0.0 for some in (wrong, right)]
    return FirstErrorMetrics(accuracies[0], accuracies[1], harmonic(*accuracies), len(wrong), len(right))


def harmonic(a: float, b: float) -> float:
    """Harmonic mean, or 0 if both are 0."""
    return 2 * a * b / (a + b) if a + b else 0.0


def average(by_config: Mapping[str, FirstErrorMetrics]) -> float:
    """The benchmark's single number: the plain mean of F1 over configurations."""
    return fmean(metrics.f1 for metrics in by_config.values())


def majority(predictions: Iterable[int | None]) -> int | None:
    """Return the commonest readable prediction, the first of these on a tie. None if no prediction is readable."""
    votes = Counter(guess for guess in predictions if guess is not None)
    return max(votes, key=votes.__getitem__, default=None)


def first_below(scores: Sequence[float], threshold: float) -> int:
    """The first step that a process reward model scores below a threshold, -1 for none."""
    return next((i for i, score in enumerate(scores) if score < threshold), NO_ERROR)


def best_threshold(scores: Sequence[Sequence[float]], labels: Sequence[int]) -> tuple[float, FirstErrorMetrics]:
    """The threshold of the grid with the highest F1 (the lowest such), and its metrics. In-sample: an upper bound."""
    tried = [(at, metrics([first_below(steps, at) for steps in scores], labels)) for at in GRID]
    return max(tried, key=lambda pair: (pair[1].f1, -pair[0]))


def prompt(doc: Doc) -> str:
    """The critic's prompt: problem and tagged steps; the answer is the index in a box."""
    steps = "\n\n".join(f"<paragraph_{i}>\n{step}\n</paragraph_{i}>" for i, step in enumerate(doc["steps"]))
    return (
        "The following is a math problem and a solution (split into paragraphs, enclosed with tags and indexed from "
        f"0):\n\n[Math Problem]\n\n{doc['question']}\n\n[Solution]\n\n{steps}\n\nYour task is to review and critique "
        "the solution paragraph by paragraph. Once you identify an error in a paragraph, return the index of the "
        "paragraph where the earliest error occurs. Otherwise, return the index of -1 (which typically denotes "
        '"not found").\n\nPlease put your final answer (i.e., the index) in \\boxed{}.\n'
    )


def first_error(reply: str) -> str | None:
    """Return the index in a reply's last box as a string, or None if it can't be read."""
    found = index_in(reply)
    return None if found is None else str(found)


def index_in(reply: str) -> int | None:
    """Return the index in a reply's last box, or None if it can't be read."""
    last = boxes(reply)[-1:]
    match = _INDEX.fullmatch(last[0][:100]) if last else None
    return int(match[1]) if match else None


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, Any]:
    """Return a document's metrics: whether its error, or that it has none, was found, and the inputs of F1."""
    grades = [grade["acc"] for grade in filtered[0]]
    scored = [row for row in grades if row["value"] is not None]
    found: dict[str, Any] = {"unscored": 1 - len(scored) / len(grades)}
    if not scored:
        return found
    label = int(doc["answer"][0])
    share = fmean(row["value"] for row in scored)
    answers = [row.get("answer") for row in scored]
    found["acc"] = share
    found["acc_correct" if label == NO_ERROR else "acc_error"] = share
    found["unparsed"] = answers.count(None) / len(scored)
    found["f1"] = [label == NO_ERROR, share]
    if scores := filtered[0][0].get(STEP_SCORES):
        found["auc"] = marked(scores, label)
        found["brier"] = brier(found["auc"])
    if len(grades) > 1:
        found["f1_majority"] = [label == NO_ERROR, float(_majority(answers) == label)]
    return found


def _majority(answers: Sequence[str | None]) -> int | None:
    """What most replies name."""
    return majority([None if answer is None else int(answer) for answer in answers])


def _f1(values: Sequence[tuple[bool, float]]) -> Estimate | None:
    """F1 of (has no error, share found) pairs; the next solution of either kind may be missed, or found."""
    pairs = [(bool(correct), share) for correct, share in values]
    missed, found = ([(correct, share) for correct in (False, True)] for share in (0.0, 1.0))
    return drawn_estimate(pairs, _of, worst=missed, best=found)


def _of(solutions: Sequence[tuple[tuple[bool, float], float]]) -> float:
    hits, weights = {False: 0.0, True: 0.0}, {False: 0.0, True: 0.0}
    for (correct, share), weight in solutions:
        hits[correct] += weight * share
        weights[correct] += weight
    return harmonic(*(hits[kind] / weights[kind] if weights[kind] else 0.0 for kind in hits))


def marked(scores: Sequence[float], label: int) -> Marked:
    """Step scores with whether each step is right: all before the first error, and the error itself."""
    if label == NO_ERROR:
        return [(score, True) for score in scores]
    return [*((score, True) for score in scores[:label]), (scores[label], False)]


def brier(steps: Marked) -> float:
    """Mean squared distance of scores from 1 for right steps and 0 for wrong ones (Brier 1950): calibration."""
    return math.fsum((score - right) ** 2 for score, right in steps) / len(steps)


def auc(steps: Iterable[tuple[float, bool]]) -> float:
    """Probability that a right step scores above a wrong one, counting ties as half. NaN if only one kind exists."""
    return _weighted_auc([(tuple(steps), 1.0)])


def _weighted_auc(solutions: Sequence[tuple[tuple[tuple[float, bool], ...], float]]) -> float:
    steps = sorted((score, good, weight) for steps, weight in solutions for score, good in steps)
    below = above = total = 0.0
    for _, tied in groupby(steps, key=itemgetter(0)):
        right = wrong = 0.0
        for _, good, weight in tied:
            right, wrong = (right + weight, wrong) if good else (right, wrong + weight)
        total += right * (below + wrong / 2)
        above, below = above + right, below + wrong
    return total / (above * below) if above and below else math.nan


def _auc(values: Sequence[Marked]) -> Estimate | None:
    """Estimate AUC over all steps. The unseen solution's right steps score below all wrong ones, or the reverse."""
    solutions = [tuple((score, good) for score, good in steps) for steps in values]
    right, wrong = (typical([sum(good is kind for _, good in steps) for steps in solutions]) for kind in (True, False))
    worst = ((-math.inf, True),) * round(right) + ((math.inf, False),) * round(wrong)
    best = tuple((-score, good) for score, good in worst)
    return drawn_estimate(solutions, _weighted_auc, worst=[worst], best=[best], draws=STEP_DRAWS)


f1_of: Aggregate = Aggregate(_f1)
auc_of: Aggregate = Aggregate(_auc)
