"""What is reviewed (`Solution`) and what comes out (`Review`: paths of reviewed steps)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from verikit.errors import EngineError, SandboxError
from verikit.judges.genprm.notebook import Cell

How = Literal["verified", "analysis", "direct", "at the limit", "forced"]
"""What a verdict was reached by. `at the limit`: calls or tokens were used up and the judgement was asked for.
`forced`: a judgement held no verdict, and Yes or No was read behind a box opened for it."""


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
    """P(Yes) / (P(Yes) + P(No)); None where there is no verdict."""
    label: bool | None = None
    """Whether Yes was written."""
    how: How = "verified"
    reason: str = ""
    """Why there is no reward."""
    cells: tuple[Cell, ...] = ()
    """The code that was run."""
    analysis: str = ""
    """What was written before the code."""
    usage: Mapping[str, float] = field(default_factory=dict)
    """`prompt_tokens`, `completion_tokens`, `calls` and `code_runs` of this step."""


@dataclass(slots=True)
class Path:
    """One reviewer's way through a solution; its history is its own."""

    steps: list[StepReview] = field(default_factory=list)
    error: EngineError | SandboxError | None = None
    """What of ours failed on the way; the steps before it are kept."""


@dataclass(frozen=True, slots=True)
class Review:
    """All paths through one solution."""

    solution: Solution
    paths: Sequence[Path]

    @property
    def error(self) -> EngineError | SandboxError | None:
        """What of ours failed: then no mean over paths is that of a whole review."""
        return next((path.error for path in self.paths if path.error is not None), None)

    def rewards(self, index: int) -> list[float]:
        """The rewards of a step (counted from 0), of the paths that reached a verdict."""
        given = [path.steps[index].reward for path in self.paths if index < len(path.steps)]
        return [reward for reward in given if reward is not None]

    def reward(self, index: int) -> float | None:
        """The mean reward of a step over its paths; None where none reached a verdict."""
        rewards = self.rewards(index)
        return fmean(rewards) if rewards else None

    def first_error(self, threshold: float = 0.5) -> int:
        """The first step (counted from 0) whose reward is below the threshold; -1 where none is."""
        rewards = [self.reward(index) for index in range(len(self.solution.steps))]
        return next((i for i, reward in enumerate(rewards) if reward is not None and reward < threshold), -1)

    def first_errors(self, threshold: float = 0.5) -> list[int]:
        """Each path's own first error: what an index vote counts."""
        return [Review(self.solution, [path]).first_error(threshold) for path in self.paths]
