"""Which judge a task's judged metrics are given by."""

from __future__ import annotations

import os

from verikit.engines.load import is_engine

JUDGE = "VERIKIT_JUDGE"
"""Names the judge where nothing else does: plain lm-eval has no option for one."""
# The graders of benchmarks reply freely, as those of their own scripts do: a held one would grade what they leave out.
KINDS = {
    "reference": "reference_judge({engine!r})",
    "simpleqa": "reference_judge({engine!r}, 'simpleqa', structured=False)",
    "imo_answer": "reference_judge({engine!r}, 'imo-answer', structured=False)",
    "pairwise": "pairwise({engine!r})",
    "rubric": "rubric({engine!r}, 'rubric-healthbench', clip=False)",
    "rating": "judge({engine!r}, turns='each')",
}


def judge_spec(spec: str, judge: str | None) -> str | None:
    """The spec of a metric's verifier; None for one that needs a judge where there is none.

    Args:
        spec: A verifier's, or `judge:KIND`.
        judge: Spec of an engine (the kind's own judge asks it), or of a whole judge.
    """
    kind, marked = spec.removeprefix("judge:"), spec.startswith("judge:")
    judge = judge or os.environ.get(JUDGE)
    if not marked or not judge:
        return None if marked else spec
    return KINDS[kind].format(engine=judge) if is_engine(judge) else judge
