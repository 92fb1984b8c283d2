"""Cover exact match: does the answer contain the gold?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from verikit.replies.text import NORMALIZERS, Normalizer
from verikit.verifiers.reading.gold import GoldVerifier, check_choice


@dataclass(frozen=True)
class CoverEM(GoldVerifier):
    """1.0 if the gold's words occur in the answer (R1-Searcher, ACC_R).

    Long answers cover more, so use it as a metric, not as the only reward (policies learn to pad).
    """

    normalizer: Normalizer = "r1-searcher"
    variant: Literal["words", "contiguous"] = "words"
    """`words`: every gold word occurs, in any order. `contiguous`: they occur as one run of words."""
    name = "cover_em"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("variant", self.variant, ("words", "contiguous"))

    def compare(self, answer: str, gold: str) -> float:
        """Find the gold answer's words in the answer; only an empty answer covers a gold answer without words."""
        normalize = NORMALIZERS[self.normalizer]
        words, wanted = normalize(answer).split(), normalize(gold).split()
        if not wanted:
            return float(not words)
        if self.variant == "words":
            return float(set(wanted) <= set(words))
        return float(f" {' '.join(wanted)} " in f" {' '.join(words)} ")
