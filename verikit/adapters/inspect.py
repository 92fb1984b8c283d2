"""Inspect: a scorer, `Task(..., scorer=to_inspect("answer"))`. Unscored samples use Inspect's own unscored state."""

from __future__ import annotations

from typing import Any

from verikit.adapters.reward import Reward, prompt_of
from verikit.base import Verifier
from verikit.errors import MissingExtra
from verikit.messages import continuation
from verikit.types import Sample


class InspectScorer(Reward):
    """Awaited by Inspect for one sample. Single calls are gathered into batches."""

    async def __call__(self, state: Any, target: Any) -> Any:
        """Score a `TaskState` against a `Target`, as Inspect's `Score`."""
        from inspect_ai.scorer import Score

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
        found = await self.score_sample(sample)
        if found.value is None:
            return Score.unscored(reason="scoring_failed", answer=found.answer, explanation=found.reason)
        parts = {name: part.value for name, part in found.parts.items()}
        return Score(value=found.value, answer=found.answer, explanation=found.reason, metadata={"parts": parts})

    def __reduce__(self) -> tuple[Any, ...]:
        # Inspect's own marks on the object, including its registry name, are created again after unpickling.
        return _registered, (self.verifier, self.__name__)


def to_inspect(verifier: str | Verifier, *, name: str | None = None, tries: int = 1) -> Any:
    """Make a scorer for Inspect (`inspect_ai`), with mean and standard error as its metrics. It can be pickled.

    The target is the gold answer, and the task's metadata is the sample's meta. Single calls are gathered into batches.

    Args:
        verifier: A verifier or its spec.
        name: The scorer's name in Inspect's log. None uses the verifier's.
        tries: Maximum attempts to score a sample whose score is a timeout or an error.

    Raises:
        MissingExtra: inspect_ai is not installed.
        SpecError: The spec can't be parsed.
    """
    try:
        import inspect_ai.scorer  # noqa: F401
    except ImportError:
        raise MissingExtra("a scorer for Inspect", "inspect") from None
    made = InspectScorer(verifier, name, None, tries=tries)
    return _registered(made.verifier, made.__name__)


def _registered(verifier: Verifier, name: str) -> Any:
    from inspect_ai.scorer import mean, scorer, stderr

    @scorer(metrics=[mean(), stderr()], name=name)
    def made() -> Any:
        return InspectScorer(verifier, name, None)

    return made()
