"""Hard2Verify (Pandit et al. 2025, arXiv 2510.13744): errors of frontier models in proofs, each step marked by experts.

The model is prompted for the first wrong step as in ProcessBench. F1 of that is the benchmark's balanced F1 of error
identification. If a process reward model scores every step, the threshold decides whether each step is right or wrong.
Balanced F1 is then reported over all steps, and over responses, which are right if every step is. It is the harmonic
mean of the fractions of right steps accepted and of wrong steps found. A step that depends on an earlier error is
wrong.

Published rows are encrypted to keep them out of training data. Each row contains its key. Don't publish them decrypted.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from verikit.errors import SchemaError
from verikit.evals.aggregate import Aggregate
from verikit.evals.docs import STEP_SCORES, THRESHOLD, Doc, Row, process_doc
from verikit.evals.grade import Grade
from verikit.evals.prmbench import StepCounts, count_steps, over_steps
from verikit.evals.processbench import NO_ERROR, harmonic
from verikit.evals.processbench import results as first_error_results

ENCRYPTED = ("question", "model_response_by_step", "human_labels", "human_labels_first_error_idx")
CANARY = "canary"


def _steps_and_labels(row: Row) -> tuple[list[Any], list[int]]:
    steps, labels = row.get("model_response_by_step"), row.get("human_labels")
    if not isinstance(steps, list) or not steps:
        raise SchemaError("expected a list of strings", field="model_response_by_step")
    if not isinstance(labels, list) or len(labels) != len(steps) or not all(label in (0, 1) for label in labels):
        raise SchemaError(f"a list of {len(steps)} labels, 0 or 1, is expected", field="human_labels")
    return steps, labels


def hard2verify_doc(row: Row) -> Doc:
    """A row of Hard2Verify, encrypted or not, as a solution in steps, with the steps that are wrong.

    Raises:
        SchemaError: A column is missing, has another format, or can't be decrypted.
    """
    row = decrypted(row)
    steps, labels = _steps_and_labels(row)
    first = labels.index(0) if 0 in labels else NO_ERROR
    if row.get("human_labels_first_error_idx") not in (None, first):
        raise SchemaError(f"the first wrong step by its labels is {first}", field="human_labels_first_error_idx")
    kept = {
        "id": row.get("unique_id"),
        "problem": row.get("question"),
        "steps": steps,
        "label": first,
        "config": str(row.get("model") or "hard2verify"),
        STEP_SCORES: row.get(STEP_SCORES),
    }
    return process_doc(kept) | {"error_steps": [number for number, label in enumerate(labels, 1) if not label]}


def decrypted(row: Row) -> Mapping[str, Any]:
    """Return the row with its strings decrypted. A row without a canary, or already decrypted, is returned unchanged.

    A string is base64 of JSON or plain text, XORed with the repeated SHA-256 of the row's canary.

    Raises:
        SchemaError: A column is not encrypted with the canary.
    """
    if not isinstance(canary := row.get(CANARY), str) or isinstance(row.get("model_response_by_step"), list):
        return row
    key = hashlib.sha256(canary.encode()).digest()
    return dict(row) | {name: _decrypted(row[name], key, name) for name in ENCRYPTED if isinstance(row.get(name), str)}


def _decrypted(text: str, key: bytes, name: str) -> Any:
    try:
        plain = bytes(a ^ b for a, b in zip(base64.b64decode(text, validate=True), cycle(key), strict=False)).decode()
    except ValueError:
        raise SchemaError("it can't be decrypted by the row's canary", field=name) from None
    if name == "question":
        return plain if plain[:1] != '"' else _json(plain)
    return _json(plain)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, Any]:
    """Return a document's metrics: for the first wrong step and, if they were scored, for every step and the whole."""
    found = first_error_results(doc, filtered)
    grade = filtered[0][0]
    if THRESHOLD in grade:
        kept = [score >= grade[THRESHOLD] for score in grade[STEP_SCORES]]
        right = not doc["error_steps"]
        found["step_f1"] = found["step_acc"] = count_steps(kept, doc["error_steps"])
        found["response_f1"] = [right, float(all(kept) == right)]
    return found


def balanced(counts: StepCounts) -> tuple[float, float]:
    """Return the fractions of right steps accepted and wrong steps found. A fraction without such steps is 0."""
    right, wrong = counts.right_kept + counts.right_refused, counts.wrong_found + counts.wrong_kept
    return (counts.right_kept / right if right else 0.0, counts.wrong_found / wrong if wrong else 0.0)


def balanced_f1(counts: StepCounts) -> float:
    """The harmonic mean of both."""
    return harmonic(*balanced(counts))


def balanced_acc(counts: StepCounts) -> float:
    """The mean of both."""
    return sum(balanced(counts)) / 2


balanced_f1_of: Aggregate = over_steps(balanced_f1)
balanced_acc_of: Aggregate = over_steps(balanced_acc)
