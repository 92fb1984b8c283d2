"""torchforge: `RewardActor…as_service(reward_functions=[to_forge("answer")])`.

Called for one sample with prompt, response and target (meta-pytorch/torchforge, `apps/grpo/main.py`); what it returns
is added up and averaged, so there must be a number.
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
            Unscored: it has no score, and `unscored` is `raise`.
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
        unscored: The reward of a sample without a score: `mean`, of what the prompt's samples got before it; a number;
            or `raise`, which ends the run.
        tries: How often a sample is scored whose score is a time-out or an error.
        name: Under which torchforge logs it; None: the verifier's.
        echoes: Whether a formula of the question, or an answer left to compute, may be paid; see `echo_guard`.

    Raises:
        SpecError: the spec can't be read.
    """
    return ForgeReward(verifier, name, unscored, echoes=echoes, tries=tries)
