"""Option letters: which of the offered letters does the text choose?"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

from verikit.answers import choices
from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.text import accepted
from verikit.types import Sample, Score


@dataclass(frozen=True)
class Choice(TextVerifier):
    """1.0 if the option letter the completion settles on is the gold's.

    Looked for in this order: the last box; the last sentence that calls a letter the answer, right or chosen ("The
    answer is (B).", "Option B is correct", "答案是B"), in a dozen languages; a last line that is nothing but a letter,
    or a completion of one line that begins with "B." or "(B)". Denied letters ("D is not correct", "not A but B"),
    several letters and alternatives ("A or B") are no choice. Nothing found is 0.0, never a guess. The letters on
    offer are those of the sample's `options` (else A to `last`); the gold is a letter.
    """

    last: str = "J"
    """Last letter on offer where the sample does not list its options."""
    name = "choice"

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.last) != 1 or self.last not in string.ascii_uppercase:
            raise UsageError(f"last must be one letter from A to Z, not {self.last!r}")

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample by itself."""
        return [self._score_sample(sample) for sample in samples]

    def _score_sample(self, sample: Sample) -> Score:
        options = sample.meta.get("options")
        listed = isinstance(options, (list, tuple, dict)) and len(options)
        letters = string.ascii_uppercase[: listed or ord(self.last) - ord("A") + 1]
        golds = [gold.strip().strip("().").upper() for gold in accepted(sample.answer)]
        if not golds or not all(len(gold) == 1 and gold in letters for gold in golds):
            return Score.error(f"the gold {str(sample.answer)[:40]!r} is none of the option letters {letters}")
        settled = choices.settled(sample.completion, letters)
        if not settled.letter:
            rule = "the text settles on several letters" if settled.letters else settled.rule
            return Score(0.0, reason=rule)
        return Score(float(settled.letter in golds), answer=settled.letter, reason=settled.rule)
