"""SkyRL: a text environment of one turn, `skyrl_gym.register(id="verikit", entry_point="reward:Environment")`.

SkyRL creates one environment per sample, from `env_config` and `extras`, the row's other columns with the gold answer
under `reward_spec.ground_truth`. It passes the prompt to `init` and the completion to `step`, in threads (skyrl-gym
0.4). An exception in `step` ends the run, and there is no mask. An unscored sample therefore gets `unscored`, by
default the mean of the same prompt's scores so far. `verikit/unscored` in the environment's metrics is the fraction of
unscored samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from verikit.adapters.reward import GOLD_KEYS, NumberReward, WhenUnscored, gold_of, prompt_of
from verikit.base import Verifier
from verikit.errors import UsageError
from verikit.types import Prompt, Sample, Score


class SkyRLReward(NumberReward):
    """A verifier and the stand-ins for missing scores, shared by all episodes of a process."""

    def rate(self, prompt: Prompt, action: str, extras: Mapping[str, Any]) -> tuple[float, Score]:
        """Return the reward and the score of a completion.

        Raises:
            Unscored: The completion is unscored and `unscored` is `raise`.
        """
        sample = sample_of(prompt, action, extras)
        score = self.score_waiting(sample)
        return self.number(sample, score), score


def sample_of(prompt: Prompt, action: str, extras: Mapping[str, Any]) -> Sample:
    """Build a sample from a completion and its row: `extras`, merged with `extra_info`, become the sample's meta."""
    meta = {key: value for key, value in extras.items() if key not in ("reward_spec", "reward_model", "max_turns")}
    if isinstance(more := meta.pop("extra_info", None), Mapping):
        meta = {**more, **meta}
    spec = extras.get("reward_spec") or extras.get("reward_model")
    golds = spec if isinstance(spec, Mapping) else {}
    key = next((key for key in GOLD_KEYS if meta.get(key) is not None), None)
    gold = golds.get("ground_truth", meta.pop(key) if key else None)
    return Sample(prompt_of(prompt), action, gold_of(gold), meta=meta)


def to_skyrl(
    verifier: str | Verifier, *, unscored: WhenUnscored = "mean", name: str | None = None, echoes: bool = False
) -> type[Any]:
    """Make an environment class for SkyRL.

    Args:
        verifier: A verifier or its spec.
        unscored: The reward of an unscored sample: a number, `"mean"` of its prompt's scores so far, or `"raise"`,
            which ends the run.
        name: The name in messages. None uses the verifier's.
        echoes: Whether to reward a formula copied from the question or an uncomputed answer; see `echo_guard`.

    Raises:
        SpecError: The spec can't be parsed.
        UsageError: skyrl-gym is not installed, or `unscored` is invalid.
    """
    try:
        base: Any = import_module("skyrl_gym.envs.base_text_env")
    except ImportError:
        raise UsageError("an environment for SkyRL needs skyrl-gym", hint="pip install skyrl-gym") from None
    reward = SkyRLReward(verifier, name, unscored, echoes=echoes)

    class Environment(base.BaseTextEnv):  # type: ignore[misc, name-defined]
        """One turn: the completion is scored, and the episode is done."""

        def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
            super().__init__()
            self.extras = extras or {}
            self.prompt: Prompt = ""
            self.score: Score | None = None

        def init(self, prompt: Any) -> tuple[Any, dict[str, Any]]:
            """Store the prompt, which is returned unchanged as the first observation."""
            self.prompt = prompt_of(prompt)
            return prompt, {}

        def step(self, action: str) -> dict[str, Any]:
            """Score the completion."""
            value, self.score = reward.rate(self.prompt, action, self.extras)
            self.turns += 1
            told = {"status": self.score.status, "reason": self.score.reason, "answer": self.score.answer}
            return {"observations": [], "reward": value, "done": True, "metadata": {"verikit": told}}

        def get_metrics(self) -> dict[str, Any]:
            """Whether the episode has no score, and the values of the parts that have one; SkyRL averages each."""
            if self.score is None:
                return {}
            lost = {"verikit/unscored": float(not self.score.scored)}
            parts = reward.part_values(self.score)
            return lost | {f"verikit/{part}": value for part, value in parts.items() if value is not None}

    return Environment
