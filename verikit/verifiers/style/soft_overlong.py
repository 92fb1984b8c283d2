"""A soft punishment for completions that are nearly too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.replies.split import Reads
from verikit.types import Sample, Score
from verikit.verifiers.reading.gold import check_choice
from verikit.verifiers.style.token_count import UNITS, LengthUnit, NoCount, length_of


@dataclass(frozen=True)
class SoftOverlong(TextVerifier):
    """DAPO's soft overlong punishment (arXiv 2503.14476, equation 13), in [-1, 0], to be added to a reward.

    0 up to `max_length - cache` tokens, then linear down to -1 at `max_length`, and -1 beyond. The sample carries its
    tokens (`completion_tokens`, `usage.completion_tokens`, `completion_ids`, …), or `tokenizer` counts them.
    """

    max_length: int = 20480
    """L_max: the length with the full punishment."""
    cache: int = 4096
    """L_cache: the length of the interval with a growing punishment."""
    unit: LengthUnit = "tokens"
    """`tokens`, `words` or `chars`."""
    tokenizer: str = ""
    """The folder of a model, or a `tokenizer.json`. "": the sample carries the count."""
    reads: Reads = field(default="all", kw_only=True)  # type: ignore[misc]  # pyright: ignore
    name = "soft_overlong"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("unit", self.unit, UNITS)
        if not 0 < self.cache <= self.max_length:
            raise UsageError(f"soft_overlong requires 0 < cache <= max_length, got {self.cache} and {self.max_length}")

    @property
    def bounds(self) -> tuple[float, float]:
        """-1 and 0."""
        return -1.0, 0.0

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_sample(sample) for sample in samples]

    def _score_sample(self, sample: Sample) -> Score:
        try:
            length = length_of(sample, self.unit, self.tokenizer)
        except NoCount as problem:
            return Score.error(str(problem))
        value = min(0.0, max(-1.0, (self.max_length - self.cache - length) / self.cache))
        return Score(value, reason=f"{length} {self.unit}")
