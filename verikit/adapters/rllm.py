"""rLLM: a dataset's `evaluate(task, episode)`, or `SingleTurnEnvironment(task, reward_fn=to_rllm("answer"))`.

`evaluate` receives a `Task` (its row in `metadata`) and an `Episode`, and returns an `EvalOutput`. The older
`RewardFunction` is called with the row and the action, and returns a `RewardOutput` (rllm-org/rllm, `rllm/eval/types`
and `rllm/rewards`). Neither supports a missing reward, so `metadata` has `scored`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal

from verikit.adapters.reward import GOLD_KEYS, NumberReward, gold_of, prompt_of, tokens_in
from verikit.base import Verifier
from verikit.types import Sample

_PROMPTS = ("prompt", "question", "problem")


class RllmReward(NumberReward):
    """Called by rLLM for one action, or by its method for an episode."""

    def __call__(self, task_info: Mapping[str, Any], action: Any) -> Any:
        """Reward one action, a string or an `Action`, as a `RewardOutput`.

        Raises:
            Unscored: The action is unscored and `unscored` is `raise`.
        """
        text = getattr(action, "action", action)
        return import_module("rllm.rewards.reward_types").RewardOutput(**self.rate(task_info, text))

    def evaluate(self, task: Any, episode: Any) -> Any:
        """Reward an episode's answer, as an `EvalOutput` with the parts of a combination as signals.

        Raises:
            Unscored: It has no score, and `unscored` is `raise`.
        """
        types = import_module("rllm.eval.types")
        asked = task if isinstance(task, Mapping) else {"question": task.instruction, **task.metadata}
        found = self.rate({**asked, **_tokens(episode)}, _answer(episode))
        values = {part: found["metadata"][f"part/{part}"] for part in self.parts}
        signals = [types.Signal(name=part, value=value) for part, value in values.items() if value is not None]
        return types.EvalOutput(**found | {"is_correct": bool(found["is_correct"]), "signals": signals})

    def rate(self, row: Mapping[str, Any], text: Any) -> dict[str, Any]:
        """Return a text's reward, whether it is right (None if unscored) and further metadata."""
        asked = next((row[key] for key in _PROMPTS if row.get(key) is not None), "")
        gold = next((row[key] for key in GOLD_KEYS if row.get(key) is not None), None)
        sample = Sample(prompt_of(asked), "" if text is None else text, gold_of(gold), meta=dict(row))
        score = self.score_waiting(sample)
        told = {"scored": score.scored, "status": score.status, "reason": score.reason, "answer": score.answer}
        return {
            "reward": self.number(sample, score),
            "is_correct": score.passed if score.scored else None,
            "metadata": told | self.part_values(score),
        }


def _answer(episode: Any) -> str:
    """Return an episode's answer, searched for as in rLLM's own evaluators (`eval/reward_fns/_helpers.py`)."""
    if "answer" in episode.artifacts:
        return str(episode.artifacts["answer"])
    last = episode.trajectories[-1] if episode.trajectories else None
    steps = list(getattr(last, "steps", ()))
    said = [getattr(last, "output", None), *(step.output for step in steps[-1:])]
    said += [getattr(step, "model_response", None) for step in reversed(steps)]
    return str(next((text for text in said if text), ""))


def _tokens(episode: Any) -> dict[str, int]:
    """Count the tokens that the model wrote in an episode's last trajectory, if each step has its ids."""
    steps = list(getattr(episode.trajectories[-1], "steps", ())) if episode.trajectories else []
    ids = [tokens_in(getattr(step, "response_ids", None) or None) for step in steps]
    return {"completion_tokens": sum(found["completion_tokens"] for found in ids)} if ids and all(ids) else {}


def to_rllm(
    verifier: str | Verifier,
    *,
    unscored: float | Literal["mean", "raise"] = "mean",
    tries: int = 1,
    name: str | None = None,
    echoes: bool = False,
) -> RllmReward:
    """Make a `RewardFunction` for rLLM. Its method `evaluate` implements rLLM's newer interface.

    Args:
        verifier: A verifier or its spec.
        unscored: The reward of an unscored action: `mean` of the rewards of the task's earlier actions, a number, or
            `raise`, which makes rLLM run the trajectory again.
        tries: Maximum attempts to score a sample whose score is a timeout or an error.
        name: The function's `__name__`. None uses the verifier's.
        echoes: Whether to reward a formula copied from the question or an uncomputed answer; see `echo_guard`.

    Raises:
        SpecError: The spec can't be parsed.
    """
    return RllmReward(verifier, name, unscored, echoes=echoes, tries=tries)
