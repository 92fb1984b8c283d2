"""What one step's rounds leave: challenges with their attempts, questions with their answers, and metrics of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from verikit.engines.types import Generation
from verikit.trainers.recipes.spice.formats import CorpusQuestion, QuestionKind
from verikit.types import Score


@dataclass(frozen=True, slots=True)
class Attempt:
    """One reply of the Challenger, and the question it makes if it is valid."""

    generation: Generation
    number: int
    """Of the output."""
    question: CorpusQuestion | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Challenge:
    """A document, the format asked for, and the attempts so far."""

    document: str
    kind: QuestionKind
    attempts: list[Attempt]

    @property
    def valid(self) -> bool:
        """Whether one attempt is valid."""
        return any(attempt.question is not None for attempt in self.attempts)


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question, its answers and their scores."""

    question: CorpusQuestion
    generation: Generation
    scores: Sequence[Score]

    @property
    def rate(self) -> float | None:
        """The share of right answers among those that are scored."""
        values = [score.value for score in self.scores if score.value is not None]
        return fmean(values) if values else None


def subsample(attempts: Sequence[Attempt], size: int, draw: random.Random) -> list[Attempt]:
    """Draw a group that keeps the share of valid attempts, and at least one valid if there is any."""
    valid = [attempt for attempt in attempts if attempt.question is not None]
    invalid = [attempt for attempt in attempts if attempt.question is None]
    size = min(size, len(attempts))
    if not size:
        return []
    wanted = round(size * len(valid) / len(attempts))
    wanted = min(max(wanted, min(1, len(valid)), size - len(invalid)), len(valid))
    return draw.sample(valid, wanted) + draw.sample(invalid, size - wanted)


def round_metrics(challenges: Sequence[Challenge], asked: Sequence[AnsweredQuestion]) -> dict[str, float]:
    """Return the Challenger's valid rate, the formats it works in, and the Reasoner's solve rate."""
    attempts = [attempt for challenge in challenges for attempt in challenge.attempts]
    result = {
        "attempts": len(attempts) / len(challenges),
        "challenger/valid": fmean(attempt.question is not None for attempt in attempts) if attempts else 0.0,
        "challenger/without": fmean(not challenge.valid for challenge in challenges),
        "format/mcq": fmean(challenge.kind.format == "mcq" for challenge in challenges),
    }
    rates = [answered.rate for answered in asked if answered.rate is not None]
    if rates:
        result["reasoner/solve_rate"] = fmean(rates)
        result["reasoner/between"] = fmean(0 < rate < 1 for rate in rates)
    return result
