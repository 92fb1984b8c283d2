"""Tinker cookbook: `ProblemGroupBuilder(env_thunk=partial(to_tinker("answer"), question, gold, renderer), num_envs=8)`.

It creates a `ProblemEnv` (tinker-cookbook 0.6, `rl/problem_env.py`) whose `check_answer` returns the verifier's value.
Its step awaits the score, so a batch's rollouts are scored together. Under the cookbook's `RetryOnFailure` or
`MinViableGroup` strategies, `unscored="raise"` has a rollout sampled again or excluded. Under the default, `FailFast`,
it would end the run.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal

from verikit.adapters.reward import NumberReward, gold_of, tokens_in
from verikit.base import Verifier
from verikit.types import Sample, Score


class TinkerReward(NumberReward):
    """Makes environments of one question each; can be pickled, as group builders are."""

    def __call__(self, question: str, answer: Any, renderer: Any, convo_prefix: Any = None, **meta: Any) -> Any:
        """A `ProblemEnv` for a question and its gold; `meta` becomes the sample's."""
        return _env_class()(self, Sample(question, "", gold_of(answer), meta=meta), renderer, convo_prefix)


@lru_cache(maxsize=1)
def _env_class() -> type[Any]:
    base = import_module("tinker_cookbook.rl.problem_env").ProblemEnv
    text_of = import_module("tinker_cookbook.renderers").get_text_content

    class VerifiedEnv(base):  # type: ignore[misc, valid-type]
        def __init__(self, reward: TinkerReward, asked: Sample, renderer: Any, convo_prefix: Any) -> None:
            super().__init__(renderer, convo_prefix, format_coef=0.0)
            self.reward, self.asked = reward, asked
            self.score: Score | None = None
            """Score of the last step."""

        def get_question(self) -> str:
            return str(self.asked.prompt)

        def get_reference_answer(self) -> str:
            return str(self.asked.answer)

        def check_format(self, sample_str: str) -> bool:
            return True

        def check_answer(self, sample_str: str) -> float:
            sample = self.said(sample_str)
            score = self.reward.score_waiting(sample) if self.score is None else self.score
            return self.reward.number(sample, score)

        def said(self, text: str) -> Sample:
            asked = self.asked
            return Sample(asked.prompt, text, asked.answer, meta=asked.meta)

        async def step(self, action: Any, **extra: Any) -> Any:
            message, *_ = self.renderer.parse_response(action)
            said = self.said(text_of(message))
            self.score = await self.reward.score_sample(replace(said, meta={**said.meta, **tokens_in(action)}))
            result = await super().step(action, **extra)
            result.metrics["unscored"] = float(not self.score.scored)
            return result

    return VerifiedEnv


def to_tinker(
    verifier: str | Verifier,
    *,
    unscored: float | Literal["mean", "raise"] = "mean",
    tries: int = 1,
    name: str | None = None,
    echoes: bool = False,
) -> TinkerReward:
    """Make a factory of Tinker cookbook environments, called with question, gold answer and renderer.

    Args:
        verifier: A verifier or its spec.
        unscored: The reward of an unscored rollout, whose metric `unscored` is 1: `mean` of the question's earlier
            rollouts, a number, or `raise`, for a strategy that samples again.
        tries: Maximum attempts to score a sample whose score is a timeout or an error.
        name: The factory's `__name__`. None uses the verifier's.
        echoes: Whether to reward a formula copied from the question or an uncomputed answer; see `echo_guard`.

    Raises:
        SpecError: The spec can't be parsed.
    """
    return TinkerReward(verifier, name, unscored, echoes=echoes, tries=tries)
