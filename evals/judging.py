"""Selects the judge of a task's judged metrics."""

from __future__ import annotations

import os

from verikit.engines.load import is_engine

JUDGE = "VERIKIT_JUDGE"
"""Environment variable with the default judge: plain lm-eval has no option for one."""
# The graders of benchmarks reply freely, as in their own scripts. A constrained judge would grade replies they skip.
KINDS = {
    "reference": "reference_judge({engine!r})",
    "simpleqa": "reference_judge({engine!r}, 'simpleqa', structured=False)",
    "imo_answer": "reference_judge({engine!r}, 'imo-answer', structured=False)",
    "pairwise": "pairwise({engine!r})",
    "rubric": "rubric({engine!r}, 'rubric-healthbench', clip=False)",
    "deliverables": "rubric({engine!r}, shows='workspace')",
    "rating": "judge({engine!r}, turns='each')",
}


def judge_spec(spec: str, judge: str | None) -> str | None:
    """Return the spec of a metric's verifier. None if it needs a judge and there is none.

    Args:
        spec: A verifier's spec, or `judge:KIND`.
        judge: Spec of an engine, which the kind's own judge uses, or of a whole judge.
    """
    kind, marked = spec.removeprefix("judge:"), spec.startswith("judge:")
    judge = judge or os.environ.get(JUDGE)
    if not marked or not judge:
        return None if marked else spec
    return KINDS[kind].format(engine=judge) if is_engine(judge) else judge
