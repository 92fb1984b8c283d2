"""Word-overlap F1."""

from __future__ import annotations

from dataclasses import dataclass

from verikit.replies.text import token_f1
from verikit.verifiers.reading.gold import GoldVerifier


@dataclass(frozen=True)
class F1(GoldVerifier):
    """Harmonic mean of word precision and recall against the best gold answer (SQuAD, HotpotQA)."""

    name = "f1"

    def compare(self, answer: str, gold: str) -> float:
        """Token F1 of the two."""
        return token_f1(answer, gold, self.normalizer)
