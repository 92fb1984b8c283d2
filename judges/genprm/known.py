"""Reviews of partial solutions. A solution with an added step is then reviewed only from that step."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from verikit.judges.genprm.notebook import Notebook
from verikit.judges.genprm.review import Path, Solution, StepReview
from verikit.judges.genprm.waves import Walker

MOST_CHARS = 100_000_000
"""Maximum characters of the stored reviews. The least recently used reviews are evicted first."""
_Held = tuple[tuple[StepReview, ...], Notebook]


class KnownReviews:
    """The paths of solutions reviewed earlier in this process. Its threads share them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paths: OrderedDict[tuple[Solution, int], _Held] = OrderedDict()
        self._chars = 0

    def __reduce__(self) -> tuple[type[KnownReviews], tuple[()]]:
        return (KnownReviews, ())

    def find(self, solution: Solution, number: int, fresh: Notebook) -> tuple[Path, Notebook]:
        """The path `number` through the longest known start of a solution. An empty path if no start is known."""
        with self._lock:
            for count in range(len(solution.steps), 0, -1):
                key = Solution(solution.problem, solution.steps[:count]), number
                if (held := self._paths.get(key)) is not None:
                    self._paths.move_to_end(key)
                    return Path(list(held[0])), held[1].copy()
        return Path(), fresh

    def keep(self, solution: Solution, walkers: Sequence[Walker]) -> None:
        """Store the paths of a reviewed solution, except failed ones."""
        with self._lock:
            for number, walker in enumerate(walkers):
                if walker.path.error is None and (solution, number) not in self._paths:
                    self._paths[solution, number] = tuple(walker.path.steps), walker.notebook.copy()
                    self._chars += _size(walker.path.steps)
            while self._chars > MOST_CHARS:
                _, (steps, _) = self._paths.popitem(last=False)
                self._chars -= _size(steps)


def _size(steps: Sequence[StepReview]) -> int:
    return sum(len(step.text) for step in steps)
