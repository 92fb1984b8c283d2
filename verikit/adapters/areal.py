"""AReaL: `RLVRWorkflow(reward_fn="reward.reward_fn", …)`, whose `reward_fn = to_areal("answer")`.

AReaL calls it for one sample in a pool of processes, with the prompt and the completion as strings (special tokens
included), their token ids, and the row's fields (AReaL 1.0, `areal/api/reward_api.py`). A call of more than 15 s is
abandoned and, after four attempts, gets reward 0. verikit's calls therefore end earlier. An exception is also retried,
and then the trajectory is rejected: AReaL samples another one instead. That is how an unscored sample is masked.
"""

from __future__ import annotations

from typing import Any, Literal

from verikit.adapters.openrlhf import without_closing_tokens
from verikit.adapters.reward import GOLD_KEYS, NumberReward, WhenUnscored, gold_of, tokens_in
from verikit.base import Verifier
from verikit.types import Sample


class ArealReward(NumberReward):
    """Called by AReaL for one sample."""

    one_process = False

    def __init__(
        self,
        verifier: str | Verifier,
        name: str | None,
        unscored: WhenUnscored,
        seconds: float,
        *,
        echoes: bool,
        tries: int = 1,
    ) -> None:
        super().__init__(verifier, name, unscored, echoes=echoes, tries=tries)
        self.seconds = seconds

    def __call__(
        self, prompt: str, completions: str, prompt_ids: Any = None, completion_ids: Any = None, **data: Any
    ) -> float:
        """Reward one sample.

        Raises:
            Unscored: It has no score, and `unscored` is `raise`.
        """
        key = next((key for key in GOLD_KEYS if data.get(key) is not None), None)
        gold = gold_of(data.pop(key)) if key else None
        sample = Sample(prompt, without_closing_tokens(completions), gold, meta=data | tokens_in(completion_ids))
        return self.number(sample, self.score_waiting(sample, self.seconds))


def to_areal(
    verifier: str | Verifier,
    *,
    unscored: float | Literal["mean", "raise"] = "raise",
    seconds: float = 12.0,
    tries: int = 1,
    name: str | None = None,
    echoes: bool = False,
) -> ArealReward:
    """Make a `reward_fn` for AReaL's workflows.

    Args:
        verifier: A verifier or its spec.
        unscored: The replacement for a missing score: `raise`, which makes AReaL reject the trajectory and sample
            another, a number, or `mean` of the prompt's latest scores in the same process.
        seconds: Time after which a score counts as missing. Must be less than AReaL's (`AsyncRewardWrapper`, 15).
        tries: Maximum attempts to score a sample whose score is a timeout or an error.
        name: The function's `__name__`. None uses the verifier's.
        echoes: Whether to reward a formula copied from the question or an uncomputed answer; see `echo_guard`.

    Raises:
        SpecError: The spec can't be parsed.
    """
    return ArealReward(verifier, name, unscored, seconds, echoes=echoes, tries=tries)
