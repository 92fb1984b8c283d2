"""Fuzzy match of two strings, measured by rapidfuzz."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from verikit.errors import UsageError
from verikit.replies.text import NORMALIZERS, Normalizer
from verikit.verifiers.overlap.references import ReferenceVerifier, normalized
from verikit.verifiers.reading.gold import check_choice

Ratio = Literal[
    "ratio", "partial_ratio", "token_sort_ratio", "token_set_ratio", "token_ratio", "partial_token_sort_ratio",
    "partial_token_set_ratio", "partial_token_ratio", "WRatio", "QRatio", "levenshtein", "jaro_winkler",
]  # fmt: skip
RATIOS: tuple[Ratio, ...] = Ratio.__args__  # type: ignore[attr-defined]
"""rapidfuzz's `fuzz` functions by their names, and its normalized Levenshtein and Jaro-Winkler similarity."""


@dataclass(frozen=True)
class Fuzzy(ReferenceVerifier):
    """Similarity to the nearest reference, in [0, 1], by one of rapidfuzz's ratios."""

    ratio: Ratio = "ratio"
    """`ratio` (edits), `partial_ratio` (the best part), `token_sort_ratio`, `token_set_ratio` (words in any order), …,
    `levenshtein`, `jaro_winkler`."""
    at_least: float | None = None
    """Give 1.0 at this similarity or more, and 0.0 below. None: the similarity itself."""
    normalizer: Normalizer = "none"
    """Applied to both strings first: `squad`, `hotpotqa`, `r1-searcher`, or `none` (surrounding space only)."""
    name = "fuzzy"
    package = "rapidfuzz"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("ratio", self.ratio, RATIOS)
        check_choice("normalizer", self.normalizer, NORMALIZERS)
        if self.at_least is not None and not 0 <= self.at_least <= 1:
            raise UsageError(f"at_least must be in [0, 1], got {self.at_least!r}")

    def measure(self, text: str, references: Sequence[str]) -> tuple[float, str]:
        """The similarity to the nearest reference, or whether it is enough."""
        ratio, said = _ratio(self.ratio), NORMALIZERS[self.normalizer](text)
        best = max(ratio(given, said) for given in normalized(references, self.normalizer))
        told = f"{self.ratio} {best:.4g}"
        return (best if self.at_least is None else float(best >= self.at_least)), told


def _ratio(name: Ratio) -> Callable[[str, str], float]:
    from rapidfuzz import distance, fuzz

    if name == "levenshtein":
        return distance.Levenshtein.normalized_similarity
    if name == "jaro_winkler":
        return distance.JaroWinkler.normalized_similarity
    whole: Callable[[str, str], float] = getattr(fuzz, name)
    return lambda a, b: whole(a, b) / 100
