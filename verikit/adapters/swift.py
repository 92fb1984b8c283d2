"""ms-swift: `--external_plugins reward.py --reward_funcs verikit`, whose `orms["verikit"]` gives `to_swift("answer")`.

An ORM is called with the completions by position, the rows' columns as lists and `trainer_state` (ms-swift 4.6,
`rl_core/grpo_algorithm.py`). The prompt is in `messages`, which end with the completion. None counts 0 in ms-swift's
weighted sum, also where it stands alone; only `--scale_rewards gdpo` leaves it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verikit.adapters.reward import WhenUnscored
from verikit.adapters.trl import TRLReward
from verikit.base import Verifier


class SwiftReward(TRLReward):
    """Called by ms-swift with a batch. Each is of a class of its own name, which ms-swift logs it under."""

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
        answer: The column with the gold; None: the first of answer, ground_truth, solution, gold, target, label.
        unscored: The reward of a completion without a score: `mean`, that of the prompt's scored completions in the
            batch; a number; `raise`, which ends the run; or None, for `--scale_rewards gdpo`.
        tries: How often a completion is scored whose score is a time-out or an error.
        name: Under which ms-swift logs it; None: the verifier's.
        echoes: Whether a formula of the question, or an answer left to compute, may be paid; see `echo_guard`.

    Raises:
        SpecError: the spec can't be read.
    """
    return _named(vars(SwiftReward(verifier, name, unscored, answer, echoes=echoes, tries=tries)))


def _named(state: dict[str, Any]) -> SwiftReward:
    made: SwiftReward = object.__new__(type(state["__name__"], (SwiftReward,), {}))
    vars(made).update(state)
    return made
