"""ms-swift: `--external_plugins reward.py --reward_funcs verikit`, whose `orms["verikit"]` gives `to_swift("answer")`.

ms-swift calls an ORM with the completions by position, the rows' columns as lists and `trainer_state` (ms-swift 4.6,
`rl_core/grpo_algorithm.py`). The prompt is in `messages`, which end with the completion. None counts 0 in ms-swift's
weighted sum, even as the only reward. Only `--scale_rewards gdpo` excludes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verikit.adapters.reward import WhenUnscored
from verikit.adapters.trl import TRLReward
from verikit.base import Verifier


class SwiftReward(TRLReward):
    """Called by ms-swift with a batch. Each reward has its own class, whose name is used in ms-swift's logs."""

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float | None]:  # type: ignore[override]
        """Reward every completion."""
        turns = columns.pop("messages", None)
        prompts = [messages[:-1] for messages in turns] if turns else [""] * len(completions)
        lists = {key: column for key, column in columns.items() if isinstance(column, list)}
        ids = [row or None for row in lists.pop("response_token_ids", [None] * len(completions))]  # [] where not kept
        state = {"trainer_state": columns.get("trainer_state")}
        return self.rewards(*self.scored(prompts, completions, ids, lists | state))

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (vars(self),)


def to_swift(
    verifier: str | Verifier,
    *,
    answer: str | None = None,
    unscored: WhenUnscored = "mean",
    tries: int = 1,
    name: str | None = None,
    echoes: bool = False,
) -> SwiftReward:
    """Make an ORM for ms-swift's GRPO.

    Args:
        verifier: A verifier or its spec.
        answer: The column with the gold answer. None uses the first of answer, ground_truth, solution, gold, target,
            label.
        unscored: The reward of an unscored completion: `mean` of the prompt's scored completions in the batch, a
            number, `raise`, which ends the run, or None, for `--scale_rewards gdpo`.
        tries: Maximum attempts to score a completion whose score is a timeout or an error.
        name: The name in ms-swift's logs. None uses the verifier's.
        echoes: Whether to reward a formula copied from the question or an uncomputed answer; see `echo_guard`.

    Raises:
        SpecError: The spec can't be parsed.
    """
    return _named(vars(SwiftReward(verifier, name, unscored, answer, echoes=echoes, tries=tries)))


def _named(state: dict[str, Any]) -> SwiftReward:
    made: SwiftReward = object.__new__(type(state["__name__"], (SwiftReward,), {}))
    vars(made).update(state)
    return made
