"""slime: `--custom-rm-path reward.rm`, whose `rm = to_slime("answer")`.

slime awaits it with its arguments and one `Sample`, or with `--group-rm` a prompt's list of them (THUDM/slime,
`slime/rollout/rm_hub`). An unscored sample gets `remove_sample`, so slime removes its tokens from the loss. Its reward
still counts in the group's statistics, so it is the group's mean.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from verikit.adapters.openrlhf import without_closing_tokens
from verikit.adapters.reward import Awaited, NumberReward, gold_of, prompt_of
from verikit.base import Verifier
from verikit.types import Sample


class SlimeReward(Awaited, NumberReward):
    """Awaited by slime for a sample or a group."""

    async def __call__(self, args: Any, sample: Any, **kwargs: Any) -> Any:
        """Return the reward of a `slime.utils.types.Sample`, or a list's rewards. Unscored samples are marked."""
        group: Sequence[Any] = sample if isinstance(sample, list) else [sample]
        samples = [self.sample(each) for each in group]
        scores = await asyncio.gather(*map(self.score_sample, samples))
        self.watch_calls(scores)
        for each, score in zip(group, scores, strict=True):
            if score.value is None:
                each.remove_sample = True
                each.metadata = {**(each.metadata or {}), "unscored": f"{score.status}: {score.reason}"}
        rewards = self.rewards(samples, scores)
        return rewards if isinstance(sample, list) else rewards[0]

    def sample(self, told: Any) -> Sample:
        """Convert slime's sample: its label becomes the gold answer, and its metadata the meta."""
        meta = {"index": told.group_index, **(told.metadata if isinstance(told.metadata, dict) else {})}
        meta["completion_tokens"] = told.response_length
        return Sample(prompt_of(told.prompt), without_closing_tokens(told.response), gold_of(told.label), meta=meta)


def to_slime(
    verifier: str | Verifier,
    *,
    unscored: float | Literal["mean", "raise"] = "mean",
    tries: int = 1,
    name: str | None = None,
    echoes: bool = False,
) -> SlimeReward:
    """Make a custom reward for slime.

    Args:
        verifier: A verifier or its spec.
        unscored: The value of an unscored sample in its group's statistics (it is removed from the loss): `mean` of the
            group's scored samples, a number, or `raise`, which ends the run.
        tries: Maximum attempts to score a sample whose score is a timeout or an error.
        name: The function's `__name__`. None uses the verifier's.
        echoes: Whether to reward a formula copied from the question or an uncomputed answer; see `echo_guard`.

    Raises:
        SpecError: The spec can't be parsed.
    """
    return SlimeReward(verifier, name, unscored, echoes=echoes, tries=tries)
