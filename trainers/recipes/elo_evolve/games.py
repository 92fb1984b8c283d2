"""One prompt's outputs against their opponents: outcomes, rewards, and whether the opponent mattered.

An output far longer than the opponent's answer loses without a judge call (the length guard). Unjudged comparisons are
unscored: they give no reward and enter no game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from typing import Literal

from verikit.base import Verifier
from verikit.judges.pairwise import within_words
from verikit.replies.split import split
from verikit.types import Group, Sample, Score

Objective = Literal["binary", "graded"]
OUTCOMES = {"win": 1.0, "tie": 0.5, "loss": 0.0}
CLOSE = 1e-6
"""Standardised rewards closer than this are equal."""


@dataclass(frozen=True, slots=True)
class OpponentBout:
    """One output compared with one opponent's answer."""

    opponent: str
    score: Score
    guarded: bool = False
    """Whether the length guard decided the outcome."""

    @property
    def outcome(self) -> float | None:
        """The policy's outcome: 1 a win, 0.5 a tie, 0 a loss; None: no verdict."""
        value = self.score.value
        return value if value is None else OUTCOMES.get(self.score.answer or "", min(max(value, 0.0), 1.0))

    def reward(self, objective: Objective) -> float | None:
        """1 for a win, otherwise 0 (binary, as in the paper), or the judge's own value (graded)."""
        if objective == "graded":
            return self.score.value
        return None if self.outcome is None else float(self.outcome > OUTCOMES["tie"])


def bouts(
    judge: Verifier, problem: Group, texts: Sequence[str], opponents: Sequence[tuple[str, str]], longer: int
) -> list[OpponentBout]:
    """Compare each output with its (opponent's name, opponent's answer), in one call of the judge.

    Args:
        judge: Compares a completion with `meta["opponent"]`.
        problem: The prompt's problem.
        texts: The outputs.
        opponents: One per output, in the same order.
        longer: Maximum number of extra words of an output compared to the answer; 0: no limit.
    """
    short = [
        not longer or within_words(split(text).reply, split(other).reply, longer)
        for text, (_, other) in zip(texts, opponents, strict=True)
    ]
    samples = [
        Sample(problem.prompt, text, problem.answer, problem.id, {**problem.meta, "opponent": other})
        for text, (_, other), kept in zip(texts, opponents, short, strict=True)
        if kept
    ]
    judged = iter(judge.score(samples))
    guard = Score(0.0, answer="loss", reason=f"more than {longer} words longer than the opponent's answer")
    return [
        OpponentBout(name, next(judged) if kept else guard, not kept)
        for (name, _), kept in zip(opponents, short, strict=True)
    ]


def results(played: Sequence[OpponentBout]) -> list[tuple[str, float]]:
    """Return one game per opponent of a prompt: (name, the policy's mean outcome over its scored outputs)."""
    scored: dict[str, list[float]] = {}
    for bout in played:
        if bout.outcome is not None:
            scored.setdefault(bout.opponent, []).append(bout.outcome)
    return [(name, fmean(outcomes)) for name, outcomes in scored.items()]


def same_lesson(values: Sequence[float | None], others: Sequence[float | None]) -> bool | None:
    """Return whether two opponents' rewards for the same outputs are equal after standardisation.

    None if neither is informative: fewer than two outputs scored against both, or all rewards equal in both.
    """
    pairs = [(a, b) for a, b in zip(values, others, strict=True) if a is not None and b is not None]
    first, second = standardised([a for a, _ in pairs]), standardised([b for _, b in pairs])
    if not any(first) and not any(second):
        return None
    return all(abs(a - b) < CLOSE for a, b in zip(first, second, strict=True))


def standardised(values: Sequence[float]) -> list[float]:
    """(x - mean) / sample standard deviation; zeros if all values are equal."""
    if len(values) < 2 or max(values) - min(values) < CLOSE:
        return [0.0] * len(values)
    mean = fmean(values)
    deviation = sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return [(value - mean) / deviation for value in values]
