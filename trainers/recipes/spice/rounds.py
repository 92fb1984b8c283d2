"""The result of a document's rollout: attempts, questions with their answers, and their metrics."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from verikit.engines.types import Generation
from verikit.errors import EngineError
from verikit.trainers.recipes.spice.formats import CorpusQuestion, QuestionKind
from verikit.types import Score


@dataclass(frozen=True, slots=True)
class Attempt:
    """One reply of the Challenger, and its question if it is valid."""

    generation: Generation
    number: int
    """Index of the output."""
    question: CorpusQuestion | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Challenge:
    """A document, the requested format, and the attempts."""

    document: str
    kind: QuestionKind
    attempts: list[Attempt] = field(default_factory=list)
    lost: list[EngineError] = field(default_factory=list)
    """Failed requests."""

    @property
    def valid(self) -> list[Attempt]:
        """The valid attempts."""
        return [attempt for attempt in self.attempts if attempt.question is not None]


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question with its answers and their scores."""

    question: CorpusQuestion
    generation: Generation
    scores: Sequence[Score]

    @property
    def rate(self) -> float | None:
        """The fraction of right answers among the scored ones."""
        values = [score.value for score in self.scores if score.value is not None]
        return fmean(values) if values else None


@dataclass(frozen=True, slots=True)
class DocumentRound:
    """The result for one document."""

    kind: QuestionKind
    attempts: int
    valid: int
    lost: Sequence[EngineError]
    group: Sequence[Attempt]
    """The attempts to train on."""
    answered: Sequence[AnsweredQuestion | None]
    """Answers to the valid attempts, parallel to `group`."""
    chosen: AnsweredQuestion | None
    """The question that trains the Reasoner."""


def subsample(attempts: Sequence[Attempt], size: int, draw: random.Random) -> list[Attempt]:
    """Sample a group that preserves the fraction of valid attempts, with at least one valid if there is any."""
    valid = [attempt for attempt in attempts if attempt.question is not None]
    invalid = [attempt for attempt in attempts if attempt.question is None]
    size = min(size, len(attempts))
    if not size:
        return []
    wanted = round(size * len(valid) / len(attempts))
    wanted = min(max(wanted, min(1, len(valid)), size - len(invalid)), len(valid))
    return draw.sample(valid, wanted) + draw.sample(invalid, size - wanted)


def round_metrics(rounds: Sequence[DocumentRound]) -> dict[str, float]:
    """Return the Challenger's valid rate, the formats it uses, and the Reasoner's solve rate."""
    attempts = sum(found.attempts for found in rounds)
    return {
        "attempts": attempts / len(rounds),
        "challenger/valid": sum(found.valid for found in rounds) / attempts if attempts else 0.0,
        "challenger/without": fmean(not found.valid for found in rounds),
        "format/mcq": fmean(found.kind.format == "mcq" for found in rounds),
    } | _reasoner_metrics(rounds)


def _reasoner_metrics(rounds: Sequence[DocumentRound]) -> dict[str, float]:
    answered = [question for found in rounds for question in found.answered if question is not None]
    rates = [question.rate for question in answered if question.rate is not None]
    if not rates:
        return {}
    return {"reasoner/solve_rate": fmean(rates), "reasoner/between": fmean(0 < rate < 1 for rate in rates)}
