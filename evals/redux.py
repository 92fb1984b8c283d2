"""MMLU-Redux (Gema et al. 2024, arXiv 2406.04127): accuracy over the questions that its annotators let count.

`acc` is over those whose label is right or was corrected to a letter, as ZeroEval has it; `acc_ok` over those that
were right from the start, as lm-eval has it. Ambiguous questions and those without or with several right options are
left out when rows are read (`verikit.evals.docs.redux_doc`).
"""

from __future__ import annotations

from collections.abc import Sequence

from verikit.evals.docs import Doc
from verikit.evals.grade import Grade
from verikit.evals.grade import results as graded


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, float]:
    """A question's metrics: those of every graded task, and `acc_ok` where its label was not corrected."""
    found = graded(doc, filtered)
    return found | {"acc_ok": found["acc"]} if doc["label"] == "ok" and "acc" in found else found
