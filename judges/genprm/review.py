"""The input of a review (`Solution`) and its result (`Review`: paths of reviewed steps)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from verikit.errors import EngineError, SandboxError
from verikit.judges.genprm.notebook import Cell

How = Literal["verified", "analysis", "direct", "at the limit", "forced"]
"""How a verdict was reached.

`at the limit`: calls or tokens were used up, and the judgement was requested. `forced`: a judgement had no verdict, and
Yes or No was read after a box opened for it.
"""


@dataclass(frozen=True, slots=True)
class Solution:
    """A problem and the steps of one solution to it."""

    problem: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepReview:
    """One path's review of one step."""

    text: str
    """The reviewer's whole turn: rationale, code, outputs, judgement."""
    reward: float | None
    """P(Yes) / (P(Yes) + P(No)). None if there is no verdict."""
    label: bool | None = None
    """Whether Yes was written."""
    how: How = "verified"
    reason: str = ""
    """Why there is no reward."""
    cells: tuple[Cell, ...] = ()
    """The code that was run."""
    analysis: str = ""
    """The text before the code."""
    usage: Mapping[str, float] = field(default_factory=dict)
    """`prompt_tokens`, `completion_tokens`, `calls` and `code_runs` of this step."""


@dataclass(slots=True)
class Path:
    """One reviewer's path through a solution, with its own history."""

    steps: list[StepReview] = field(default_factory=list)
    error: EngineError | SandboxError | None = None
    """The engine or sandbox error that stopped the path. Earlier steps stay."""


@dataclass(frozen=True, slots=True)
class Review:
    """All paths through one solution."""

    solution: Solution
    paths: Sequence[Path]

    @property
    def error(self) -> EngineError | SandboxError | None:
        """The first engine or sandbox error of a path. A mean over paths is then not of a whole review."""
        return next((path.error for path in self.paths if path.error is not None), None)

    def rewards(self, index: int) -> list[float]:
        """The rewards of a step (counted from 0), for the paths that reached a verdict."""
        given = [path.steps[index].reward for path in self.paths if index < len(path.steps)]
        return [reward for reward in given if reward is not None]

    def reward(self, index: int) -> float | None:
        """The mean reward of a step over its paths. None if none reached a verdict."""
        rewards = self.rewards(index)
        return fmean(rewards) if rewards else None

    def first_error(self, threshold: float = 0.5) -> int:
        """The first step (counted from 0) whose reward is below the threshold, or -1."""
        rewards = [self.reward(index) for index in range(len(self.solution.steps))]
        return next((i for i, reward in enumerate(rewards) if reward is not None and reward < threshold), -1)

    def first_errors(self, threshold: float = 0.5) -> list[int]:
        """Each path's first error, which an index vote counts."""
        return [Review(self.solution, [path]).first_error(threshold) for path in self.paths]
