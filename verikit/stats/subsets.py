"""Closed forms over all size-k subsets of one group: pass@k, pass^k, mean@k and best-of-k by a ranking score.

Truth is a number per scored candidate, usually 0 or 1. Binomial ratios are built up as products of factors below 1, so
nothing overflows at any n. Only the ranking of many candidates uses numpy, if it is installed and faster. Results with
and without it agree to 1e-12.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from itertools import groupby
from operator import mul
from typing import Any

from verikit.errors import UsageError

_LARGE = 512
"""Number of candidates at which numpy's faster sort outweighs the conversion."""


def check_k(n: int, k: int) -> None:
    """Reject a k for which n candidates have no subset.

    Raises:
        UsageError: Not 1 <= k <= n.
    """
    if not 1 <= k <= n:
        raise UsageError(f"k must be between 1 and the {n} scored candidates, got {k}")


@lru_cache(maxsize=4096)
def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that at least one of k candidates sampled from n is among the c right ones: 1 - C(n-c, k) / C(n, k).

    Chen et al. 2021 (Codex), section 2.1.

    Raises:
        UsageError: Not 0 <= c <= n, or not 1 <= k <= n.
    """
    check_k(n, k)
    if not 0 <= c <= n:
        raise UsageError(f"c must be between 0 and n = {n}, got {c}")
    # C(n-c, k) / C(n, k) is symmetric in c and k, so the shorter product is used.
    few, many = sorted((c, k))
    return 1.0 - math.prod(1 - many / (n - i) for i in range(few)) if n - c >= k else 1.0


def all_at_k(n: int, c: int, k: int) -> float:
    """Probability that all of k candidates sampled from n are among the c right ones, pass^k: C(c, k) / C(n, k).

    Yao et al. 2024 (tau-bench), section 3.

    Raises:
        UsageError: Not 0 <= c <= n, or not 1 <= k <= n.
    """
    return 1.0 - pass_at_k(n, n - c, k)


def mean_at_k(truth: Sequence[float], k: int) -> float:
    """Expected mean truth of k candidates: the mean of all, for any k (also the result of `first` and `random`).

    Raises:
        UsageError: Not 1 <= k <= n.
    """
    check_k(len(truth), k)
    return math.fsum(truth) / len(truth)


def best_at_k(truth: Sequence[float], scores: Sequence[float], k: int) -> float:
    """Expected truth of the candidate with the highest score among k, ties averaged. O(n log n).

    `scores` are parallel to `truth`, with -inf for unscored candidates. `best_at_k(truth, truth, k)` is the expected
    maximum.

    Raises:
        UsageError: Not 1 <= k <= n.
    """
    return best_of_ranked(ranked_truth(truth, scores), k)


def ranked_truth(truth: Sequence[float], scores: Sequence[float]) -> Sequence[float]:
    """Truth in descending order of score, with each run of tied scores replaced by its mean.

    Rank once for several k. Averaging a run is exact, because which of the tied candidates leads a subset does not
    depend on their truth.
    """
    if len(truth) != len(scores):
        raise UsageError(f"{len(scores)} scores for {len(truth)} candidates")
    numpy = _numpy() if len(truth) >= _LARGE else None
    if numpy is not None:
        key = numpy.asarray(scores, dtype=float)
        order = numpy.argsort(-key)
        key, by_rank = key[order], numpy.asarray(truth, dtype=float)[order]
        starts = numpy.concatenate(([0], numpy.flatnonzero(key[1:] != key[:-1]) + 1))
        if len(starts) == len(key):
            return by_rank  # type: ignore[no-any-return]
        lengths = numpy.diff(starts, append=len(key))
        return numpy.repeat(numpy.add.reduceat(by_rank, starts) / lengths, lengths)  # type: ignore[no-any-return]
    ranked: list[float] = []
    order = sorted(range(len(truth)), key=scores.__getitem__, reverse=True)
    for _, run in groupby(order, key=scores.__getitem__):
        tied = [truth[i] for i in run]
        ranked += tied if len(tied) == 1 else [math.fsum(tied) / len(tied)] * len(tied)
    return ranked


def best_of_ranked(ranked: Sequence[float], k: int) -> float:
    """Expected truth of the best-ranked of k candidates: sum over ranks r of C(n-r, k-1) / C(n, k) x truth.

    Raises:
        UsageError: Not 1 <= k <= n.
    """
    check_k(len(ranked), k)
    weights = _rank_weights(len(ranked), k)
    if len(ranked) >= _LARGE and (numpy := _numpy()) is not None:
        return float(numpy.dot(numpy.asarray(ranked, dtype=float)[: len(weights)], numpy.frombuffer(weights)))
    return math.fsum(map(mul, ranked, weights))


@lru_cache(maxsize=64)
def _rank_weights(n: int, k: int) -> array[float]:
    """Probability, for ranks 1 to n-k+1, that this rank is the best in a random size-k subset."""
    weights, none_above = array("d"), 1.0
    for above in range(n - k + 1):
        weights.append(none_above * k / (n - above))
        none_above *= (n - k - above) / (n - above)
    return weights


@lru_cache(maxsize=1)
def _numpy() -> Any:
    try:
        return import_module("numpy")
    except ImportError:
        return None
