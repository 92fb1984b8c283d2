"""A reward for what has no score, in stacks that take a number for every sample and can't leave one out.

The mean of the same prompt's other rewards gives it an advantage of 0 in group-relative training (GRPO, RLOO and their
like), so that the policy learns nothing from it; the spread of its group shrinks a little. A number is a choice of the
user's, and `raise` refuses to go on.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from statistics import fmean

from verikit.errors import Unscored, UsageError
from verikit.types import Score

GROUPS = 4096
"""Prompts whose mean is remembered."""
_log = logging.getLogger("verikit")


class StandIn:
    """Numbers for scores that have none, and how many there were; may be asked from several threads.

    Args:
        unscored: A number, `"mean"` of the group, or `"raise"`.
        name: What to call the reward in messages.

    Raises:
        UsageError: `unscored` is neither.
    """

    def __init__(self, unscored: float | str, name: str) -> None:
        if isinstance(unscored, str) and unscored not in ("mean", "raise"):
            raise UsageError(f"unscored is a number, 'mean' or 'raise', not {unscored!r}")
        self.unscored = unscored
        self.name = name
        self.lost = 0
        """Samples without a score so far."""
        self.seen = 0
        self._means: OrderedDict[Hashable, tuple[int, float]] = OrderedDict()
        self._overall = (0, 0.0)
        self._lock = threading.Lock()

    def values(self, scores: Sequence[Score], groups: Sequence[Hashable]) -> list[float]:
        """A number for every score; `groups` says which prompt each belongs to.

        A group's mean is that of its scores in this call; where none has a value, of those seen before; else of all.

        Raises:
            Unscored: one has none, and `raise` was asked for.
        """
        with self._lock:
            self._count(scores)
            here: dict[Hashable, list[float]] = {}
            for score, group in zip(scores, groups, strict=True):
                if score.value is not None:
                    here.setdefault(group, []).append(score.value)
            for group, values in here.items():
                self._remember(group, values)
            return [
                self._mean(group, here) if score.value is None else score.value
                for score, group in zip(scores, groups, strict=True)
            ]

    def _count(self, scores: Sequence[Score]) -> None:
        lost = [score for score in scores if score.value is None]
        if lost and self.unscored == "raise":
            raise Unscored(f"{self.name}: {lost[0].status}: {lost[0].reason}")
        if lost and not self.lost:
            _log.warning("%s could not score a sample (%s): %s", self.name, lost[0].status, lost[0].reason)
        self.lost += len(lost)
        self.seen += len(scores)

    def _remember(self, group: Hashable, values: Sequence[float]) -> None:
        self._means[group] = _added(self._means.pop(group, (0, 0.0)), values)
        self._overall = _added(self._overall, values)
        if len(self._means) > GROUPS:
            self._means.popitem(last=False)

    def _mean(self, group: Hashable, here: dict[Hashable, list[float]]) -> float:
        if not isinstance(self.unscored, str):
            return self.unscored
        if group in here:
            return fmean(here[group])
        count, total = self._means.get(group, self._overall)
        return total / count if count else 0.0


def _added(before: tuple[int, float], values: Sequence[float]) -> tuple[int, float]:
    return before[0] + len(values), before[1] + sum(values)
