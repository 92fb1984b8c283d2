"""Stops a run whose reward scores nothing: it would train on nothing, to its end, with loss 0.

Batches are counted by the training step, and single calls, which come without one, by their number.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from verikit.errors import Unscored
from verikit.types import Score

STEPS = 2
"""Steps in a row without any score that stop a run."""
PROMPTS = 4
"""Distinct prompts that these steps hold at least, once the run has had scores: a step of one prompt says little."""
CALLS = 1024
"""Single calls in a row without a score that stop a run."""


class Silence:
    """The samples since the last one that had a score. Not thread-safe: callers hold a lock.

    Args:
        name: The reward's, for the message.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._began = False
        """Whether anything was ever scored."""
        self._samples = 0
        self._steps: set[int] = set()
        self._prompts: set[Hashable] = set()

    def after_batch(self, groups: Sequence[Hashable], scores: Sequence[Score], step: int | None) -> None:
        """Count a batch.

        Args:
            groups: Of each sample, what tells its prompt.
            scores: Of each sample.
            step: The training step; None where the stack does not tell: each call with several prompts is one then.

        Raises:
            Unscored: nothing was scored in so many steps.
        """
        if self._heard(scores) or (step is None and len(set(groups)) < 2):
            return
        self._steps.add(len(self._steps) if step is None else step)
        self._prompts.update(groups)
        if len(self._steps) >= STEPS and (not self._began or len(self._prompts) >= PROMPTS):
            self._stop(f"in {len(self._steps)} steps", scores[-1])

    def after_call(self, score: Score) -> None:
        """Count a single call.

        Raises:
            Unscored: nothing was scored in so many calls.
        """
        if not self._heard([score]) and self._samples >= CALLS:
            self._stop("in a row", score)

    def _heard(self, scores: Sequence[Score]) -> bool:
        """Whether one of them has a score, by which all that was counted is forgotten."""
        if not scores or any(score.scored for score in scores):
            self._began = self._began or bool(scores)
            self._samples = 0
            self._steps.clear()
            self._prompts.clear()
            return True
        self._samples += len(scores)
        return False

    def _stop(self, span: str, last: Score) -> None:
        raise Unscored(
            f"{self.name} scored none of {self._samples} samples {span}. Last reason ({last.status}): {last.reason}",
            hint="check the reward on a sample with `verikit explain`",
        )
