"""Option letters: which of the offered letters does the text choose?"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from verikit.errors import UsageError
from verikit.text import accepted, boxes
from verikit.types import Sample, Score
from verikit.verifier import TextVerifier

# Every repetition is bounded, so that no text makes them backtrack far.
_LETTER = r"([A-Z])(?![A-Za-z0-9'’_^]|-\w)"
_LEAD = r"(?:\\(?:text|textbf|mathrm|mathbf)\s?\{|[\s:*$\"'`(\[{\\]){0,12}"
_STATED = re.compile(
    r"\b(?i:answer\s{0,3}(?:is|:|=)|(?:option|choice)\s{1,3}is)(?i:\s{0,3}(?:option|choice)\b)?" + _LEAD + _LETTER
)
_BARE = re.compile(r"(?i:option|choice)?" + _LEAD + _LETTER + r"[\s)\]}.:*$\"'`]{0,12}")
_CLOSING = re.compile(r"\bis\s{0,3}:?[\s*$]{0,4}\(([A-Z])\)[\s.*$]{0,8}$")
_SHORT = 200
_LED = re.compile(_LEAD + _LETTER + r"[)\]}*]{0,4}[.:)\]}*]\s*\S")


@dataclass(frozen=True)
class Choice(TextVerifier):
    """1.0 if the option letter the completion settles on is the gold's.

    Looked for in this order: the last box, the last "answer is X" (or "Answer: X"), a last line that is nothing but a
    letter, last words such as "is (X).", a completion of one short line that begins with "X." or "(X)". Nothing found
    is 0.0, never a guess. The letters on offer are those of the sample's `options` (else A to `last`); the gold is a
    letter.
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
        return [self._one(sample) for sample in samples]

    def _one(self, sample: Sample) -> Score:
        options = sample.meta.get("options")
        listed = isinstance(options, (list, tuple, dict)) and len(options)
        letters = string.ascii_uppercase[: listed or ord(self.last) - ord("A") + 1]
        golds = [gold.strip().strip("().").upper() for gold in accepted(sample.answer)]
        if not golds or not all(len(gold) == 1 and gold in letters for gold in golds):
            return Score.error(f"the gold {str(sample.answer)[:40]!r} is none of the option letters {letters}")
        letter, rule = chosen_letter(sample.completion, letters)
        if letter is None:
            return Score(0.0, reason=rule)
        return Score(float(letter in golds), answer=letter, reason=rule)


def chosen_letter(text: str, letters: str) -> tuple[str | None, str]:
    """The option letter a text settles on and the rule that found it; (None, why) where it settles on none."""
    for box in boxes(text)[-1:]:
        if (match := _BARE.fullmatch(box) or _LED.match(box)) and match[1] in letters:
            return match[1], "last box"
    stated = [match[1] for match in _STATED.finditer(text) if match[1] in letters]
    if stated:
        return stated[-1], "last stated answer"
    *before, line = text.strip().rsplit("\n", 2)[-2:]
    in_list = before and _LED.match(before[0])  # a list of options that was cut off after its last letter
    if not in_list and (match := _BARE.fullmatch(line)) and match[1] in letters:
        return match[1], "a letter alone on the last line"
    if (match := _CLOSING.search(line[-_SHORT:])) and match[1] in letters:
        return match[1], "the last words"
    if not before and len(line) <= _SHORT and (match := _LED.match(line)) and match[1] in letters:
        return match[1], "a short line that begins with a letter"
    return None, "no option letter found"
