"""The final answer of a text against a gold."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from verikit.text import boxes, squad
from verikit.types import Sample, Score
from verikit.verifiers.gold import GoldVerifier


@dataclass(frozen=True)
class Answer(GoldVerifier):
    name = "answer"

    def _one(self, sample: Sample) -> Score:
        found = boxes(sample.completion)
        stated = re.findall(r"(?i)answer is:?\s*(.{1,200})", sample.completion)
        text = (found or stated or [sample.completion])[-1].strip().rstrip(".")
        return super()._one(Sample(completion=text, answer=sample.answer))

    def compare(self, answer: str, gold: str) -> float:
        return float(self.equal(answer, gold))

    def equal(self, a: str, b: str) -> bool:
        x, y = _rational(a), _rational(b)
        return a.strip() == b.strip() or (x is not None and x == y) or (x is None and squad(a) == squad(b) != "")


def _rational(text: str) -> Fraction | None:
    text = re.sub(r"\\[dt]?frac\{(\d{1,99})\}\{(\d{1,99})\}", r"\1/\2", text.strip().strip("$").replace(",", ""))
    try:
        return Fraction(text) if len(text) < 200 and "e" not in text.lower() else None
    except (ValueError, ZeroDivisionError):
        return None
