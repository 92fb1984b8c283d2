"""rLLM: `SingleTurnEnvironment(task, reward_fn=to_rllm("answer"))`.

Called with the task's fields and the action, a text or an `Action`, and returns rLLM's `RewardOutput` (rllm-org/rllm,
`rllm/rewards`). It has no missing reward: `metadata` says `scored`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal

from verikit.adapters.reward import GOLD_KEYS, NumberReward, gold_of, prompt_of
from verikit.base import Verifier
from verikit.types import Sample

_PROMPTS = ("prompt", "question", "problem")


class RllmReward(NumberReward):
    """Called by rLLM for one action."""

    def __call__(self, task_info: Mapping[str, Any], action: Any) -> Any:
        """Reward one action, as a `RewardOutput`.

        Raises:
            Unscored: it has no score, and `unscored` is `raise`.
        """
        asked = next((task_info[key] for key in _PROMPTS if task_info.get(key) is not None), "")
        gold = next((task_info[key] for key in GOLD_KEYS if task_info.get(key) is not None), None)
        text = getattr(action, "action", action)
        sample = Sample(prompt_of(asked), "" if text is None else text, gold_of(gold), meta=dict(task_info))
        score = self.score_waiting(sample)
        told = {"scored": score.scored, "status": score.status, "reason": score.reason, "answer": score.answer}
        return import_module("rllm.rewards.reward_types").RewardOutput(
            reward=self.number(sample, score),
            is_correct=score.passed if score.scored else None,
            metadata=told | self.part_values(score),
        )


def to_rllm(
    verifier: str | Verifier,
    *,
    unscored: float | Literal["mean", "raise"] = "mean",
    tries: int = 1,
    name: str | None = None,
    echoes: bool = False,
) -> RllmReward:
    """Make a `RewardFunction` for rLLM.

    Args:
        verifier: A verifier or its spec.
        unscored: The reward of an action without a score: `mean`, of what the task's actions got before it; a number;
            or `raise`, by which rLLM runs the trajectory again.
        tries: How often a sample is scored whose score is a time-out or an error.
        name: Its `__name__`; None: the verifier's.
        echoes: Whether a formula copied from the question may be paid; see `verikit.echo`.

    Raises:
        SpecError: the spec can't be read.
    """
    return RllmReward(verifier, name, unscored, echoes=echoes, tries=tries)
