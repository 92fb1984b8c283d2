"""Does the text repeat itself?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.replies.unseen import unjoined, without_unseen
from verikit.types import UNIT, Sample, Score
from verikit.verifiers.reading.gold import check_choice


@dataclass(frozen=True)
class Repetition(TextVerifier):
    """The fraction of distinct n-grams, in [0, 1]: 1.0 if no n-gram repeats, near 0 for a loop.

    A `penalty` p gives p times the repeated fraction, as a term of a sum: the repetition penalty of "Demystifying Long
    Chain-of-Thought Reasoning" (arXiv 2502.03373, appendix) and of open-r1.

    Invisible characters are ignored. The text is read without them, and with spaces instead of those that join words.
    The more repetitive of the two is scored.
    """

    n: int = 3
    """Length of the n-grams."""
    unit: Literal["words", "chars"] = "words"
    """n-grams of words (by space, in lower case), or of characters for languages without spaces."""
    penalty: float | None = None
    """A number below 0: the score of text that only repeats itself. None: the fraction of distinct n-grams."""
    at_least: float | None = None
    """Give 1.0 at this fraction of distinct n-grams or more, and 0.0 below. None: the fraction itself."""
    name = "repetition"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("unit", self.unit, ("words", "chars"))
        if self.n < 1:
            raise UsageError(f"n must be at least 1, got {self.n!r}")
        if self.penalty is not None and not -math.inf < self.penalty < 0:
            raise UsageError(f"penalty must be a number below 0, got {self.penalty!r}")
        if self.at_least is not None and (self.penalty is not None or not 0 <= self.at_least <= 1):
            raise UsageError("at_least must be in [0, 1], and can't be combined with penalty")

    @property
    def bounds(self) -> tuple[float, float]:
        """The penalty and 0, or 0 and 1."""
        return UNIT if self.penalty is None else (self.penalty, 0.0)

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_sample(sample.completion) for sample in samples]

    def _score_sample(self, text: str) -> Score:
        readings = dict.fromkeys((without_unseen(text), unjoined(text)))
        share, distinct, total = min(map(self._distinct, readings))
        told = f"{distinct} of {total} {self.n}-grams are distinct"
        if self.penalty is not None:
            return Score((1 - share) * self.penalty, reason=told)
        return Score(share if self.at_least is None else float(share >= self.at_least), reason=told)

    def _distinct(self, text: str) -> tuple[float, int, int]:
        """The fraction of distinct n-grams, their number, and the number of all n-grams."""
        words = text.lower().split()
        pieces: Sequence[str] = words if self.unit == "words" else "".join(words)
        total = max(len(pieces) - self.n + 1, 0)
        grams = zip(*(islice(pieces, start, None) for start in range(self.n)), strict=False)
        distinct = len(set(grams)) if total else 0
        return (distinct / total if total else 1.0), distinct, total
