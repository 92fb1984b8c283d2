"""Ranking metrics: recall, all gold titles found, reciprocal rank. Means are over questions (macro)."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def recall(found: Sequence[str], golds: Collection[str], k: int) -> float:
    """Return the fraction of gold titles among the first k."""
    return len(set(golds) & set(found[:k])) / len(set(golds))


def all_gold(found: Sequence[str], golds: Collection[str], k: int) -> float:
    """Return 1.0 if every gold title is among the first k, otherwise 0.0."""
    return float(set(golds) <= set(found[:k]))


def reciprocal_rank(found: Sequence[str], golds: Collection[str]) -> float:
    """Return 1 / rank of the first gold title, or 0.0 if none was found."""
    return next((1 / rank for rank, title in enumerate(found, 1) if title in set(golds)), 0.0)


def report(rankings: Sequence[Sequence[str]], golds: Sequence[Collection[str]], ks: Sequence[int]) -> dict[str, float]:
    """Return recall@k and all-gold@k for each k, and the MRR, as means over questions.

    Raises:
        ValueError: There are no questions, or one has no gold titles.
    """
    if not rankings or not all(golds):
        raise ValueError("there must be at least one question, and each needs gold titles")
    pairs = list(zip(rankings, golds, strict=True))
    metrics = {f"recall@{k}": sum(recall(*pair, k) for pair in pairs) / len(pairs) for k in ks}
    metrics |= {f"all-gold@{k}": sum(all_gold(*pair, k) for pair in pairs) / len(pairs) for k in ks}
    return metrics | {"mrr": sum(reciprocal_rank(*pair) for pair in pairs) / len(pairs)}
