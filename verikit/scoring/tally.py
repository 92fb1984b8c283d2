"""Counts and estimates over scored groups. Tallies merge, so that workers count what they score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from verikit.scoring.plan import Plan
from verikit.select import clusters
from verikit.stats import Estimate, Mean, Summary
from verikit.types import STATUSES, Score
from verikit.verifier import Verifier


class Tally:
    """What a summary is made of."""

    def __init__(self, plan: Plan, verifier: Verifier) -> None:
        self._verifier = verifier
        self.selects = plan.select is not None
        self._estimates = Summary(plan.ks, seed=plan.seed)
        self._selected = Mean()
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        """Why candidates are unscored, most frequent first."""

    def add(self, truth: Sequence[Score], ranking: Sequence[Score] | None, selected: int | None) -> None:
        """Count one group: the truth of its candidates, their ranking scores, and which was selected."""
        self.counts["prompts"] += 1
        self.counts["candidates"] += len(truth)
        for score in truth:
            self.counts[score.status] += 1
            if score.value is None:
                self._reason(score.reason)
        answers = [score.answer for score in truth]
        voted = clusters(answers, self._verifier.equal) if any(answer is not None for answer in answers) else None
        self._estimates.add(truth, ranking, voted)
        if selected is not None and (value := truth[selected].value) is not None:
            self._selected.add(value)

    def _reason(self, reason: str) -> None:
        if reason in self.reasons or len(self.reasons) < 1000:
            self.reasons[reason] += 1

    def bad_row(self) -> None:
        """Count a row that could not be read."""
        self.counts["bad_rows"] += 1

    def merge(self, other: Tally) -> None:
        """Take over what another tally counted; the result has no order."""
        self.counts.update(other.counts)
        for reason, count in other.reasons.items():
            if reason in self.reasons or len(self.reasons) < 1000:
                self.reasons[reason] += count
        self._estimates.merge(other._estimates)
        self._selected.merge(other._selected)

    def __getstate__(self) -> dict[str, Any]:
        # A worker's tally travels back without its verifier, which the receiver has.
        return self.__dict__ | {"_verifier": None}

    @property
    def unscored(self) -> int:
        """Candidates that should have a score but have none, and rows that could not be read."""
        return self.counts["error"] + self.counts["timeout"] + self.counts["bad_rows"]

    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        summary: dict[str, Any] = {key: self.counts[key] for key in ("prompts", "candidates")}
        summary["status"] = {status: self.counts[status] for status in STATUSES}
        summary["bad_rows"] = self.counts["bad_rows"]
        summary["unscored_reasons"] = dict(sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))[:5])
        estimates = self._estimates.estimates()
        if self._selected.n:
            estimates["selected"] = self._selected.estimate(left_out=self.counts["prompts"] - self._selected.n)
        summary["metrics"] = {name: _as_dict(estimate) for name, estimate in estimates.items()}
        return summary


def _as_dict(estimate: Estimate) -> dict[str, Any]:
    names = ("value", "low", "high", "stderr", "n", "left_out", "method")
    return {name: getattr(estimate, name) for name in names}
