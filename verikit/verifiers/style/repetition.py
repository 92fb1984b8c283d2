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
    """The share of n-grams that are distinct, in [0, 1]: 1.0 for no n-gram twice, near 0 for a loop.

    With a `penalty` p it is p times the share that is not, as a term of a sum: the repetition penalty of "Demystifying
    Long Chain-of-Thought Reasoning" (arXiv 2502.03373, appendix) and of open-r1.

    Characters that show nothing don't count: of the text without them, and of the text with a space where they join
    words, the one that repeats itself more is scored.
    """

    n: int = 3
    """Length of the n-grams."""
    unit: Literal["words", "chars"] = "words"
    """n-grams of words (by space, in lower case), or of characters where words are not set apart by spaces."""
    penalty: float | None = None
    """A number below 0 that a text of nothing but repetition would get; None: the share of distinct n-grams."""
    at_least: float | None = None
    """Give 1.0 from this share of distinct n-grams on, and 0.0 below; None: the share itself."""
    name = "repetition"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("unit", self.unit, ("words", "chars"))
        if self.n < 1:
            raise UsageError(f"n is at least 1, not {self.n!r}")
        if self.penalty is not None and not -math.inf < self.penalty < 0:
            raise UsageError(f"penalty is a number below 0, not {self.penalty!r}")
        if self.at_least is not None and (self.penalty is not None or not 0 <= self.at_least <= 1):
            raise UsageError("at_least is in [0, 1], and not beside a penalty")

    @property
    def bounds(self) -> tuple[float, float]:
        """The penalty and 0, or 0 and 1."""
        return UNIT if self.penalty is None else (self.penalty, 0.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample by itself."""
        return [self._score_sample(sample.completion) for sample in samples]

    def _score_sample(self, text: str) -> Score:
        readings = dict.fromkeys((without_unseen(text), unjoined(text)))
        share, distinct, total = min(map(self._distinct, readings))
        told = f"{distinct} of {total} {self.n}-grams are distinct"
        if self.penalty is not None:
            return Score((1 - share) * self.penalty, reason=told)
        return Score(share if self.at_least is None else float(share >= self.at_least), reason=told)

    def _distinct(self, text: str) -> tuple[float, int, int]:
        """The share of n-grams that are distinct, how many these are, and of how many."""
        words = text.lower().split()
        pieces: Sequence[str] = words if self.unit == "words" else "".join(words)
        total = max(len(pieces) - self.n + 1, 0)
        grams = zip(*(islice(pieces, start, None) for start in range(self.n)), strict=False)
        distinct = len(set(grams)) if total else 0
        return (distinct / total if total else 1.0), distinct, total
