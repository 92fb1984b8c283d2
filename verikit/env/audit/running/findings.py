"""Findings of a running check, collected while it runs, to lose none when its seconds are used up."""

from __future__ import annotations

from dataclasses import dataclass, field

from verikit.env.audit.records import CheckRecord, EnvFinding, judged

TESTS, SOLUTION = "tests/test.sh", "solution/solve.sh"


@dataclass
class RunFindings:
    """Findings, gaps and notes of one check."""

    findings: list[EnvFinding] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    """Things that are missing here."""
    notes: list[str] = field(default_factory=list)
    enough: bool = False
    """Whether the runs so far decide, if the seconds of the check are used up."""

    def add(self, kind: str, what: str, where: str = TESTS) -> None:
        """Add an error."""
        self.findings.append(EnvFinding(kind, what, where))

    def record(self) -> CheckRecord:
        """The check's record."""
        return judged(self.findings, [one for one in self.undecided if one], self.notes)
