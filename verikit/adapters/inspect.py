"""Inspect: a scorer, `Task(..., scorer=to_inspect("answer"))`; what has no score is Inspect's own unscored."""

from __future__ import annotations

from typing import Any

from verikit.adapters.reward import Reward, prompt_of
from verikit.base import Verifier
from verikit.errors import MissingExtra
from verikit.messages import continuation
from verikit.types import Sample


def to_inspect(verifier: str | Verifier, *, name: str | None = None) -> Any:
    """Make a scorer for Inspect (`inspect_ai`), with mean and standard error as its metrics.

    The target is the gold, the task's metadata the sample's meta; single calls are gathered into batches.

    Args:
        verifier: A verifier or its spec.
        name: The scorer's name in Inspect's log; None: the verifier's.

    Raises:
        MissingExtra: inspect_ai is not installed.
        SpecError: the spec can't be read.
    """
    try:
        from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
        from inspect_ai.solver import TaskState
    except ImportError:
        raise MissingExtra("a scorer for Inspect", "inspect") from None
    reward = Reward(verifier, name, None)

    @scorer(metrics=[mean(), stderr()], name=reward.__name__)
    def made() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            golds = list(target)
            prompt = prompt_of(state.input)
            sample = Sample(
                prompt,
                state.output.completion,
                golds[0] if len(golds) == 1 else golds or None,
                str(state.sample_id),
                dict(state.metadata or {}),
                messages=continuation(state.messages, prompt),
            )
            found = await reward.score_sample(sample)
            if found.value is None:
                return Score.unscored(reason="scoring_failed", answer=found.answer, explanation=found.reason)
            parts = {name: part.value for name, part in found.parts.items()}
            return Score(value=found.value, answer=found.answer, explanation=found.reason, metadata={"parts": parts})

        return score

    return made()
