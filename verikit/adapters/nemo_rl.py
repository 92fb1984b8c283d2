"""NeMo-RL: an environment of one turn, named in its configuration as `verikit`.

    env:
      verikit: {spec: "0.9*answer + 0.1*boxed", unscored: mean}

NeMo-RL passes a batch of message logs with the metadata of each (`extra_env_info`, with the gold answer as
`ground_truth`). It expects rewards as a tensor (`environments/interfaces.py`, `experience/rollouts.py`:
`calculate_rewards`). It has no mask for an environment's samples, and an exception ends the run. An unscored sample
therefore gets `unscored`, by default the mean of the same prompt's others, and is counted in `unscored` of the
environment's metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from verikit.adapters.reward import GOLD_KEYS, NumberReward, WhenUnscored, gold_of, prompt_of
from verikit.base import Verifier
from verikit.errors import ConfigError, MissingExtra, UsageError, nearest
from verikit.messages import by_assistant
from verikit.types import Sample

ACTOR = "verikit.adapters.nemo_rl.VerikitEnvironment"
SETTINGS = ("spec", "unscored", "name", "echoes")
"""Allowed keys of the environment's section in a configuration."""


class EnvironmentReturn(NamedTuple):
    """NeMo-RL's fields of a whole batch. Their order matters, since NeMo-RL reads them by position."""

    observations: list[dict[str, str]]
    metadata: list[Any]
    next_stop_strings: list[None]
    rewards: Any
    """A float32 tensor, one a sample."""
    terminateds: Any
    answers: list[str | None]


class NemoRLReward(NumberReward):
    """NeMo-RL's `step` and metrics, outside of any actor."""

    def __init__(
        self,
        verifier: str | Verifier,
        name: str | None = None,
        unscored: WhenUnscored = "mean",
        *,
        echoes: bool = False,
    ) -> None:
        super().__init__(verifier, name, unscored, echoes=echoes)

    def step(self, message_log_batch: Sequence[Sequence[Mapping[str, Any]]], metadata: list[Any]) -> EnvironmentReturn:
        """Score a batch of conversations. Each episode ends.

        Raises:
            Unscored: A sample is unscored and `unscored` is `raise`, or two consecutive batches are unscored.
            MissingExtra: torch is not installed.
        """
        try:
            import torch
        except ImportError:
            raise MissingExtra("an environment for NeMo-RL", "hf") from None
        samples = [sample_of(log, info) for log, info in zip(message_log_batch, metadata, strict=True)]
        scores = self.score(samples)
        self.watch(samples, scores)
        rewards = torch.tensor(self.numbers(samples, scores), dtype=torch.float32)
        return EnvironmentReturn(
            [{"role": "environment", "content": ""} for _ in samples],
            metadata,
            [None] * len(samples),
            rewards,
            torch.ones_like(rewards),
            [score.answer for score in scores],
        )

    def global_post_process_and_metrics(self, batch: Any) -> tuple[Any, dict[str, float]]:
        """Return the batch unchanged, and the fraction and number of samples that were unscored since the start."""
        lost, seen = self.counts["unscored"], self.counts.total()
        return batch, {"unscored": lost / seen if seen else 0.0, "unscored_count": lost}


def sample_of(log: Sequence[Mapping[str, Any]], info: Any) -> Sample:
    """Convert a conversation to a sample. The completion starts at the model's first turn."""
    begin = next((index for index, turn in enumerate(log) if by_assistant(turn)), len(log))
    prompt = prompt_of(log[:begin])
    meta = dict(info) if isinstance(info, Mapping) else {}
    key = next((key for key in GOLD_KEYS if meta.get(key) is not None), None)
    gold = meta.pop(key) if key else None
    completion = [{key: turn[key] for key in ("role", "content") if key in turn} for turn in log[begin:]]
    return Sample(prompt, completion, gold_of(gold), meta=meta)


def of_config(config: Mapping[str, Any]) -> NemoRLReward:
    """The environment of a configuration's section.

    Raises:
        ConfigError: A key is missing or unknown.
        SpecError: The spec can't be read.
    """
    if unknown := [key for key in config if key not in SETTINGS]:
        raise ConfigError(f"unknown setting {unknown[0]!r} of the environment", hint=nearest(unknown[0], SETTINGS))
    if not isinstance(config.get("spec"), str):
        raise ConfigError("the environment needs a verifier", hint='spec: "answer"')
    return NemoRLReward(
        config["spec"], config.get("name"), config.get("unscored", "mean"), echoes=bool(config.get("echoes", False))
    )


def register(name: str = "verikit") -> None:
    """Register the environment with NeMo-RL under a name of its configuration. Call it before training is set up.

    Raises:
        UsageError: NeMo-RL is not installed.
    """
    try:
        registry: Any = import_module("nemo_rl.distributed.ray_actor_environment_registry")
        cluster: Any = import_module("nemo_rl.distributed.virtual_cluster")
        utils: Any = import_module("nemo_rl.environments.utils")
    except ImportError as error:
        raise UsageError(
            f"NeMo-RL is not installed here (no {error.name})", hint="run it in NeMo-RL's own venv"
        ) from None
    registry.ACTOR_ENVIRONMENT_REGISTRY[ACTOR] = cluster.PY_EXECUTABLES.SYSTEM
    utils.register_env(name, ACTOR)


def __getattr__(name: str) -> Any:
    """`VerikitEnvironment`, the Ray actor, created when NeMo-RL imports it by its dotted name."""
    if name != "VerikitEnvironment":
        raise AttributeError(name)
    import ray

    class VerikitEnvironment(NemoRLReward):
        def __init__(self, config: Mapping[str, Any]) -> None:
            made = of_config(config)
            super().__init__(made.verifier, made.__name__, made.unscored, echoes=True)

        def shutdown(self) -> None:
            """Do nothing: there is nothing to release."""

    return ray.remote(VerikitEnvironment)
