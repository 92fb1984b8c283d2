"""Streaming summary of scored groups: pass@k, pass^k, maj@k, bon@k and wmaj@k for several k from one n, with intervals.

Groups are added one at a time. Only one `Mean` per metric is stored, so memory is constant and the order does not
matter. Candidates whose truth is unscored are excluded as if never sampled (n shrinks). A group with fewer than k
scored candidates is excluded for that k, and each estimate reports the number of excluded groups. Every prompt has the
same weight, regardless of its n.

Groups whose samples a rule could stop early (`early.py`) use their first samples up to the k at which no rule stops.
Beyond it they use only values that their samples determine. A metric that some stopped group does not determine is
`unproven` and has no estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from verikit.errors import UsageError
from verikit.stats.early import EarlyStop, proven_all, proven_majority, proven_pass
from verikit.stats.intervals import LARGEST, Estimate, Interval, Mean, check_interval
from verikit.stats.subsets import all_at_k, best_of_ranked, mean_at_k, pass_at_k, ranked_truth
from verikit.stats.votes import Weighting, vote_at_k, vote_weights
from verikit.types import PASS_MARK, UNIT, Score

METRICS = ("mean@", "pass@", "pass^", "maj@", "bon@", "wmaj@")
"""One random candidate, any of k, all of k, majority, best by ranking score, vote weighted by that score."""


def at_k(metric: str) -> tuple[str, int] | None:
    """The kind (one of `METRICS`) and the k in a metric's name. None if the name has no k."""
    kind, k = metric.rstrip("0123456789"), metric[len(metric.rstrip("0123456789")) :]
    return (kind, int(k)) if kind in METRICS and k else None


@dataclass(frozen=True, slots=True)
class _Scored:
    """The candidates of a group whose truth is known."""

    values: list[float]
    ranks: list[float | None]
    """Their ranking scores. Empty if the group has no ranking."""
    votes: list[int | None] | None

    @classmethod
    def of(
        cls, truth: Sequence[Score], ranking: Sequence[Score] | None, clusters: Sequence[int | None] | None
    ) -> _Scored:
        kept = [i for i, score in enumerate(truth) if score.value is not None]
        return cls(
            [truth[i].filled(0.0) for i in kept],
            [ranking[i].value for i in kept] if ranking is not None else [],
            [clusters[i] for i in kept] if clusters is not None else None,
        )

    def head(self, count: int) -> _Scored:
        """The first `count` of them."""
        return _Scored(self.values[:count], self.ranks[:count], None if self.votes is None else self.votes[:count])


def _filled(ranks: Sequence[float | None]) -> list[float]:
    """Ranking scores, with the lowest rank for candidates without one."""
    return [-math.inf if rank is None else rank for rank in ranks]


def _check_lengths(n: int, *lists: Sequence[object] | None) -> None:
    for other in lists:
        if other is not None and len(other) != n:
            raise UsageError(f"{len(other)} ranking scores or clusters for {n} candidates")


class Summary:
    """Estimates over prompts, named `mean`, and for each k `mean@k`, `pass@k`, `pass^k`, `maj@k`, `bon@k`, `wmaj@k`.

    `maj` requires clusters, `bon` a ranking, `wmaj` both. `mean@k` is the mean over the groups with at least k
    candidates, as the baseline for the other metrics at k.
    """

    def __init__(
        self,
        ks: Iterable[int] = (1,),
        *,
        weighting: Weighting = "sigmoid",
        interval: Interval = "beta",
        level: float = 0.95,
        seed: int = 0,
        bounds: tuple[float, float] = UNIT,
    ) -> None:
        """Set up for these k. `seed` is used for the bootstrap and for sampled votes.

        `bounds` are the bounds of truth (`Verifier.bounds`), on which intervals depend.

        Raises:
            UsageError: A k below 1, an unknown weighting or interval, or a level outside (0, 1).
        """
        self.ks: list[int] = sorted(set(ks))
        if self.ks and self.ks[0] < 1:
            raise UsageError(f"k must be at least 1, got {self.ks[0]}")
        check_interval(level, interval)
        vote_weights([], weighting)
        self.weighting: Weighting = weighting
        self.interval: Interval = interval
        self.level: float = level
        self.seed: int = seed
        self.bounds: tuple[float, float] = bounds
        self.groups: int = 0
        self._means = {"mean": Mean()} | {f"{metric}{k}": Mean() for metric in METRICS for k in self.ks}
        self._monte_carlo = dict.fromkeys(self._means, 0)
        self._unproven = dict.fromkeys(self._means, 0)

    def add(
        self,
        truth: Sequence[Score],
        ranking: Sequence[Score] | None = None,
        clusters: Sequence[int | None] | None = None,
        early: EarlyStop | None = None,
    ) -> None:
        """Add one group: the truth of its candidates, their ranking scores, and their clusters of equal answers.

        A candidate without a ranking score ranks below all others and casts no weighted vote. A group in which no
        candidate has one is excluded from `bon` and `wmaj`. `early` describes sampling that a rule could stop early.

        Raises:
            UsageError: Lists of different lengths, or a truth beyond 1e100.
        """
        _check_lengths(len(truth), ranking, clusters)
        every = _Scored.of(truth, ranking, clusters)
        farthest = max(every.values, key=abs, default=0.0)
        if abs(farthest) > LARGEST:
            raise UsageError(f"a truth of {farthest!r} can't be averaged", hint="it belongs in [0, 1]")
        self.groups += 1
        if early is None:
            self._count(every, self.ks, self._add_mean(every))
            return
        first = every.head(sum(score.scored for score in truth[: early.first]))
        mean = self._add_mean(first)
        self._count(first, [k for k in self.ks if k <= early.least], mean)
        late = [k for k in self.ks if early.least < k <= early.n]
        if early.why is not None and len(every.values) < early.n:
            self._count_proven(every, late, early.n, mean)
        else:
            self._count(every, late, mean)

    def _add_mean(self, scored: _Scored) -> float | None:
        if not scored.values:
            return None
        mean = mean_at_k(scored.values, 1)
        self._means["mean"].add(mean)
        return mean

    def _count(self, scored: _Scored, ks: Iterable[int], mean: float | None) -> None:
        """Add a group's estimates at those k for which it has enough candidates. `mean` is for a single candidate."""
        reached = [k for k in ks if k <= len(scored.values)]
        if mean is not None:
            for k in reached:
                self._means[f"mean@{k}"].add(mean)
        known = [rank for rank in scored.ranks if rank is not None]
        ranks = _filled(scored.ranks) if known else None
        self._add_closed_forms(scored.values, ranks, reached)
        if scored.votes is not None:
            self._add_votes("maj", scored.values, scored.votes, None, reached)
            if known:
                heard, weights = self._weighed(scored.votes, scored.ranks, known)
                self._add_votes("wmaj", scored.values, heard, weights, reached)

    def _weighed(
        self, votes: Sequence[int | None], ranks: Sequence[float | None], known: Sequence[float]
    ) -> tuple[list[int | None], list[float]]:
        """The votes of candidates with a ranking score, and their weights."""
        weights = iter(vote_weights(known, self.weighting))
        heard = [None if rank is None else vote for vote, rank in zip(votes, ranks, strict=True)]
        return heard, [0.0 if rank is None else next(weights) for rank in ranks]

    def _count_proven(self, scored: _Scored, ks: Iterable[int], n: int, mean: float | None) -> None:
        """Add the values at these k of all n that a stopped group's samples determine, and record the others."""
        for k in ks:
            found = {"pass@": proven_pass(scored.values, n, k), "pass^": proven_all(scored.values, n, k)}
            if scored.votes is not None:
                found["maj@"] = proven_majority(scored.values, scored.votes, n) if k == n else None
            if any(rank is not None for rank in scored.ranks):
                found |= {"bon@": None} if scored.votes is None else {"bon@": None, "wmaj@": None}
            if mean is not None:
                found["mean@"] = mean
            for metric, value in found.items():
                if value is None:
                    self._unproven[f"{metric}{k}"] += 1
                else:
                    self._means[f"{metric}{k}"].add(value)

    def _add_closed_forms(self, values: list[float], scores: list[float] | None, ks: Iterable[int]) -> None:
        n, right = len(values), sum(value >= PASS_MARK for value in values)
        ranked = None if scores is None else ranked_truth(values, scores)
        for k in ks:
            self._means[f"pass@{k}"].add(pass_at_k(n, right, k))
            self._means[f"pass^{k}"].add(all_at_k(n, right, k))
            if ranked is not None:
                self._means[f"bon@{k}"].add(best_of_ranked(ranked, k))

    def _add_votes(
        self, metric: str, values: list[float], votes: list[int | None], weights: list[float] | None, ks: Iterable[int]
    ) -> None:
        for k in ks:
            vote = vote_at_k(values, votes, k, weights, seed=self.seed)
            self._means[f"{metric}@{k}"].add(vote.value)
            self._monte_carlo[f"{metric}@{k}"] += vote.method == "monte carlo"

    def merge(self, other: Summary) -> None:
        """Add the groups of another summary with the same settings. The order of merging does not matter.

        Raises:
            UsageError: The settings differ.
        """
        if self._settings() != other._settings():
            raise UsageError(f"summaries of different settings don't merge: {self._settings()} and {other._settings()}")
        self.groups += other.groups
        for name, mean in self._means.items():
            mean.merge(other._means[name])
            self._monte_carlo[name] += other._monte_carlo[name]
            self._unproven[name] += other._unproven[name]

    def _settings(self) -> tuple[object, ...]:
        return (self.ks, self.weighting, self.interval, self.level, self.seed, self.bounds)

    def estimates(self) -> dict[str, Estimate]:
        """All metrics with at least one group. `n` is the number of those groups, `left_out` the number of the others.

        Metrics that a group stopped early leaves undetermined have no estimate. See `unproven`.

        A method such as `beta, 3 groups by monte carlo` gives the number of groups whose votes could not be counted
        exactly.
        """
        estimates = {}
        for name, mean in self._means.items():
            if mean.n and not self._unproven[name]:
                drawn = self._monte_carlo[name]
                left_out = self.groups - mean.n
                bounds = UNIT if name.startswith("pass") else self.bounds
                found = mean.estimate(
                    self.level, interval=self.interval, bounds=bounds, seed=self.seed, left_out=left_out
                )
                note = f", {drawn} groups by monte carlo" if drawn else ""
                estimates[name] = replace(found, method=found.method + note)
        return estimates

    def unproven(self) -> dict[str, int]:
        """Metrics without an estimate because of groups stopped early, with the number of undetermined groups."""
        return {name: count for name, count in self._unproven.items() if count}
