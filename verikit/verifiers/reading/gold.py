"""Shared by verifiers that compare text with a gold answer: extraction, several gold answers, and blame."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.replies.text import NORMALIZERS, Normalizer, accepted, extract
from verikit.replies.unseen import without_unseen
from verikit.types import Sample, Score
from verikit.verifiers.reading.stated import offers_others, stated

AnswerIn = Literal["stated", "whole", "boxed", "answer_tag", "last_line"]


@dataclass(frozen=True)
class GoldVerifier(TextVerifier):
    """Compares the extracted answer with each accepted gold and takes the best.

    If an answer is missing, the score is 0.0. If the gold answer is missing, the sample is unscored. Invisible
    characters (zero-width ones, joiners, controls) are removed from both.
    """

    normalizer: Normalizer = "squad"
    """`squad`, `hotpotqa`, `r1-searcher`, or `none` (surrounding space only)."""
    extract: AnswerIn = "stated"
    """The part of the reply to compare. `stated` is the marked answer (in a tag, a box, "the answer is …", the only
    bold words), or else the whole reply. `whole`, `boxed`, `answer_tag` and `last_line` are literal. A
    stated answer that the reply denies, or offers among others ("Paris, or maybe Rome"), is 0.0."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("normalizer", self.normalizer, NORMALIZERS)
        check_choice("extract", self.extract, get_args(AnswerIn))

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_sample(sample) for sample in samples]

    def _score_sample(self, sample: Sample) -> Score:
        golds = [without_unseen(gold) for gold in accepted(sample.answer)]
        if not golds:
            return Score.error("the row has no gold answer")
        answer, form = taken(without_unseen(sample.completion), self.extract)
        if answer is None or (not answer.strip() and any(map(str.strip, golds))):
            return Score(0.0, reason=f"no answer found ({form})")
        value, gold = max(((self.compare(answer, gold), gold) for gold in golds), key=lambda pair: pair[0])
        if value and self.extract == "stated" and offers_others(answer, gold):
            return Score(0.0, answer=answer, reason=f"offers {_short(gold)} with others, or denies it")
        return Score(value, answer=answer, reason=f"{self.name} ({self.normalizer}, {form}) with {_short(gold)}")

    @abstractmethod
    def compare(self, answer: str, gold: str) -> float:
        """Compare one extracted answer with one gold, in [0, 1]."""

    def equal(self, a: str, b: str) -> bool:
        """Whether two answers are the same after normalising."""
        normalize = NORMALIZERS[self.normalizer]
        return a == b or normalize(without_unseen(a)) == normalize(without_unseen(b))

    def matches(self, score: Score) -> bool:
        """Right answers are the gold's."""
        return score.value == 1.0


def taken(reply: str, how: AnswerIn) -> tuple[str | None, str]:
    """The answer of a reply (None if it is missing), and the form it was found in."""
    return stated(reply) if how == "stated" else (extract(reply, how), how)


def check_choice(field: str, value: str, choices: object) -> None:
    """Reject an option's value that is not one of its choices.

    Raises:
        UsageError: It is not.
    """
    known = list(choices)  # type: ignore[call-overload]
    if value not in known:
        raise UsageError(f"{field} must be one of {', '.join(known)}, got {value!r}")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")
