"""Speech recognition metrics of jiwer: word and character error rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verikit.replies.text import NORMALIZERS, Normalizer
from verikit.verifiers.overlap.references import ErrorRate, normalized
from verikit.verifiers.reading.gold import check_choice


@dataclass(frozen=True)
class Wer(ErrorRate):
    """1 - word error rate, at least 0, against the nearest reference: jiwer's `wer`, words separated by any space.

    jiwer itself reads one tab, line break, no-break space or other space character between words as part of a word.
    """

    normalizer: Normalizer = "none"
    """Applied to both strings first: `squad`, `hotpotqa`, `r1-searcher`, or `none` (surrounding space only)."""
    name = "wer"
    package = "jiwer"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("normalizer", self.normalizer, NORMALIZERS)

    def error_rate(self, text: str, references: Sequence[str]) -> float:
        """Words inserted, deleted and changed, divided by the words of the reference."""
        return self._least("wer", " ".join(text.split()), [" ".join(given.split()) for given in references])

    def _least(self, measure: str, text: str, references: Sequence[str]) -> float:
        import jiwer

        said = NORMALIZERS[self.normalizer](text)
        return min(float(getattr(jiwer, measure)(given, said)) for given in normalized(references, self.normalizer))


@dataclass(frozen=True)
class Cer(Wer):
    """1 - character error rate, at least 0, against the nearest reference: jiwer's `cer`."""

    name = "cer"

    def error_rate(self, text: str, references: Sequence[str]) -> float:
        """Characters inserted, deleted and changed, divided by the characters of the reference."""
        return self._least("cer", text, references)
