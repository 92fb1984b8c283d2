"""Juries: several judges in parallel, one verdict (Verga et al. 2024).

The jurors' engines work at the same time, each in its own thread. If a juror should have judged but could not, the
whole is unscored, and its parts are preserved.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import ClassVar, Literal, get_args

from verikit.base import Verifier
from verikit.compose import combine
from verikit.engines.usage import added
from verikit.errors import ConfigError, nearest
from verikit.judges.pairwise import TIE, ByScore, Comparer, Comparison, Pair
from verikit.replies.split import Reads
from verikit.types import Sample, Score

Rule = Literal["majority", "mean", "minimum"]


@dataclass(frozen=True)
class Jury(Verifier, Comparer):
    """Several judges under one rule (see `jury`)."""

    name = "jury"
    reads: ClassVar[Reads | None] = None
    judges: tuple[Verifier, ...]
    rule: Rule = "majority"

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score with every judge in parallel, then apply the rule."""
        with ThreadPoolExecutor(len(self.judges)) as pool:
            columns = list(pool.map(lambda judge: judge.score(samples), self.judges))
        heard = [_Heard(judge.name, tuple(column)) for judge, column in zip(self.judges, columns, strict=True)]
        return getattr(combine, self.rule)(*heard).score_batch(samples)  # type: ignore[no-any-return]

    def compare(self, pairs: Sequence[Pair]) -> list[Comparison]:
        """Compare with every judge in parallel. The result is the majority's side, or the mean preference."""
        comparers = [judge if isinstance(judge, Comparer) else ByScore(judge) for judge in self.judges]
        with ThreadPoolExecutor(len(comparers)) as pool:
            columns = list(pool.map(lambda judge: judge.compare(pairs), comparers))
        return [self._agreed(row) for row in zip(*columns, strict=True)]

    def _agreed(self, votes: Sequence[Comparison]) -> Comparison:
        orders = tuple(chain.from_iterable(vote.orders for vote in votes))
        usage = added(*(vote.usage for vote in votes))
        for vote in votes:
            if vote.preference is None:
                return Comparison(None, vote.reason, orders, vote.error, usage)
        known = [vote.preference for vote in votes if vote.preference is not None]
        if self.rule == "mean":
            return Comparison(fmean(known), f"mean of {len(votes)} judges", orders, usage=usage)
        wins, losses = sum(p > TIE for p in known), sum(p < TIE for p in known)
        side = self._decided(wins, losses, len(votes))
        return Comparison(side, f"{wins} to {losses} of {len(votes)} judges", orders, usage=usage)

    def _decided(self, wins: int, losses: int, votes: int) -> float:
        needed = votes if self.rule == "minimum" else votes // 2 + 1
        if wins >= needed:
            return 1.0
        return 0.0 if losses >= needed else TIE


@dataclass(frozen=True)
class _Heard(Verifier):
    """A juror's precomputed scores."""

    reads: ClassVar[Reads | None] = None
    name: str
    scores: tuple[Score, ...]

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        return list(self.scores)


def jury(*judges: Verifier, rule: Rule = "majority") -> Jury:
    """Run several judges in parallel: `majority` passes if more than half do, `mean`, or `minimum` (all must agree).

    Between two answers `majority` is the side that more than half choose, `minimum` the side that all choose, otherwise
    a tie.

    Args:
        *judges: Two judges or more, all pointwise or all pairwise.
        rule: How their verdicts are combined.
    """
    if len(judges) < 2 or not all(isinstance(judge, Verifier) for judge in judges):
        raise ConfigError("a jury has at least two judges", hint="jury(pairwise('…'), pairwise('…'), rule='majority')")
    if rule not in get_args(Rule):
        raise ConfigError(f"rule {rule!r} of the jury not found", hint=nearest(rule, get_args(Rule)))
    return Jury(judges, rule)
