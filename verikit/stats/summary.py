"""Streaming summary of scored groups: pass@k, pass^k, maj@k, bon@k and wmaj@k for several k from one n, with intervals.

Fed one group at a time; what is kept is one `Mean` per metric, so memory is constant and the result has no order.
Candidates whose truth is unscored are left out, as if never drawn (n shrinks); a group with fewer than k scored
candidates is left out for that k, and each estimate says how many were. Every prompt counts the same, whatever its n.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from verikit.errors import UsageError
from verikit.stats.intervals import LARGEST, Estimate, Interval, Mean, check_interval
from verikit.stats.subsets import all_at_k, best_of_ranked, mean_at_k, pass_at_k, ranked_truth
from verikit.stats.votes import Weighting, vote_at_k, vote_weights
from verikit.types import PASS_MARK, UNIT, Score

METRICS = ("mean@", "pass@", "pass^", "maj@", "bon@", "wmaj@")
"""One random candidate; any of k right; all of k; majority; best by ranking score; vote weighted by that score."""


def at_k(metric: str) -> tuple[str, int] | None:
    """The kind, one of `METRICS`, and the k of a metric's name; None of one that has no k."""
    kind, k = metric.rstrip("0123456789"), metric[len(metric.rstrip("0123456789")) :]
    return (kind, int(k)) if kind in METRICS and k else None


class Summary:
    """Estimates over prompts, named `mean`, and for each k `mean@k`, `pass@k`, `pass^k`, `maj@k`, `bon@k`, `wmaj@k`.

    `maj` needs clusters, `bon` a ranking, `wmaj` both. `mean@k` is the mean over the groups that reach k, to compare
    the others at k with.
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
        """Set up for these k; `seed` is that of the bootstrap and of votes that must be drawn.

        `bounds` are those of truth (`Verifier.bounds`), which intervals rest on.

        Raises:
            UsageError: a k below 1, an unknown weighting or interval, or a level outside (0, 1).
        """
        self.ks: list[int] = sorted(set(ks))
        if self.ks and self.ks[0] < 1:
            raise UsageError(f"k must be at least 1, not {self.ks[0]}")
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

    def add(
        self,
        truth: Sequence[Score],
        ranking: Sequence[Score] | None = None,
        clusters: Sequence[int | None] | None = None,
    ) -> None:
        """Count one group: the truth of its candidates, their ranking scores, their clusters of equal answers.

        A candidate without a ranking score ranks below all that have one, and casts no weighted vote; a group where
        none has one is left out of `bon` and `wmaj`.

        Raises:
            UsageError: lists of different lengths, or a truth beyond 1e100.
        """
        for other in (ranking, clusters):
            if other is not None and len(other) != len(truth):
                raise UsageError(f"{len(other)} ranking scores or clusters for {len(truth)} candidates")
        kept = [i for i, score in enumerate(truth) if score.value is not None]
        values = [truth[i].filled(0.0) for i in kept]
        if any(abs(value) > LARGEST for value in values):
            raise UsageError(f"a truth of {max(values, key=abs)!r} can't be averaged", hint="it belongs in [0, 1]")
        self.groups += 1
        if not kept:
            return
        ranks = [ranking[i].value for i in kept] if ranking is not None else []
        known = [rank for rank in ranks if rank is not None]
        self._means["mean"].add(mean_at_k(values, 1))
        self._add_closed_forms(values, [-math.inf if rank is None else rank for rank in ranks] if known else None)
        if clusters is not None:
            votes = [clusters[i] for i in kept]
            self._add_votes("maj", values, votes, None)
            if known:
                heard = [vote if rank is not None else None for vote, rank in zip(votes, ranks, strict=True)]
                weights = iter(vote_weights(known, self.weighting))
                self._add_votes("wmaj", values, heard, [0.0 if rank is None else next(weights) for rank in ranks])

    def _add_closed_forms(self, values: list[float], scores: list[float] | None) -> None:
        n, right = len(values), sum(value >= PASS_MARK for value in values)
        ranked = None if scores is None else ranked_truth(values, scores)
        for k in self._reached(n):
            self._means[f"mean@{k}"].add(mean_at_k(values, k))
            self._means[f"pass@{k}"].add(pass_at_k(n, right, k))
            self._means[f"pass^{k}"].add(all_at_k(n, right, k))
            if ranked is not None:
                self._means[f"bon@{k}"].add(best_of_ranked(ranked, k))

    def _add_votes(
        self, metric: str, values: list[float], votes: list[int | None], weights: list[float] | None
    ) -> None:
        for k in self._reached(len(values)):
            vote = vote_at_k(values, votes, k, weights, seed=self.seed)
            self._means[f"{metric}@{k}"].add(vote.value)
            self._monte_carlo[f"{metric}@{k}"] += vote.method == "monte carlo"

    def _reached(self, n: int) -> list[int]:
        return [k for k in self.ks if k <= n]

    def merge(self, other: Summary) -> None:
        """Count what another summary of the same settings counted: workers each keep one, and the result has no order.

        Raises:
            UsageError: the settings differ.
        """
        if self._settings() != other._settings():
            raise UsageError(f"summaries of different settings don't merge: {self._settings()} and {other._settings()}")
        self.groups += other.groups
        for name, mean in self._means.items():
            mean.merge(other._means[name])
            self._monte_carlo[name] += other._monte_carlo[name]

    def _settings(self) -> tuple[object, ...]:
        return (self.ks, self.weighting, self.interval, self.level, self.seed, self.bounds)

    def estimates(self) -> dict[str, Estimate]:
        """Every metric at least one group took part in; `n` counts those groups, `left_out` the others.

        A method such as `beta, 3 groups by monte carlo` names the groups whose votes could not be had exactly.
        """
        estimates = {}
        for name, mean in self._means.items():
            if mean.n:
                drawn = self._monte_carlo[name]
                left_out = self.groups - mean.n
                bounds = UNIT if name.startswith("pass") else self.bounds
                found = mean.estimate(
                    self.level, interval=self.interval, bounds=bounds, seed=self.seed, left_out=left_out
                )
                note = f", {drawn} groups by monte carlo" if drawn else ""
                estimates[name] = replace(found, method=found.method + note)
        return estimates
