"""The last number of a text against a gold number, within a tolerance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from verikit.errors import UsageError
from verikit.text import Extract, accepted, extract
from verikit.types import Sample, Score
from verikit.verifier import Verifier

_NUMBER = re.compile(
    r"[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,400})(?:\.\d{1,400})?(?:[eE][-+]?\d{1,3})?|[-+]?\.\d{1,400}"
)


@dataclass(frozen=True)
class Numeric(Verifier):
    """1.0 if the last number of the completion is within `abs_tol` or `rel_tol` of the gold; exact by default."""

    rel_tol: float = 0.0
    """Allowed |answer - gold| / |gold|."""
    abs_tol: float = 0.0
    """Allowed |answer - gold|."""
    extract: Extract = "whole"
    """Where the number is looked for."""
    name = "numeric"

    def __post_init__(self) -> None:
        if not (0 <= self.rel_tol < 1 and 0 <= self.abs_tol < float("inf")):
            raise UsageError("tolerances are at least 0, and rel_tol is below 1")

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample by itself."""
        return [self._one(sample) for sample in samples]

    def _one(self, sample: Sample) -> Score:
        golds = [last_number(gold) for gold in accepted(sample.answer)]
        known = [gold[1] for gold in golds if gold is not None]
        if not known:
            return Score.error(f"the gold answer {str(sample.answer)[:40]!r} holds no number")
        found = last_number(extract(sample.completion, self.extract) or "")
        if found is None:
            return Score(0.0, reason="no number found")
        text, value = found
        near = any(self._near(value, gold) for gold in known)
        return Score(float(near), answer=text, reason=f"last number {'equals' if near else 'differs from'} the gold")

    def _near(self, value: Decimal, gold: Decimal) -> bool:
        distance = abs(value - gold)
        return distance <= max(Decimal(str(self.abs_tol)), Decimal(str(self.rel_tol)) * abs(gold))

    def equal(self, a: str, b: str) -> bool:
        """Whether two answers are the same number, exactly."""
        x, y = last_number(a), last_number(b)
        return a == b or (x is not None and y is not None and x[1] == y[1])


def last_number(text: str) -> tuple[str, Decimal] | None:
    """The last number written in digits (thousands commas and exponents are read) and its value, or None."""
    last = None
    for last in _NUMBER.finditer(text):  # noqa: B007 - the last match is what is wanted
        pass
    return (last[0], Decimal(last[0].replace(",", ""))) if last else None
