"""The summarization metric ROUGE, from the package rouge-score."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from verikit.verifiers.overlap.references import ReferenceVerifier, TooLong
from verikit.verifiers.reading.gold import check_choice

_WORD = re.compile(r"[a-z0-9]+", re.IGNORECASE)
_MOST_CELLS = 4_000_000
"""Maximum table cells for the longest common subsequence of words; filling them takes a second or two."""
Measure = Literal["fmeasure", "precision", "recall"]


@dataclass(frozen=True)
class Rouge(ReferenceVerifier):
    """ROUGE (Lin 2004) against the best reference, in [0, 1]: rouge-score's `RougeScorer`."""

    kind: Literal["rouge1", "rouge2", "rouge3", "rouge4", "rougeL", "rougeLsum"] = "rougeL"
    """Shared n-grams, the longest common subsequence, or the one of lines (`rougeLsum`)."""
    measure_of: Measure = "fmeasure"
    """F1, `precision` or `recall`."""
    stemmer: bool = False
    """Whether words are reduced to their stems (Porter)."""
    name = "rouge"
    package = "rouge_score"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("kind", self.kind, ("rouge1", "rouge2", "rouge3", "rouge4", "rougeL", "rougeLsum"))
        check_choice("measure_of", self.measure_of, ("fmeasure", "precision", "recall"))

    def measure(self, text: str, references: Sequence[str]) -> tuple[float, str]:
        """The best ROUGE of one text over its references."""
        scorer = _scorer(self.kind, self.stemmer)
        longest = max(len(_WORD.findall(given)) for given in references)
        if self.kind in ("rougeL", "rougeLsum") and (words := len(_WORD.findall(text))) * longest > _MOST_CELLS:
            if words <= longest:
                raise ValueError(f"a reference of {longest} words is too long for {self.kind}")
            raise TooLong(f"{words} words against {longest} are too many for {self.kind}")
        best = max(float(getattr(scorer.score(given, text)[self.kind], self.measure_of)) for given in references)
        return best, f"{self.kind} {self.measure_of}"


@lru_cache(maxsize=16)
def _scorer(kind: str, stemmer: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([kind], use_stemmer=stemmer)
