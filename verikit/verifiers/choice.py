"""Option letters: which of the offered letters does the text choose?"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

from verikit.answers import choices
from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.replies.text import accepted
from verikit.types import Sample, Score


@dataclass(frozen=True)
class Choice(TextVerifier):
    """1.0 if the completion chooses the gold's option letter.

    Places are searched in this order:

    - the last box,
    - the last sentence, in a dozen languages, that calls a letter the answer, right or chosen ("The answer is (B).",
      "Option B is correct", "答案是B"),
    - a last line that is only a letter, or a completion of one line that starts with "B." or "(B)".

    Denied letters ("D is not correct", "not A but B") and alternatives ("A or B") are not choices. Neither are several
    letters if the gold answer is one letter. A missing choice is 0.0, never a guess. Letters come from the sample's
    `options`, or are A to `last`. An option's string is read as part of its letter. The gold answer is a letter, or
    several ("A, C") that must all be chosen.
    """

    last: str = "J"
    """Last option letter if the sample does not list its options."""
    name = "choice"

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.last) != 1 or self.last not in string.ascii_uppercase:
            raise UsageError(f"last must be one letter from A to Z, got {self.last!r}")

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_sample(sample) for sample in samples]

    def _score_sample(self, sample: Sample) -> Score:
        texts = _texts(sample.meta.get("options"))
        letters = string.ascii_uppercase[: len(texts) or ord(self.last) - ord("A") + 1]
        golds = [_letters(gold) for gold in accepted(sample.answer)]
        if not golds or not all(gold and gold <= set(letters) for gold in golds):
            return Score.error(
                f"the gold answer {str(sample.answer)[:40]!r} is not one of the option letters {letters}"
            )
        settled = choices.settled(sample.completion, letters, texts)
        if not settled.letters:
            return Score(0.0, reason=settled.rule)
        if len(settled.letters) > 1 and all(len(gold) == 1 for gold in golds):
            return Score(0.0, reason="the text settles on several letters")
        said = ", ".join(sorted(settled.letters))
        return Score(float(settled.letters in golds), answer=said, reason=settled.rule)


def _texts(options: object) -> list[str]:
    """The strings of a row's options, in the order of their letters."""
    if isinstance(options, dict):
        options = list(options.values())
    return [str(option) for option in options] if isinstance(options, list | tuple) else []


def _letters(gold: str) -> frozenset[str]:
    """The letters of a gold answer: one ("B", "(b)."), or several that must all be chosen ("A, C")."""
    plain = gold.strip().strip("().").upper()
    return frozenset(plain) if len(plain) == 1 else choices.several_letters(gold.strip().upper())
