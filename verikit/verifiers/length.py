"""Is the text of the right length?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.types import Sample, Score
from verikit.verifiers.gold import check_choice


@dataclass(frozen=True)
class Length(TextVerifier):
    """1.0 if the completion has at least `min` and at most `max` characters, words or lines."""

    min: int = 0
    """The least length that passes."""
    max: int | None = None
    """The greatest length that passes; None: any."""
    unit: Literal["chars", "words", "lines"] = "chars"
    """What is counted."""
    name = "length"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("unit", self.unit, ("chars", "words", "lines"))
        if self.min < 0 or (self.max is not None and self.max < self.min):
            raise UsageError(f"length needs 0 <= min <= max, not {self.min} and {self.max}")

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample by itself."""
        return [self._score_text(sample.completion) for sample in samples]

    def _score_text(self, text: str) -> Score:
        size = len(text)
        if self.unit == "words":
            size = sum(1 for _ in re.finditer(r"\S+", text))
        elif self.unit == "lines":
            size = len(text.splitlines())
        fits = size >= self.min and (self.max is None or size <= self.max)
        return Score(float(fits), reason=f"{size} {self.unit}")
