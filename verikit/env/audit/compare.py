"""Two reports of environment audits: tasks and checks that got better or worse, that are new, or that were removed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from verikit.env.audit.records import CheckRecord, TaskRecord
from verikit.env.audit.report import FORMAT, REPORT
from verikit.errors import UsageError

Direction = Literal["better", "worse", "new", "gone"]
MAX_REPORT = 2**30
"""Bytes."""
_RANK = {"error": 0, "fail": 0, "not_run": 1, "pass": 2}


@dataclass(frozen=True, slots=True)
class AuditChange:
    """A difference between two reports."""

    direction: Direction
    task: str
    check: str = ""
    """Empty for a task that is new or gone."""
    what: str = ""
    kinds: tuple[str, ...] = ()
    """The kinds of findings that are worse."""

    def as_dict(self) -> dict[str, Any]:
        """The change as JSON."""
        told = {"direction": self.direction, "task": self.task, "check": self.check, "what": self.what}
        return {name: value for name, value in told.items() if value}


def read_report(path: str | Path) -> dict[str, TaskRecord]:
    """The records of a report by their tasks.

    Args:
        path: The report, or the folder that has it.

    Raises:
        UsageError: It is not a report of this format.
    """
    file = Path(path) / REPORT if Path(path).is_dir() else Path(path)
    try:
        if file.stat().st_size > MAX_REPORT:
            raise UsageError(f"{file} is larger than {MAX_REPORT >> 20} MiB")
        told = json.loads(file.read_text("utf-8", "replace"))
        if told["format"] != FORMAT:
            raise KeyError("format")
        records = [TaskRecord.of({"format": "harbor", **one}) for one in told["tasks"]]
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{file} is not a report of verikit env audit", hint=f"its format is {FORMAT}") from None
    return {record.task: record for record in records}


def compare_reports(old: Mapping[str, TaskRecord], new: Mapping[str, TaskRecord]) -> Iterator[AuditChange]:
    """The differences, task by task in the order of the new report."""
    for task, record in new.items():
        before = old.get(task)
        if before is None:
            yield _new(record)
            continue
        for check in {**before.checks, **record.checks}:
            yield from _compared(task, check, before.checks.get(check), record.checks.get(check))
    for task in old:
        if task not in new:
            yield AuditChange("gone", task)


def _new(record: TaskRecord) -> AuditChange:
    """A task that the old report does not have."""
    failing = [name for name, result in record.checks.items() if _RANK[result.status] == 0]
    kinds = tuple(f"{name}.{one.kind}" for name in failing for one in record.checks[name].findings)
    return AuditChange("new", record.task, what=f"fails {', '.join(failing)}" if failing else "", kinds=kinds)


def _compared(task: str, check: str, old: CheckRecord | None, new: CheckRecord | None) -> Iterator[AuditChange]:
    """The difference of one check, if there is one."""
    if old is None and new is not None:
        yield AuditChange("new", task, check, f"the check is {_said(new)}")
    elif new is None and old is not None:
        yield AuditChange("gone", task, check, f"the check was {_said(old)}")
    elif old is not None and new is not None:
        yield from _moved(task, check, old, new)


def _said(record: CheckRecord) -> str:
    return record.status.replace("_", " ")


def _moved(task: str, check: str, old: CheckRecord, new: CheckRecord) -> Iterator[AuditChange]:
    """Findings and statuses of a check that both reports have."""
    before, after = _faults(old), _faults(new)
    worse = [what for what in after if what not in before]
    better = [what for what in before if what not in after]
    ranks = _RANK[old.status], _RANK[new.status]
    status = f"{_said(old)} → {_said(new)}"
    if worse or ranks[1] < ranks[0]:
        told = "; ".join(what for _, what in worse[:3]) or new.needs
        kinds = tuple(dict.fromkeys(f"{check}.{kind}" for kind, _ in worse))
        yield AuditChange("worse", task, check, ": ".join(filter(None, (status, told))), kinds)
    elif better or ranks[1] > ranks[0]:
        told = "; ".join(what for _, what in better[:3])
        yield AuditChange("better", task, check, ": ".join(filter(None, (status, told))))


def _faults(record: CheckRecord) -> list[tuple[str, str]]:
    """Findings without their lines, which move with every edit."""
    return [(one.kind, one.what) for one in record.findings]


def counts_for(change: AuditChange, name: str) -> bool:
    """Whether a change triggers a `--fail-on` name: a check, `CHECK.KIND`, `all`, `new` or `gone`."""
    if name in ("new", "gone"):
        return change.direction == name and not change.check
    if change.direction not in ("worse", "new"):
        return False
    if name == "all":
        return change.direction == "worse" or bool(change.what and not change.check)
    if change.direction == "worse" and name == change.check:
        return True
    return any(name in (kind, kind.partition(".")[0]) for kind in change.kinds)
