"""The metrics of `text_similarity`, 0 to 1.

`fuzzy_match` is rapidfuzz's `WRatio` with its default processing, as in the example of OpenAI's guide. `bleu` is
sacrebleu's sentence BLEU. `rouge_*` are rouge-score's F1 without stemming. `gleu` is Google's BLEU (Wu et al. 2016) as
in NLTK. `meteor` needs WordNet and `cosine` an OpenAI embedding model, so they are not supported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from verikit.errors import MissingExtra

MAX_CHARS = 100_000
"""Maximum number of characters compared of each text."""
REFUSED = {
    "meteor": "needs WordNet's synonyms, which are not shipped",
    "cosine": "needs OpenAI's embedding model text-embedding-3-large",
}
"""Metrics that are not available here, with the reason."""


def similarity(metric: str, text: str, reference: str) -> float:
    """The similarity of a text to a reference.

    Raises:
        MissingExtra: The metric's package is not installed.
        KeyError: The metric does not exist.
    """
    try:
        return METRICS[metric](text[:MAX_CHARS], reference[:MAX_CHARS])
    except ImportError:
        raise MissingExtra(f"text_similarity by {metric}", "text") from None


def gleu(text: str, reference: str) -> float:
    """Google's BLEU of two texts split at whitespace: the smaller of precision and recall over their 1- to 4-grams."""
    mine, gold = _grams(text.split()), _grams(reference.split())
    most = max(mine.total(), gold.total())
    return (mine & gold).total() / most if most else 0.0


def _grams(words: list[str]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for n in range(1, 5) for i in range(len(words) - n + 1))


def _fuzzy(text: str, reference: str) -> float:
    from rapidfuzz import fuzz, utils

    return float(fuzz.WRatio(text, reference, processor=utils.default_process)) / 100


def _bleu(text: str, reference: str) -> float:
    from sacrebleu import sentence_bleu

    return min(1.0, float(sentence_bleu(text, [reference]).score) / 100)


@lru_cache(maxsize=8)
def _scorer(kind: str) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([kind], use_stemmer=False)


def _rouge(kind: str) -> Callable[[str, str], float]:
    return lambda text, reference: float(_scorer(kind).score(reference, text)[kind].fmeasure)


METRICS: Mapping[str, Callable[[str, str], float]] = {
    "fuzzy_match": _fuzzy,
    "bleu": _bleu,
    "gleu": gleu,
    **{f"rouge_{n}": _rouge(f"rouge{n}") for n in range(1, 6)},
    "rouge_l": _rouge("rougeL"),
}
"""The metrics by OpenAI's names."""
