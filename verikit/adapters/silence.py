"""Stops a run whose reward scores nothing. It would otherwise train on nothing to the end, with loss 0.

Batches are counted per training step. Single calls come without a step and are counted one by one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from verikit.errors import Unscored
from verikit.types import Score

STEPS = 2
"""Number of consecutive unscored steps that stop a run."""
PROMPTS = 4
"""Minimum number of distinct prompts in these steps once the run has had scores: one prompt is little evidence."""
CALLS = 1024
"""Number of consecutive unscored calls that stop a run."""


class Silence:
    """Counts the samples since the last scored one. Not thread-safe: callers must acquire a lock.

    Args:
        name: The reward's name, for the message.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._began = False
        """Whether any sample has been scored so far."""
        self._samples = 0
        self._steps: set[int] = set()
        self._prompts: set[Hashable] = set()

    def after_batch(self, groups: Sequence[Hashable], scores: Sequence[Score], step: int | None) -> None:
        """Count a batch.

        Args:
            groups: Identifies each sample's prompt.
            scores: The score of each sample.
            step: The training step. If the stack does not pass it (None), each call with several prompts counts as a
                step.

        Raises:
            Unscored: `STEPS` consecutive steps are unscored.
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
            Unscored: `CALLS` consecutive calls are unscored.
        """
        if not self._heard([score]) and self._samples >= CALLS:
            self._stop("in a row", score)

    def _heard(self, scores: Sequence[Score]) -> bool:
        """Whether any sample is scored. If so, all counts are reset."""
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
