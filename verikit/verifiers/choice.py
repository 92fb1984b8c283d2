"""Option letters: which of the offered letters does the text choose?"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from verikit.text import accepted, boxes
from verikit.types import Sample, Score
from verikit.verifier import Verifier

_LETTER = r"[\s:*$\"'`]*(?:\\?[({\[]|\\text\{|\\mathrm\{|\\mathbf\{|\\textbf\{)*\s*([A-Z])(?![A-Za-z0-9'’])"
_STATED = re.compile(r"\b(?i:answer|option|choice)\s*(?i:is|:|=)" + _LETTER)
_ALONE = re.compile(r"(?<![A-Za-z0-9'’\\])([A-Z])(?![A-Za-z0-9'’])")


@dataclass(frozen=True)
class Choice(Verifier):
    """1.0 if the option letter the completion settles on is the gold's.

    Looked for in this order: the last box, the last "answer is X" (or "Answer: X"), a lone letter on a short last line.
    Nothing found is 0.0, never a guess. The letters on offer are those of the sample's `options` (else A to `last`);
    the gold is a letter.
    """

    last: str = "J"
    """Last letter on offer where the sample does not list its options."""
    name = "choice"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample by itself."""
        return [self._one(sample) for sample in samples]

    def _one(self, sample: Sample) -> Score:
        options = sample.meta.get("options")
        count = len(options) if isinstance(options, Sequence) and options else ord(self.last) - ord("A") + 1
        letters = string.ascii_uppercase[:count]
        golds = [gold.strip().strip("().").upper() for gold in accepted(sample.answer)]
        if not golds or not all(len(gold) == 1 and gold in letters for gold in golds):
            return Score.error(f"the gold {str(sample.answer)[:40]!r} is none of the option letters {letters}")
        letter, rule = chosen_letter(sample.completion, letters)
        if letter is None:
            return Score(0.0, reason=rule)
        return Score(float(letter in golds), answer=letter, reason=rule)


def chosen_letter(text: str, letters: str) -> tuple[str | None, str]:
    """The option letter a text settles on and the rule that found it; (None, why) where it settles on none."""
    found = boxes(text)
    if found and (match := _last(_ALONE, found[-1], letters)):
        return match, "last box"
    if match := _last(_STATED, text, letters):
        return match, "stated answer"
    lines = text.strip().splitlines()
    if lines:
        alone = {m[1] for m in _ALONE.finditer(lines[-1]) if m[1] in letters}
        if len(alone) == 1 and len(lines[-1].split()) <= 4:
            return alone.pop(), "lone letter on the last line"
    return None, "no option letter found"


def _last(pattern: re.Pattern[str], text: str, letters: str) -> str | None:
    last = None
    for match in pattern.finditer(text):
        if match[1] in letters:
            last = match[1]
    return last
