"""Is the text of the right length?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.replies.unseen import unjoined, without_unseen
from verikit.types import Sample, Score
from verikit.verifiers.reading.gold import check_choice


@dataclass(frozen=True)
class Length(TextVerifier):
    """1.0 if the completion has at least `min` and at most `max` characters, words or lines.

    Invisible characters are not counted. Words joined by such a character are one word for `min` and several for `max`.
    """

    min: int = 0
    """Minimum length."""
    max: int | None = None
    """Maximum length. None: any."""
    unit: Literal["chars", "words", "lines"] = "chars"
    """The unit of length."""
    name = "length"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("unit", self.unit, ("chars", "words", "lines"))
        if self.min < 0 or (self.max is not None and self.max < self.min):
            raise UsageError(f"length requires 0 <= min <= max, got {self.min} and {self.max}")

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_text(sample.completion) for sample in samples]

    def _score_text(self, text: str) -> Score:
        shown = without_unseen(text)
        least, most = self._size(shown), self._size(unjoined(text) if self.unit == "words" else shown)
        if self.max is not None and most > self.max:
            return Score(0.0, reason=f"{most} {self.unit}")
        return Score(float(least >= self.min), reason=f"{least} {self.unit}")

    def _size(self, text: str) -> int:
        if self.unit == "chars":
            return len(text)
        return len(text.split() if self.unit == "words" else text.splitlines())
