"""Compares the last number of a reply with the gold answer, within a tolerance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

from verikit.answers.claims.roles import role
from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.replies.text import accepted
from verikit.types import Sample, Score
from verikit.verifiers.reading.gold import AnswerIn, check_choice, taken
from verikit.verifiers.reading.stated import stands

# A sign belongs to the number unless something comes right before it: "x=-5" is negative, "10-20" a range.
_NUMBER = re.compile(
    r"(?:(?<![\w)\]}])[-+−])?"
    r"(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|(?<!\d)\.\d+)(?:[eE][-+−]?\d+)?(?:/\d+)?"
)
_MAX_END = 1_000
_MAX_DIGITS = 400
_MAX_EXPONENT = 999


@dataclass(frozen=True)
class Numeric(TextVerifier):
    """1.0 if the last number of the answer is within `abs_tol` or `rel_tol` of the gold; exact by default.

    Numbers that the reply denies, questions, or offers as one of several ("3, or maybe 4") are not answers.
    """

    rel_tol: float = 0.0
    """Allowed |answer - gold| / |gold|."""
    abs_tol: float = 0.0
    """Allowed |answer - gold|."""
    extract: AnswerIn = "stated"
    """Source of the number: the answer that the reply has `stated`, or the whole reply if it does not state one; or
    another place."""
    name = "numeric"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("extract", self.extract, get_args(AnswerIn))
        if not (0 <= self.rel_tol < 1 and 0 <= self.abs_tol < float("inf")):
            raise UsageError("tolerances must be at least 0, and rel_tol below 1")

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_sample(sample) for sample in samples]

    def _score_sample(self, sample: Sample) -> Score:
        golds = map(last_number, accepted(sample.answer))
        known = [gold[1] for gold in golds if gold is not None]
        if not known:
            return Score.error(f"the gold answer {str(sample.answer)[:40]!r} contains no readable number")
        answer, form = taken(sample.completion, self.extract)
        if answer is not None and self.extract == "stated":
            answer = _without_denied_end(answer)
        found = None if answer is None else last_number(answer)
        if found is None or answer is None:
            return Score(0.0, reason=f"no number found ({form}), or the last one is over the caps")
        text, value = found
        return self._score_number(answer, text, value, known)

    def _score_number(self, answer: str, text: str, value: Fraction, golds: Sequence[Fraction]) -> Score:
        end = answer.rindex(text) + len(text)
        if self.extract == "stated" and not stands(answer, end - len(text), end):
            return Score(0.0, answer=text, reason="the last number is denied, or offered with others")
        near = any(self._near(value, gold) for gold in golds)
        return Score(float(near), answer=text, reason=f"last number {'equals' if near else 'differs from'} the gold")

    def matches(self, score: Score) -> bool:
        """Right answers are the gold's."""
        return score.value == 1.0

    def _near(self, value: Fraction, gold: Fraction) -> bool:
        # As written, not as stored: 0.1 is a tenth.
        rel_tol, abs_tol = Fraction(str(self.rel_tol)), Fraction(str(self.abs_tol))
        return abs(value - gold) <= max(abs_tol, rel_tol * abs(gold))

    def equal(self, a: str, b: str) -> bool:
        """Whether two answers are the same number, exactly; any other answer equals only itself."""
        if a == b:
            return True
        if not (_NUMBER.fullmatch(a.strip()) and _NUMBER.fullmatch(b.strip())):
            return False
        x = _value(a.strip())
        return x is not None and x == _value(b.strip())


def _without_denied_end(answer: str) -> str:
    """An answer up to the last number that it does not deny: "7" for "7, as 4 is wrong"."""
    numbers = list(_NUMBER.finditer(answer[-_MAX_END:]))
    offset = max(0, len(answer) - _MAX_END)
    end = len(answer)
    while len(numbers) > 1 and role(answer, offset + numbers[-1].start(), offset + numbers[-1].end()) == "denied":
        numbers.pop()
        end = offset + numbers[-1].end()
    return answer[:end] if end < len(answer) else answer


def last_number(text: str) -> tuple[str, Fraction] | None:
    """The last number written in digits and its exact value, or None.

    Thousands commas, exponents and fractions (`3/4`) are read. If the last number is over the caps (400 digits,
    exponents of 999), the result is None. A piece of it, or the number before it, is not the stated number.
    """
    last = None
    for last in _NUMBER.finditer(text):  # noqa: B007 - the last match is what is wanted
        pass
    value = _value(last[0]) if last else None
    return (last[0], value) if last and value is not None else None


def _value(number: str) -> Fraction | None:
    """The exact value of a match of `_NUMBER`; None over the caps or for a zero denominator."""
    if len(number) > _MAX_DIGITS:
        return None
    top, _, bottom = number.replace(",", "").replace("−", "-").lower().partition("/")
    if abs(int(top.partition("e")[2] or 0)) > _MAX_EXPONENT or (bottom and not int(bottom)):
        return None
    return Fraction(top) / int(bottom or 1)
