"""Majority and weighted votes: the expectation over all size-k subsets of one group.

A candidate votes for its cluster of equal answers. A candidate without an answer (cluster None) casts no vote. The
value of an election is the mean truth of the winning cluster's voters (they normally share one truth), averaged over
tied clusters. Without any votes, it is the mean truth of the subset. Plain majority is counted exactly for nearly any
n. Weighted votes are enumerated up to `MAX_SUBSETS` subsets. Beyond that, both use seeded Monte Carlo and report its
standard error.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Literal, get_args

from verikit.errors import UsageError, nearest
from verikit.stats.intervals import Estimate, mean_interval
from verikit.stats.subsets import check_k

Weighting = Literal["raw", "sigmoid", "softmax"]

MAX_SUBSETS = 20_000
"""Maximum number of subsets for which a weighted vote is enumerated."""
MAX_COUNTING = 2_000_000
"""Maximum number of steps (at most about 0.1 microseconds each) for which a plain vote is counted."""
DRAWS = 2_000
"""Number of subsets sampled if both are too expensive: a standard error of at most 0.011 in one group."""
_TIE = 1e-12
_FAR = 700.0

Ballot = tuple[float, int | None, float]
"""Truth, cluster, weight."""


def vote_weights(scores: Sequence[float], weighting: Weighting) -> list[float]:
    """The weight of each candidate's vote, up to a common factor (which decides nothing).

    `raw` is the score itself, so a negative one counts against its own cluster. `sigmoid` is 1 / (1 + exp(-score)),
    `softmax` is exp(score). A score more than 700 below 0 (sigmoid) or below the best (softmax) is clipped to 700
    below.
    """
    if weighting not in get_args(Weighting):
        raise UsageError(f"weighting {weighting!r} not found", hint=nearest(weighting, get_args(Weighting)))
    if weighting == "sigmoid":
        return [1 / (1 + math.exp(-max(score, -_FAR))) for score in scores]
    if weighting == "softmax":
        top = max(scores, default=0.0)
        return [math.exp(max(score - top, -_FAR)) for score in scores]
    largest = max(map(abs, scores), default=0.0) or 1.0
    return [score / largest for score in scores]


def vote_at_k(
    truth: Sequence[float],
    clusters: Sequence[int | None],
    k: int,
    weights: Sequence[float] | None = None,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Estimate:
    """Expected truth of the answer that wins a vote of k candidates. Without `weights` each vote counts one.

    `clusters[i]` is candidate i's cluster of equal answers. None means that the candidate has no vote. Sources: Wang et
    al. 2022 (self-consistency); Li et al. 2022 (weighted votes).

    Raises:
        UsageError: Not 1 <= k <= n, or lists of different lengths.
    """
    n = len(truth)
    check_k(n, k)
    if len(clusters) != n or (weights is not None and len(weights) != n):
        raise UsageError(f"clusters and weights must have one entry for each of the {n} candidates")
    if min(truth) == max(truth):
        return _exact(truth[0], math.comb(n, k))
    sizes = _sizes(clusters)
    if weights is None and _counting_steps(sizes.values(), k) <= MAX_COUNTING:
        return _exact(_count(truth, clusters, sizes, k), math.comb(n, k))
    ballots: list[Ballot] = list(zip(truth, clusters, [1.0] * n if weights is None else weights, strict=True))
    if math.comb(n, k) <= MAX_SUBSETS:
        values = list(map(_elect, combinations(ballots, k)))
        return _exact(math.fsum(values) / len(values), len(values))
    # The key contains the ballots themselves, so that the samples don't depend on the order of groups.
    rng = random.Random(f"{seed}:{k}:{ballots}")
    drawn = mean_interval(_elect(rng.sample(ballots, k)) for _ in range(draws))
    return replace(drawn, method="monte carlo")


def _sizes(clusters: Sequence[int | None]) -> Counter[int]:
    """The number of candidates in each cluster."""
    return Counter(cluster for cluster in clusters if cluster is not None)


def _exact(value: float, subsets: int) -> Estimate:
    return Estimate(value, value, value, 0.0, subsets, "exact")


def _elect(ballots: Sequence[Ballot]) -> float:
    totals: dict[int, float] = defaultdict(float)
    truths: dict[int, list[float]] = defaultdict(list)
    gross = 0.0
    for truth, cluster, weight in ballots:
        if cluster is not None:
            totals[cluster] += weight
            truths[cluster].append(truth)
            gross += abs(weight)
    if not totals:
        return sum(truth for truth, _, _ in ballots) / len(ballots)
    # Sums that differ only by rounding are tied.
    bar = max(totals.values()) - _TIE * gross
    leaders = [truths[cluster] for cluster, total in totals.items() if total >= bar]
    return sum(sum(leader) / len(leader) for leader in leaders) / len(leaders)


def _count(truth: Sequence[float], clusters: Sequence[int | None], sizes: Counter[int], k: int) -> float:
    """Majority by counting: the sum over clusters of the chance of winning times the mean truth."""
    sums: dict[int | None, float] = defaultdict(float)
    for value, cluster in zip(truth, clusters, strict=True):
        sums[cluster] += value
    blanks = len(truth) - sizes.total()
    wins = win_probabilities(tuple(sorted(sizes.values())), blanks, k)
    value = math.fsum(wins[size] * sums[cluster] / size for cluster, size in sizes.items())
    if blanks >= k:
        value += math.comb(blanks, k) / math.comb(len(truth), k) * sums[None] / blanks
    return value


def _counting_steps(sizes: Iterable[int], k: int) -> int:
    sizes = list(sizes)
    return k * k * len(sizes) * sum(min(size, k) for size in set(sizes))


@lru_cache(maxsize=1024)
def win_probabilities(sizes: tuple[int, ...], blanks: int, k: int) -> dict[int, float]:
    """For each cluster size: the chance that one such cluster wins a plain vote of k, a t-fold tie counting 1/t.

    Exact, without enumeration: the seats of the clusters in a random size-k subset are independent binomials,
    conditioned on their sum being k. So for each number j of seats, the other clusters' seats below j, and the number
    of them that tie at j, are convolved cluster by cluster.
    """
    n = sum(sizes) + blanks
    # Any success rate gives the same answer. k / (n + 1) keeps all terms near their mode, far from underflow.
    rate = k / (n + 1)
    seats = {size: [_binomial(size, i, rate) for i in range(min(size, k) + 1)] for size in {*sizes, blanks}}
    wins = {}
    for size in set(sizes):
        others = list(sizes)
        others.remove(size)
        chance = 0.0
        for j in range(1, min(size, k) + 1):
            ties = _ties([seats[other] for other in others], j, k - j)
            for tied, row in enumerate(ties):
                filled = sum(row[k - j - i] * p for i, p in enumerate(seats[blanks][: k - j + 1]))
                chance += seats[size][j] * filled / (tied + 1)
        wins[size] = chance / _binomial(n, k, rate)
    return wins


def _ties(others: list[list[float]], j: int, room: int) -> list[list[float]]:
    """`rows[t][x]`: the chance that the others get x <= room seats, with t of them at exactly j and none above it."""
    rows = [[1.0] + [0.0] * room]
    for seats in others:
        grown = [[0.0] * (room + 1) for _ in range(min(len(rows) + 1, room // j + 1))]
        for tied, row in enumerate(rows):
            for taken, p in enumerate(row):
                if p:
                    for more, q in enumerate(seats[: min(j, room - taken + 1)]):
                        grown[tied][taken + more] += p * q
                    if j < len(seats) and taken + j <= room:
                        grown[tied + 1][taken + j] += p * seats[j]
        rows = grown
    return rows


def _binomial(n: int, i: int, rate: float) -> float:
    log = math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
    return math.exp(log + i * math.log(rate) + (n - i) * math.log1p(-rate))
