"""Is one run really better than another on the same questions?

Rows are paired by document, and documents that ask the same question form a cluster, the independent unit: the interval
of the mean difference is the beta interval over clusters (where values leave [0, 1]: a percentile bootstrap), the
p-value that of a sign-flip test of the clusters' sums (all signs up to 12 clusters that differ, else seeded draws).
Where several differences are looked at together, Holm's correction keeps the chance of any false one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from verikit.evals.samples import value_of
from verikit.stats import beta_interval
from verikit.types import PASS_MARK

RESAMPLES = 2000
FLIPS = 10_000
EXACT = 12
"""Clusters that differ up to which all signs are tried."""
_CHUNK = 2_000_000
_ROUNDING = 1e-9
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """A document whose value differs between the runs."""

    id: str
    question: str
    before: float
    after: float


@dataclass(frozen=True)
class Difference:
    """The second run less the first on one task."""

    task: str
    metric: str
    before: float
    after: float
    low: float
    high: float
    p: float
    """Of a difference at least this large where there is none."""
    docs: int
    clusters: int
    gained: int
    """Documents wrong in the first run and right in the second."""
    lost: int
    """The other way round."""
    left_out: int
    """Documents of either run that have no value in both."""
    changed: tuple[Change, ...] = field(default=(), repr=False)
    """By the size of the change."""

    @property
    def value(self) -> float:
        """The mean difference."""
        return self.after - self.before


def compare_rows(task: str, metric: str, first: Sequence[Row], second: Sequence[Row]) -> Difference | None:
    """Compare two runs' rows of a task by `value_of`, the metric named; None where no document has a value in both."""
    before, after = _values(first), _values(second)
    shared = [key for key in before if key in after]
    questions = {key: question for rows in (first, second) for key, question in map(_key, rows)}
    if not shared:
        return None
    old = np.array([before[key] for key in shared])
    new = np.array([after[key] for key in shared])
    sums, counts = _clusters([questions[key] for key in shared], new - old)
    within = min(old.min(), new.min()) >= 0 and max(old.max(), new.max()) <= 1
    low, high = _beta(sums, counts) if within else _bootstrap(sums, counts)
    changes = [Change(key, questions[key], before[key], after[key]) for key in shared if before[key] != after[key]]
    return Difference(
        task,
        metric,
        float(old.mean()),
        float(new.mean()),
        low,
        high,
        sign_flip(sums),
        len(shared),
        len(sums),
        int(((old < PASS_MARK) & (new >= PASS_MARK)).sum()),
        int(((old >= PASS_MARK) & (new < PASS_MARK)).sum()),
        len({key for rows in (first, second) for key, _ in map(_key, rows)}) - len(shared),
        tuple(sorted(changes, key=lambda change: (change.before - change.after, change.id), reverse=True)),
    )


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the given order (Holm 1979)."""
    adjusted, most = [0.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        most = max(most, min(1.0, ps[index] * (len(ps) - rank)))
        adjusted[index] = most
    return adjusted


def sign_flip(sums: Any, *, seed: int = 0) -> float:
    """Two-sided p-value of the clusters' differences being symmetric about zero."""
    live = sums[np.abs(sums) > _ROUNDING]
    if not len(live):
        return 1.0
    observed = abs(live.sum()) - _ROUNDING
    if len(live) <= EXACT:
        signs = np.array(list(product((-1.0, 1.0), repeat=len(live))))
        return float((np.abs(signs @ live) >= observed).mean())
    rng = np.random.default_rng(seed)
    as_large = sum(
        int((np.abs((2.0 * rng.integers(0, 2, (size, len(live))) - 1) @ live) >= observed).sum())
        for size in _chunks(FLIPS, len(live))
    )
    return (as_large + 1) / (FLIPS + 1)


def _beta(sums: Any, counts: Any) -> tuple[float, float]:
    """Beta interval of sum over count, each difference in [-1, 1], at Kish's effective number of clusters."""
    rate, squares = sums.sum() / counts.sum(), (counts**2).sum()
    variance = ((sums - rate * counts) ** 2).sum() / squares
    low, high = beta_interval((1 + float(rate)) / 2, float(variance) / 4, float(counts.sum() ** 2 / squares))
    return 2 * low - 1, 2 * high - 1


def _bootstrap(sums: Any, counts: Any) -> tuple[float, float]:
    """Percentile interval of sum over count, by resampled clusters; the whole line where they are all the same."""
    if np.ptp(sums / counts) <= _ROUNDING:
        return -math.inf, math.inf
    rng, n = np.random.default_rng(0), len(sums)
    drawn = []
    for size in _chunks(RESAMPLES, n):
        times = rng.multinomial(n, np.full(n, 1 / n), size)
        drawn.append((times @ sums) / (times @ counts))
    low, high = np.quantile(np.concatenate(drawn), (0.025, 0.975))
    return float(low), float(high)


def _chunks(total: int, width: int) -> Iterator[int]:
    """Sizes that add up to a total, such that none makes too large a table of this width."""
    most = max(1, _CHUNK // width)
    while total:
        yield min(most, total)
        total -= min(most, total)


def _clusters(questions: Sequence[str], differences: Any) -> tuple[Any, Any]:
    """Sum and count of the differences of each question."""
    sums: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    for question, difference in zip(questions, differences, strict=True):
        sums[question] += float(difference)
        counts[question] += 1
    return np.array(list(sums.values())), np.array(list(counts.values()), float)


def _values(rows: Sequence[Row]) -> dict[str, float]:
    """Each document's value, where it has one."""
    pairs = [(_key(row)[0], value_of(row)) for row in rows]
    return {key: value for key, value in pairs if value is not None}


def _key(row: Row) -> tuple[str, str]:
    """What a document is paired by, and its question."""
    doc = row["doc"]
    question = str(doc.get("question", row.get("doc_hash", "")))
    return str(doc.get("id", row["doc_id"])), question
