"""Shared by verifiers that measure text against references with another package: references, caps, similarity."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

from verikit.base import TextVerifier
from verikit.errors import MissingExtra, UsageError
from verikit.replies.text import NORMALIZERS, Normalizer, accepted
from verikit.types import Sample, Score
from verikit.verifiers.reading.gold import AnswerIn, taken


class TooLong(Exception):
    """The text is too long to be measured."""


@dataclass(frozen=True, kw_only=True)
class ReferenceVerifier(TextVerifier):
    """Measures the completion against the row's accepted answers, which are its references.

    A completion without text scores 0.0 (1.0 for an error rate, where less is better). A row without references is
    unscored.
    """

    extract: AnswerIn = "whole"
    """The part of the reply to measure: the `whole`, or the `stated`, `boxed`, `answer_tag` or `last_line` answer."""
    max_chars: int = 20_000
    """A longer text is 0.0 without being read (as a rate: above the possible maximum), since metrics take more than
    linear time."""
    package: ClassVar[str] = ""
    """The module that measures; the extra `text` installs it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_chars < 1:
            raise UsageError(f"max_chars must be at least 1, got {self.max_chars!r}")

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately.

        Raises:
            MissingExtra: The package that measures is not installed.
        """
        if find_spec(self.package) is None:
            raise MissingExtra(self.name, "text")
        return [self._score_sample(sample) for sample in samples]

    def score_missing(self, sample: Sample, reason: str) -> Score:
        """The score of a missing text."""
        return Score(self.no_text, reason=reason)

    @property
    def no_text(self) -> float:
        """The value if there is no text to measure; not 0 if less is better."""
        return 0.0

    def _score_sample(self, sample: Sample) -> Score:
        references = [text for text in accepted(sample.answer) if text.strip()]
        if not references:
            return Score.error("the row has no reference")
        if longest := next((text for text in references if len(text) > self.max_chars), ""):
            return Score.error(f"a reference has {len(longest)} characters, over the cap of {self.max_chars}")
        text, form = taken(sample.completion, self.extract)
        if text is None or not text.strip():
            return Score(self.no_text, reason=f"no text to measure ({form})")
        if len(text) > self.max_chars:
            return Score(
                self.unread(text, references), reason=f"{len(text)} characters, over the cap of {self.max_chars}"
            )
        try:
            value, told = self.measure(text, references)
        except TooLong as problem:
            return Score(self.unread(text, references), reason=str(problem))
        return Score(value, answer=text, reason=told)

    def unread(self, text: str, references: Sequence[str]) -> float:
        """The value of text over a cap."""
        return 0.0

    @abstractmethod
    def measure(self, text: str, references: Sequence[str]) -> tuple[float, str]:
        """The value of text, and its reason.

        Raises:
            TooLong: The text has too many words, or takes too much time.
        """


def normalized(references: Sequence[str], normalizer: Normalizer) -> list[str]:
    """The references that are not empty after normalization.

    Raises:
        ValueError: All are empty.
    """
    normalize = NORMALIZERS[normalizer]
    if not (normal := [short for given in references if (short := normalize(given))]):
        raise ValueError("the references are empty after normalization")
    return normal


@dataclass(frozen=True, kw_only=True)
class ErrorRate(ReferenceVerifier):
    """An error rate: 0 without errors, above 1 with more errors than the reference has units."""

    rate: bool = False
    """Return the rate itself, which is better if lower, instead of max(0, 1 - rate)."""

    @property
    def no_text(self) -> float:
        """The rate of empty text, which omits the whole reference; as a similarity, 0."""
        return float(self.rate)

    def unread(self, text: str, references: Sequence[str]) -> float:
        """A rate that text of this length can't exceed, so exceeding the cap never helps."""
        shortest = min(len(given.split()) for given in references)
        return max(1.0, len(text) / shortest) if self.rate else 0.0

    def measure(self, text: str, references: Sequence[str]) -> tuple[float, str]:
        """The rate against the references, or the similarity derived from it."""
        rate = self.error_rate(text, references)
        return (rate if self.rate else max(0.0, 1.0 - rate)), f"{self.name} {rate:.4g}"

    @abstractmethod
    def error_rate(self, text: str, references: Sequence[str]) -> float:
        """The error rate of text."""
