"""Results of an environment audit: a status for each check of each task, with evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

CheckStatus = Literal["pass", "fail", "error", "not_run"]
"""`error`: the task can't be read. `not_run`: the check can't decide here, and `needs` names the missing thing."""
STATUSES: tuple[CheckStatus, ...] = ("pass", "fail", "error", "not_run")


@dataclass(frozen=True, slots=True)
class EnvFinding:
    """One error of a task."""

    kind: str
    """The error's name within its check."""
    what: str
    """The error in one line."""
    where: str = ""
    """The file, with its line if there is one: `tests/test.sh:12`."""


@dataclass(frozen=True, slots=True)
class EnvEvidence:
    """One run of a running check."""

    what: str
    """The files that were graded: `oracle`, `nop`, a mutant."""
    command: str
    """The script, as the box runs it."""
    result: str
    """The reward, or why there isn't one."""
    seconds: float
    digest: str
    """SHA-256 of the files of the box."""


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """The result of one check on one task."""

    status: CheckStatus
    findings: tuple[EnvFinding, ...] = ()
    needs: str = ""
    """The missing requirement of a check that was not run, or that failed to read the task."""
    notes: tuple[str, ...] = ()
    """Facts for the reader. They are not errors."""
    evidence: tuple[EnvEvidence, ...] = ()
    """The runs of a running check."""

    def as_dict(self) -> dict[str, Any]:
        """The record as JSON, without empty fields."""
        found: dict[str, Any] = {"status": self.status}
        if self.findings:
            found["findings"] = [
                {"kind": one.kind, "what": one.what, **({"where": one.where} if one.where else {})}
                for one in self.findings
            ]
        if self.needs:
            found["needs"] = self.needs
        if self.notes:
            found["notes"] = list(self.notes)
        if self.evidence:
            found["evidence"] = [asdict(one) for one in self.evidence]
        return found

    @classmethod
    def of(cls, told: dict[str, Any]) -> CheckRecord:
        """The record that `as_dict` wrote.

        Raises:
            KeyError: It is not such a record.
            TypeError: It is not such a record.
        """
        findings = tuple(EnvFinding(**one) for one in told.get("findings", ()))
        evidence = tuple(EnvEvidence(**one) for one in told.get("evidence", ()))
        return cls(told["status"], findings, told.get("needs", ""), tuple(told.get("notes", ())), evidence)


def judged(findings: Sequence[EnvFinding], undecided: Sequence[str] = (), notes: Sequence[str] = ()) -> CheckRecord:
    """The record of a check that was run: `fail` with findings, otherwise `not_run` if something is undecided."""
    unique = tuple(dict.fromkeys(findings))
    if unique:
        return CheckRecord("fail", unique, notes=(*notes, *(f"undecided: {one}" for one in dict.fromkeys(undecided))))
    if undecided:
        return CheckRecord("not_run", needs="; ".join(dict.fromkeys(undecided)), notes=tuple(notes))
    return CheckRecord("pass", notes=tuple(notes))


@dataclass(slots=True)
class TaskRecord:
    """The results of all checks on one task."""

    task: str
    """The folder's path within the audited one; bytes that are not UTF-8 are escaped."""
    digest: str = ""
    """SHA-256 of the task's manifest; empty if the task can't be read."""
    format: str = "harbor"
    """The format of the environment; several joined by "or" if it is ambiguous."""
    checks: dict[str, CheckRecord] = field(default_factory=dict)
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """The record as JSON."""
        checks = {name: record.as_dict() for name, record in self.checks.items()}
        head = {"task": self.task, "format": self.format, "digest": self.digest}
        return {**head, "seconds": round(self.seconds, 4), "checks": checks}

    @classmethod
    def of(cls, told: dict[str, Any]) -> TaskRecord:
        """The record that `as_dict` wrote.

        Raises:
            KeyError: It is not such a record.
            TypeError: It is not such a record.
        """
        checks = {name: CheckRecord.of(record) for name, record in told["checks"].items()}
        return cls(told["task"], told["digest"], told["format"], checks, told["seconds"])
