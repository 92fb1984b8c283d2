"""Counts and estimates over scored groups. Tallies can be merged, so workers count their own scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from verikit.base import Verifier, walk
from verikit.errors import UsageError
from verikit.platform.terminal import SPENT
from verikit.replies.split import CUT
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.rows import FINISH, from_row
from verikit.select import clusters, equality
from verikit.stats import Mean, Summary
from verikit.stats.early import EarlyStop
from verikit.types import STATUSES, UNIT, JsonObject, Score

MAX_REASONS = 1000
"""Maximum number of different reasons to count in a run. The first ones are used."""
REASON_CHARS = 300
PARTS = 10**9
"""Spending is counted in billionths, because sums of integers don't depend on how the rows were split."""
LOST = ("error", "timeout")
"""Statuses that leave a candidate unscored because of verikit or the data."""


def _spenders(parts: Sequence[Verifier]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in getattr(part, "spenders", ())))


class Tally:
    """The counts and estimates behind a summary."""

    def __init__(self, plan: ScoringPlan, verifier: Verifier | None, max_reasons: float = MAX_REASONS) -> None:
        """Start to count. Without a verifier, equal answers can't be recognised, so there is no maj@k."""
        parts = [] if verifier is None else list(walk(verifier))
        self._verifier = verifier
        self._plan = plan
        self._max_reasons = max_reasons
        self._estimates = Summary(plan.ks, seed=plan.seed, bounds=UNIT if verifier is None else verifier.bounds)
        self._selected = Mean()
        self._tallied = sorted({key for part in parts for key in part.tallied})
        self._rates = {name: pair for part in parts for name, pair in part.rates.items()}
        # Parts, such as the judges of a cascade, whose spending is also counted separately, under `NAME cost` etc.
        self._spenders = _spenders(parts)
        self._priced = [*SPENT, *(f"{name} {key}" for name in self._spenders for key in SPENT)]
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        """Why candidates are unscored, in order of appearance."""
        self._early: Counter[EarlyStop] = Counter()
        """How sampling ended, for prompts whose sampling a rule could end."""

    def part(self) -> Tally:
        """Return an empty tally for one chunk, to be merged.

        It keeps every reason, so the result doesn't depend on the chunks.
        """
        return Tally(self._plan, self._verifier, math.inf)

    def add(
        self,
        truth: Sequence[Score],
        ranking: Sequence[Score] | None,
        selected: int | None,
        finished: Sequence[str] = (),
        early: EarlyStop | None = None,
    ) -> None:
        """Count one group: the truth scores of its candidates, their ranking scores, and which one was selected.

        `finished` is the reason why the model stopped writing each. `early` describes how sampling ended if a rule
        could end it.
        """
        self.counts["prompts"] += 1
        self.counts["candidates"] += len(truth)
        self.counts.update([score.status for score in truth])
        ranks = ranking or ()
        self.counts.update([f"by {rank.status}" for rank in ranks])
        self.counts.update(_ends(finished))
        if early is not None:
            self._early[early] += 1
        for score, rank in zip(truth, ranks or truth, strict=True):
            self._add_candidate(score, rank)
        for rank in ranks:
            self._spent(rank.usage)
        self._estimates.add(truth, ranking, self._voted(truth), early)
        if selected is not None and (value := truth[selected].value) is not None:
            self._selected.add(value)

    def _add_candidate(self, score: Score, rank: Score) -> None:
        """Count the truth score of one candidate, and its cost."""
        if score.value is None or rank.value is None:
            self._unscored(score, rank)
        self.counts["graded"] += score.value not in (None, 0.0, 1.0)
        self.counts.update({key: round(score.usage[key]) for key in self._tallied if key in score.usage})
        self._spent(score.usage)

    def _spent(self, usage: Mapping[str, float]) -> None:
        """Add up a score's costs as integers, so the order of the sums makes no difference."""
        amounts = {key: float(usage[key]) for key in self._priced if key in usage}
        self.counts.update({f"spent {key}": round(v * PARTS) for key, v in amounts.items() if math.isfinite(v)})

    def _voted(self, truth: Sequence[Score]) -> list[int | None] | None:
        """The cluster of each candidate's answer, for majorities; None without a verifier or without answers."""
        answers = [score.answer for score in truth]
        if self._verifier is None or all(answer is None for answer in answers):
            return None
        return clusters(answers, *equality(self._verifier, truth))

    def _unscored(self, score: Score, rank: Score) -> None:
        told = {
            "" if part is score else "--by: ": part.reason[:REASON_CHARS] for part in (score, rank) if not part.scored
        }
        for reason in (f"{whose}{reason}".encode(errors="replace").decode() for whose, reason in told.items()):
            self._count(reason, 1)
        self.counts["unscored"] += score.status in LOST or rank.status in LOST

    def _count(self, reason: str, count: int) -> None:
        if reason in self.reasons or len(self.reasons) < self._max_reasons:
            self.reasons[reason] += count

    def read(
        self, scores: Iterable[JsonObject], selections: Iterable[JsonObject], errors: Iterable[JsonObject]
    ) -> Iterator[tuple[str, int]]:
        """Count the content of a run's files. Yield the id and line of each group once it is counted.

        Raises:
            UsageError: These are not the rows of one run.
        """
        chosen = iter(selections)
        try:
            for line, rows in groupby(scores, key=lambda row: int(row["line"])):
                group = list(rows)
                ranking = [from_row(row["by"]) for row in group] if self._plan.by is not None else None
                selected = next(chosen)["selected"] if self._plan.select is not None else None
                finished = [str(row.get(FINISH, "")) for row in group]
                self.add([from_row(row) for row in group], ranking, selected, finished, EarlyStop.of(group[0]))
                yield str(group[0]["id"]), line
        except (KeyError, TypeError, ValueError, StopIteration) as error:
            raise UsageError(
                f"the scores of an earlier run can't be read back: {error!r}",
                hint="pass --restart to rescore everything",
            ) from None
        for _ in errors:
            self.bad_row()

    def bad_row(self) -> None:
        """Count an unreadable row."""
        self.counts["bad_rows"] += 1

    def merge(self, other: Tally) -> None:
        """Add the counts of another tally, made from the rows that follow."""
        self.counts.update(other.counts)
        for reason, count in other.reasons.items():
            self._count(reason, count)
        self._early.update(other._early)
        self._estimates.merge(other._estimates)
        self._selected.merge(other._selected)

    def __getstate__(self) -> dict[str, Any]:
        # A worker's tally is sent back without its verifier, which the receiver has.
        return self.__dict__ | {"_verifier": None}

    def _rate(self, count: str, of: str) -> dict[str, Any]:
        found, among = self.counts[count], self.counts[of]
        return {"value": found / among, "count": found, "of": among, "keys": [count, of]}

    @property
    def unscored(self) -> int:
        """Candidates that should have a score but don't, and rows that could not be read."""
        return self.counts["unscored"] + self.counts["bad_rows"]

    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        summary: dict[str, Any] = {key: self.counts[key] for key in ("prompts", "candidates")}
        summary["status"] = {status: self.counts[status] for status in STATUSES}
        if self._plan.by is not None:
            summary["by_status"] = {status: self.counts[f"by {status}"] for status in STATUSES}
        summary["unscored"], summary["bad_rows"] = self.counts["unscored"], self.counts["bad_rows"]
        summary["graded"] = self.counts["graded"]
        summary["tallied"] = {key: self.counts[key] for key in self._tallied}
        summary |= dict(self._optional())
        summary["unscored_reasons"] = dict(sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))[:5])
        estimates = self._estimates.estimates()
        if self._selected.n:
            left_out = self.counts["prompts"] - self._selected.n
            estimates["selected"] = self._selected.estimate(bounds=self._estimates.bounds, left_out=left_out)
        summary["bounds"] = [end if math.isfinite(end) else None for end in self._estimates.bounds]
        summary["metrics"] = {name: estimate.as_row() for name, estimate in estimates.items()}
        return summary

    def _optional(self) -> Iterator[tuple[str, Any]]:
        """Yield the entries that only some runs' summaries have."""
        if spent := self._spending(""):
            yield "usage", spent
        if each := {name: spent for name in self._spenders if (spent := self._spending(f"{name} "))}:
            yield "usage_by", each
        if rates := {name: self._rate(*pair) for name, pair in self._rates.items() if self.counts[pair[1]]}:
            yield "rates", rates
        if told := self.counts["cut"] + self.counts["whole"]:
            yield "cut", {"value": self.counts["cut"] / told, "count": self.counts["cut"], "of": told}
        if self._early:
            yield "early_stop", self._stopped()

    def _spending(self, whose: str) -> dict[str, float]:
        counts = {key: self.counts[f"spent {whose}{key}"] for key in SPENT}
        return {key: count / PARTS for key, count in counts.items() if count}

    def _stopped(self) -> dict[str, Any]:
        """Return the effects of rules that could end the sampling, and the metrics that they leave undefined."""
        found = sorted(self._early, key=lambda early: (early.told(), early.why or ""))
        why = Counter({early.why: 0 for early in found if early.why is not None})
        for early in found:
            if early.why is not None:
                why[early.why] += self._early[early]
        return {
            "rules": list(dict.fromkeys(early.told() for early in found)),
            "prompts": self._early.total(),
            "stopped": why.total(),
            "why": dict(why),
            "least": min(early.least for early in found),
            "unproven": self._estimates.unproven(),
        }


def _ends(finished: Sequence[str]) -> list[str]:
    """Return `cut` or `whole` for each candidate with a known reason why the model stopped."""
    return ["cut" if reason in CUT else "whole" for reason in finished if reason]
