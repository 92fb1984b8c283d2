"""Machine translation metrics of sacrebleu for one sentence or text: BLEU, chrF, TER.

A task's corpus score is not their mean; they are rewards and per-row metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from verikit.errors import HelperTimeout, UsageError
from verikit.helper import Helper
from verikit.verifiers.overlap.references import ErrorRate, ReferenceVerifier, TooLong
from verikit.verifiers.reading.gold import check_choice

_HELPER = Helper(preload=("sacrebleu.metrics",))
"""The helper process that measures TER of long strings under a deadline."""
_QUICK_WORDS = 40
"""Strings up to this many words are measured directly, in this process."""
_TOKENIZERS = ("13a", "intl", "char", "zh", "none")


@dataclass(frozen=True)
class Bleu(ReferenceVerifier):
    """Sentence BLEU (Papineni et al. 2002) against all references, in [0, 1]: sacrebleu's `sentence_bleu` over 100."""

    tokenize: Literal["13a", "intl", "char", "zh", "none"] = "13a"
    """sacrebleu's tokenizer, except those that need a download."""
    lowercase: bool = False
    """Whether case is ignored."""
    smooth: Literal["exp", "floor", "add-k", "none"] = "exp"
    """How orders without a match are smoothed."""
    max_ngram_order: int = 4
    """The longest n-grams. Orders longer than the text are skipped."""
    name = "bleu"
    package = "sacrebleu"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("tokenize", self.tokenize, _TOKENIZERS)
        check_choice("smooth", self.smooth, ("exp", "floor", "add-k", "none"))
        _at_least_one("max_ngram_order", self.max_ngram_order)

    def measure(self, text: str, references: Sequence[str]) -> tuple[float, str]:
        """BLEU of one text."""
        scorer = _metric(
            "BLEU",
            tokenize=self.tokenize,
            lowercase=self.lowercase,
            smooth_method=self.smooth,
            max_ngram_order=self.max_ngram_order,
            effective_order=True,
        )
        found = scorer.sentence_score(text, list(references))
        return min(found.score / 100, 1.0), str(found)[:200]


@dataclass(frozen=True)
class Chrf(ReferenceVerifier):
    """chrF (Popovic 2015) against the best reference, in [0, 1]: sacrebleu's `sentence_chrf` over 100."""

    char_order: int = 6
    """The longest n-grams of characters."""
    word_order: int = 0
    """The longest n-grams of words; 2 is chrF++."""
    beta: int = 2
    """How much more recall counts than precision."""
    lowercase: bool = False
    """Whether case is ignored."""
    name = "chrf"
    package = "sacrebleu"

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least_one("char_order", self.char_order)
        _at_least_one("beta", self.beta)
        if self.word_order < 0:
            raise UsageError(f"word_order must be at least 0, got {self.word_order!r}")

    def measure(self, text: str, references: Sequence[str]) -> tuple[float, str]:
        """The chrF of one text."""
        scorer = _metric(
            "CHRF", char_order=self.char_order, word_order=self.word_order, beta=self.beta, lowercase=self.lowercase
        )
        found = scorer.sentence_score(text, list(references))
        return min(found.score / 100, 1.0), str(found)[:200]


@dataclass(frozen=True)
class Ter(ErrorRate):
    """1 - TER (Snover et al. 2006), at least 0, against the best reference: sacrebleu's `sentence_ter` over 100."""

    normalized: bool = False
    """Whether punctuation is separated first."""
    punctuation: bool = True
    """Whether punctuation counts."""
    case_sensitive: bool = False
    """Whether case counts."""
    max_chars: int = field(default=4_000, kw_only=True)
    """A longer text is 0.0 without being read, because the search for moved words takes more than quadratic time."""
    timeout_s: float = field(default=5.0, kw_only=True)
    """Seconds per text. Text that takes longer is 0.0 (as a rate: above the possible maximum)."""
    name = "ter"
    package = "sacrebleu"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.timeout_s > 0:
            raise UsageError(f"timeout_s must be greater than 0, got {self.timeout_s!r}")

    def error_rate(self, text: str, references: Sequence[str]) -> float:
        """Edits, including moves of words, divided by the length of the references."""
        options = {
            "normalized": self.normalized,
            "no_punct": not self.punctuation,
            "case_sensitive": self.case_sensitive,
        }
        words = max(len(given.split()) for given in (text, *references))
        if words * len(references) <= _QUICK_WORDS:
            return ter_rate(text, list(references), options)
        target = "verikit.verifiers.overlap.sacrebleu:ter_rate"
        try:
            return float(_HELPER.call(target, text, list(references), options, timeout=self.timeout_s))
        except HelperTimeout:
            raise TooLong(f"the search for moved words took more than {self.timeout_s} s") from None


def ter_rate(text: str, references: Sequence[str], options: Mapping[str, bool]) -> float:
    """TER of sacrebleu with its options."""
    return float(_metric("TER", **options).sentence_score(text, list(references)).score) / 100


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise UsageError(f"{name} must be at least 1, got {value!r}")


@lru_cache(maxsize=16)
def _metric(name: str, **options: Any) -> Any:
    from sacrebleu import metrics

    return getattr(metrics, name)(**options)
