"""MMLU-Redux (Gema et al. 2024, arXiv 2406.04127): accuracy over the questions that its annotators accept.

`acc` is over questions whose label is right or was corrected to a letter, as in ZeroEval. `acc_ok` is over those that
were right from the start, as in lm-eval. Ambiguous questions and those without or with several right options are
excluded when rows are read (`verikit.evals.docs.redux_doc`).
"""

from __future__ import annotations

from collections.abc import Sequence

from verikit.evals.docs import Doc
from verikit.evals.grade import Grade
from verikit.evals.grade import results as graded


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, float]:
    """Return a question's metrics: those of every graded task, and `acc_ok` if its label was not corrected."""
    found = graded(doc, filtered)
    return found | {"acc_ok": found["acc"]} if doc["label"] == "ok" and "acc" in found else found
