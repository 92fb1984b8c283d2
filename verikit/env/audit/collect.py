"""An audit's folder, for `verikit report`: counts of each check, and the first findings and gaps."""

from __future__ import annotations

from pathlib import Path

from verikit.env.audit.checks import EVERY_CHECK
from verikit.env.audit.compare import read_report
from verikit.env.audit.records import STATUSES
from verikit.env.audit.run import AuditSums
from verikit.report.curves import share
from verikit.report.model import Options, Run, Table

MAX_ROWS = 1000
"""Rows of a table."""


def collect(run: Path, options: Options) -> Run:
    """Read an audit.

    Raises:
        UsageError: The report is damaged.
    """
    sums, findings, gaps = AuditSums(), [], []
    for record in read_report(run).values():
        sums.add(record)
        for check, result in record.checks.items():
            findings += [_cells(record.task, check, one.kind, one.what, one.where) for one in result.findings]
            gaps += [_cells(record.task, check, result.status, result.needs)] if result.needs else []
    counts = sums.by_check()
    page = Run(run.name, "env audit", sums.audited)
    page.facts = [("audited", sums.audited), ("with a finding", f"{sums.failing:,}"), ("digest", sums.digest)]
    for check, told in counts.items():
        decided = told["pass"] + told["fail"]
        if decided:
            metric = share(check, told["fail"] / decided, decided, f"fails; {EVERY_CHECK[check].title}")
            page.metrics = [*page.metrics, metric]
    columns = ("check", *(status.replace("_", " ") for status in STATUSES))
    tables = [Table("Checks", columns, [(check, *told.values()) for check, told in counts.items()])]
    for title, header, rows in (
        ("Findings", ("task", "check", "kind", "finding", "place"), findings),
        ("Not run", ("task", "check", "status", "needs"), gaps),
    ):
        more = len(rows) - MAX_ROWS
        note = f"{more:,} more are in the JSON report" if more > 0 else ""
        tables += [Table(title, header, rows[:MAX_ROWS], note, more=True)] if rows else []
    page.tables = tables
    return page


def _cells(*values: object) -> tuple[str, ...]:
    """Strings of a report that may come from someone else."""
    return tuple(map(str, values))
