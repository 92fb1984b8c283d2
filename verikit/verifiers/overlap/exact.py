"""Exact match."""

from __future__ import annotations

from dataclasses import dataclass

from verikit.replies.text import NORMALIZERS, Normalizer
from verikit.verifiers.reading.gold import GoldVerifier


@dataclass(frozen=True)
class Exact(GoldVerifier):
    """1.0 if the answer is the gold, literally or after a named normaliser (SQuAD's EM, R1-Searcher's)."""

    normalizer: Normalizer = "none"
    name = "exact"

    def compare(self, answer: str, gold: str) -> float:
        """Compare after normalising both."""
        normalize = NORMALIZERS[self.normalizer]
        return float(normalize(answer) == normalize(gold))
