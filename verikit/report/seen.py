"""Aggregates a score run's rows: values, rankings, steps, and disagreements between its verifiers."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from verikit.report.curves import StepMeans
from verikit.report.items import leaves, scored
from verikit.report.model import Table
from verikit.stats.intervals import Mean
from verikit.types import PASS_MARK, JsonObject

VERIFIERS = 8
"""Verifiers that are compared with each other, at most."""
REASONS = 10
LONGEST_REASON = 200
DISTINCT = 10_000
"""Different reasons that are counted."""
PARTS = 500
"""Maximum number of distinct parts that are counted, since rows with their own criteria could have any number."""


class RunTally:
    """Counts over all rows of a run, added prompt by prompt."""

    def __init__(self) -> None:
        self.values: array[float] = array("d")
        self.by: dict[str, array[float]] = {"right": array("d"), "wrong": array("d")}
        self.prompts: dict[str, array[float]] = {"prompts": array("d")}
        self.steps: dict[str, StepMeans] = {}
        """Step means by verifier."""
        self._parts: dict[str, tuple[Mean, Mean, Counter[str]]] = {}
        self._pairs: dict[tuple[str, str], Counter[tuple[bool, bool]]] = {}
        self._reasons: Counter[str] = Counter()

    def add(self, rows: Sequence[JsonObject]) -> None:
        """Count the rows of one prompt."""
        known = [row for row in rows if row["value"] is not None]
        for row in known:
            self._count(row)
        if len(known) > 1:
            self.prompts["prompts"].append(sum(row["value"] >= PASS_MARK for row in known) / len(known))
        for row in rows:
            self._compare(row)

    def _count(self, row: JsonObject) -> None:
        """Count a scored candidate."""
        right = row["value"] >= PASS_MARK
        self.values.append(row["value"])
        if row.get("by", {}).get("value") is not None:
            self.by["right" if right else "wrong"].append(row["by"]["value"])
        for name, part in scored(row):
            if "steps" in part:
                self.steps.setdefault(name, StepMeans()).add(part["steps"], right)
        if not right:
            self._reasons.update(reason for reason in _why(row) if self._is_counted(reason))

    def _is_counted(self, reason: str) -> bool:
        """Whether a reason is counted. A run with a different reason per row must not fill the memory."""
        return len(self._reasons) < DISTINCT or reason in self._reasons

    def _compare(self, row: JsonObject) -> None:
        found = {name: part for name, part in leaves(row) if name in self._parts or len(self._parts) < PARTS}
        for name, part in found.items():
            mean, right, unscored = self._parts.setdefault(name, (Mean(), Mean(), Counter()))
            if part["value"] is None:
                unscored[part["status"]] += 1
            else:
                mean.add(part["value"])
                right.add(part["value"] >= PASS_MARK)
        known = [(name, part["value"] >= PASS_MARK) for name, part in found.items() if part["value"] is not None]
        for (a, first), (b, second) in combinations(known[:VERIFIERS], 2):
            self._pairs.setdefault((a, b), Counter())[first, second] += 1

    def tables(self) -> Iterator[Table]:
        """The verifiers one by one and two by two, and why candidates are wrong."""
        if self._parts:
            yield Table(
                "Verifiers",
                ("verifier", "scored", "right", "mean", "unscored"),
                [_part(name, *found) for name, found in self._parts.items()],
            )
        if self._pairs:
            yield Table(
                "Verifiers two by two",
                ("verifier", "other", "both right", "only the first", "only the other", "both wrong", "agree"),
                [_pair(*names, counts) for names, counts in self._pairs.items()],
            )
        if common := [(reason, count) for reason, count in self._reasons.most_common(REASONS) if count > 1]:
            wrong = sum(value < PASS_MARK for value in self.values)
            rows = [(reason, count, f"{count / wrong:.1%}") for reason, count in common]
            yield Table("Why candidates are wrong", ("reason", "candidates", "share of the wrong"), rows)


def _why(row: JsonObject) -> Iterator[str]:
    """Yield the reasons of a wrong candidate: those of its wrong parts if it has some, otherwise its own."""
    wrong = [(name, part) for name, part in leaves(row) if part["value"] is not None and part["value"] < PASS_MARK]
    for name, part in wrong or [("", row)]:
        if reason := part.get("reason", ""):
            yield (f"{name}: {reason}" if name else reason)[:LONGEST_REASON]


def _part(name: str, mean: Mean, right: Mean, unscored: Counter[str]) -> tuple[str | int, ...]:
    told = ", ".join(f"{count:,} {status}" for status, count in unscored.items()) or 0
    if not mean.n:
        return name, 0, "", "", told
    return name, mean.n, f"{right.estimate().value:.1%}", f"{mean.estimate().value:.3f}", told


def _pair(a: str, b: str, counts: Counter[tuple[bool, bool]]) -> tuple[str | int, ...]:
    both, only, other, none = (counts[key] for key in ((True, True), (True, False), (False, True), (False, False)))
    return a, b, both, only, other, none, f"{(both + none) / counts.total():.1%}"
