"""A reward by correctness and length: short right answers and long wrong ones score higher."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from verikit.base import Verifier
from verikit.compose.combine import Part, as_verifier
from verikit.errors import UsageError
from verikit.platform.numbers import span
from verikit.replies.split import Reads
from verikit.replies.views import seen
from verikit.types import Sample, Score
from verikit.verifiers.reading.gold import check_choice
from verikit.verifiers.style.token_count import UNITS, LengthUnit, NoCount, length_of


@dataclass(frozen=True)
class CosineLength(Verifier):
    """A verifier's yes or no, scaled by length; see `cosine_length`."""

    part: Verifier
    max_length: int
    right: tuple[float, float]
    wrong: tuple[float, float]
    exceeded: float | None
    unit: LengthUnit
    tokenizer: str
    name = "cosine_length"
    reads: ClassVar[Reads | None] = None

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of the rewards."""
        return span(*self.right, *self.wrong, *(() if self.exceeded is None else (self.exceeded,)))

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score by the part, then by length; samples that the part does not score are unscored."""
        return [
            self._score_sample(sample, score) for sample, score in zip(samples, self.part.score(samples), strict=True)
        ]

    def _score_sample(self, sample: Sample, score: Score) -> Score:
        parts = {self.part.name: score}
        if not score.scored:
            return Score(None, score.status, answer=score.answer, reason=score.reason, parts=parts)
        try:
            length = length_of(seen(sample, "all")[0], self.unit, self.tokenizer)
        except NoCount as problem:
            return Score.error(str(problem), answer=score.answer, parts=parts)
        short, long = self.right if score.passed else self.wrong
        if length > self.max_length and self.exceeded is not None:
            value = self.exceeded
        else:
            progress = min(length / self.max_length, 1.0)
            value = long + (short - long) * (1 + math.cos(math.pi * progress)) / 2
        told = f"{'right' if score.passed else 'wrong'}, {length} {self.unit}"
        return Score(value, answer=score.answer, reason=told, parts=parts)

    def equal(self, a: str, b: str) -> bool | None:
        """Delegate to the part."""
        return self.part.equal(a, b)

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """Delegate to the part."""
        return self.part.keys(answer)


def cosine_length(
    part: Part,
    max_length: int = 1000,
    right: tuple[float, float] = (1.0, 0.5),
    wrong: tuple[float, float] = (-1.0, -0.5),
    exceeded: float | None = None,
    unit: LengthUnit = "chars",
    tokenizer: str = "",
) -> Verifier:
    """The cosine reward of "Demystifying Long Chain-of-Thought Reasoning" (arXiv 2502.03373).

    The defaults give open-r1's `get_cosine_scaled_reward`. The reward follows half a cosine from the value of an empty
    completion to the value of one of `max_length`. Thoughts are included in the length.

    Args:
        part: A verifier that decides whether the completion is right (0.5 or more).
        max_length: The reward is constant beyond this length.
        right: The rewards of a right completion of length 0, and of `max_length`.
        wrong: The same for a wrong one.
        exceeded: The reward of a completion longer than `max_length`, right or wrong. None: the reward at `max_length`.
        unit: `chars` (open-r1), `words` or `tokens`, which the sample carries or `tokenizer` counts.
        tokenizer: The folder of a model, or a `tokenizer.json`.

    Raises:
        UsageError: The length is not positive, or a reward is not a finite number.
    """
    check_choice("unit", unit, UNITS)
    if not max_length > 0:
        raise UsageError(f"max_length must be at least 1, got {max_length!r}")
    right, wrong = tuple(right), tuple(wrong)  # type: ignore[assignment]
    rewards = [*right, *wrong, *([] if exceeded is None else [exceeded])]
    if (len(right), len(wrong)) != (2, 2) or not all(math.isfinite(reward) for reward in rewards):
        raise UsageError("right and wrong are two finite numbers each: for no length and for the whole length")
    return CosineLength(as_verifier(part), max_length, right, wrong, exceeded, unit, tokenizer)
