"""torchforge: `RewardActor…as_service(reward_functions=[to_forge("answer")])`.

torchforge calls it for one sample with prompt, response and target (meta-pytorch/torchforge, `apps/grpo/main.py`). It
sums and averages the results, so each must be a number.
"""

from __future__ import annotations

from typing import Any, Literal

from verikit.adapters.reward import NumberReward, gold_of
from verikit.base import Verifier
from verikit.types import Sample


class ForgeReward(NumberReward):
    """Called by torchforge for one sample."""

    one_process = False

    def __call__(self, prompt: str, response: str, target: Any = None) -> float:
        """Reward one sample.

        Raises:
            Unscored: It has no score, and `unscored` is `raise`.
        """
        sample = Sample(prompt, response, gold_of(target))
        return self.number(sample, self.score_waiting(sample))


def to_forge(
    verifier: str | Verifier,
    *,
    unscored: float | Literal["mean", "raise"] = "mean",
    tries: int = 1,
    name: str | None = None,
    echoes: bool = False,
) -> ForgeReward:
    """Make a reward function for torchforge.

    Args:
        verifier: A verifier or its spec.
        unscored: The reward of an unscored sample: `mean` of the prompt's earlier samples, a number, or `raise`, which
            ends the run.
        tries: Maximum attempts to score a sample whose score is a timeout or an error.
        name: The name in torchforge's logs. None uses the verifier's.
        echoes: Whether to reward a formula copied from the question or an uncomputed answer; see `echo_guard`.

    Raises:
        SpecError: The spec can't be parsed.
    """
    return ForgeReward(verifier, name, unscored, echoes=echoes, tries=tries)
