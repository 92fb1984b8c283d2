"""Results of an audit: the available checks, a finding of one row, and the counts of each check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from verikit.stats import mean_interval


class Check(NamedTuple):
    """One check of an audit."""

    group: Literal["golds", "twins", "reward", "candidates", "hacks", "patches", "workspaces"]
    title: str


CHECKS: Mapping[str, Check] = {
    "empty": Check("golds", "a missing gold answer, or one that states that there is no answer"),
    "unreadable": Check("golds", "a gold answer that is cut off, damaged, or not an answer"),
    "several": Check("golds", "a gold answer with several different answers"),
    "contradiction": Check("golds", "a gold answer that contradicts the row's solution"),
    "prompt": Check("golds", "a gold answer that is the prompt"),
    "option": Check("golds", "a gold answer that is not one of the row's options"),
    "duplicate": Check("twins", "the same question in two rows"),
    "near_duplicate": Check("twins", "nearly the same question in two rows"),
    "leak": Check("twins", "a question that is also in the other file"),
    "unscored": Check("reward", "a reply that the reward fails to score"),
    "itself": Check("reward", "the gold answer itself is not rewarded"),
    "rewriting": Check("reward", "the gold answer in another spelling is not rewarded"),
    "near_miss": Check("reward", "an answer close to the gold answer is rewarded"),
    "other_gold": Check("reward", "another row's gold answer is rewarded"),
    "suspect": Check("candidates", "most candidates agree on another answer than the gold"),
    "label": Check("candidates", "a candidate's reward contradicts its label"),
    "noise": Check("candidates", "the same candidate gets different rewards"),
    "hack": Check("hacks", "a reply that solves nothing is rewarded"),
    "gold_patch": Check("patches", "the row's own patch does not pass its tests"),
    "empty_patch": Check("patches", "a patch that changes nothing passes the tests"),
    "undone": Check("workspaces", "a workspace with an undone task is rewarded"),
}
"""Every check by name, in the order of the report."""
GROUPS = tuple(dict.fromkeys(check.group for check in CHECKS.values()))


@dataclass(frozen=True, slots=True)
class Finding:
    """One row that a check found."""

    check: str
    """A key of `CHECKS`."""
    line: int
    """The row, 1-based."""
    id: str
    what: str
    """The problem, in one line."""
    transform: str = ""
    """Name of the rewriting, near miss or hack."""
    text: str = ""
    """The completion that was scored, if any, cut to a few hundred characters."""
    value: float | None = None
    """The reward it received."""


@dataclass(frozen=True, slots=True)
class CheckCount:
    """Number of rows that a check covered, and of those with a finding."""

    check: str
    rows: int
    found: int

    @property
    def share(self) -> float:
        """Fraction of the checked rows with a finding. 0 if no row was checked."""
        return self.found / self.rows if self.rows else 0.0


@dataclass(frozen=True, slots=True)
class ProbeCount:
    """One way of generating texts (a format, a rewriting, a near miss, a hack), with the rewards they received."""

    check: str
    transform: str
    rows: int
    """Rows on which it was tried and scored."""
    paid: int
    """Rows that received at least the pay mark."""
    mean: float | None
    """Mean reward. None if no row was scored."""
    highest: float | None
    unscored: int = 0

    @property
    def share(self) -> float:
        """Fraction of scored rows that were rewarded."""
        return self.paid / self.rows if self.rows else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the fraction over rows."""
        if not self.rows:
            return 0.0, 1.0
        found = mean_interval([1.0] * self.paid + [0.0] * (self.rows - self.paid))
        return found.low, found.high


@dataclass(frozen=True, slots=True)
class LabelCount:
    """Counts of a reward's decisions on labelled candidates of one kind."""

    kind: str
    right: int
    """Scored candidates that are labelled right."""
    wrong: int
    missed: int
    """Right candidates that were not rewarded."""
    passed: int
    """Wrong candidates that were rewarded."""
    unscored: int = 0

    @property
    def fpr(self) -> float | None:
        """Fraction of wrong candidates that are rewarded. None if there are none."""
        return self.passed / self.wrong if self.wrong else None

    @property
    def fnr(self) -> float | None:
        """Fraction of right candidates that are not rewarded. None if there are none."""
        return self.missed / self.right if self.right else None


@dataclass(frozen=True, slots=True)
class NoiseCount:
    """Variation of scores when the same candidates are scored again."""

    repeats: int
    candidates: int
    changed: int
    """Candidates with more than one value."""
    flipped: int
    """Candidates that were rewarded in some repeats and not in others."""
    spread: float
    """Standard deviation of a candidate's values, averaged over candidates."""


@dataclass(slots=True)
class AuditResult:
    """All results of an audit."""

    file: str
    by: str
    """The reward's spec. Empty if only the data were checked."""
    rows: int = 0
    bad_rows: int = 0
    """Rows that could not be read."""
    probed: int = 0
    """Number of rows on which the reward was tried."""
    checks: list[CheckCount] = field(default_factory=list)
    probes: list[ProbeCount] = field(default_factory=list)
    labels: list[LabelCount] = field(default_factory=list)
    noise: NoiseCount | None = None
    forms: dict[str, str] = field(default_factory=dict)
    """Format of the offered gold answer by its kind: the format that is rewarded most often."""
    findings: list[Finding] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    """Warnings to read before trusting the counts."""

    def count(self, check: str) -> CheckCount:
        """Return the counts of one check, with zero rows if it did not run."""
        return next((found for found in self.checks if found.check == check), CheckCount(check, 0, 0))

    def of(self, check: str) -> list[Finding]:
        """The findings of one check."""
        return [finding for finding in self.findings if finding.check == check]


def counted(check: str, rows: int, findings: Sequence[Finding]) -> CheckCount:
    """The count of a check from its findings, each row once."""
    return CheckCount(check, rows, len({finding.line for finding in findings}))
