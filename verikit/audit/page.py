"""An audit's folder, for the HTML report: counts of each check, rewards, and every finding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from verikit.audit.findings import CHECKS, AuditResult, Finding
from verikit.audit.folder import AUDIT, FINDINGS, result_of
from verikit.report.curves import share
from verikit.report.items import shown, spread, verdict_of
from verikit.report.kinds import read_json, read_lines
from verikit.report.model import Options, Run, SampleItem, Table


def collect(run: Path, options: Options) -> Run:
    """Read an audit.

    Raises:
        UsageError: Its files are not there or damaged.
    """
    result = result_of(read_json(run, AUDIT), list(read_lines(run / FINDINGS)))
    page = Run(run.name, "audit", result.by or "gold answers and twins only")
    page.facts = [("file", result.file), ("rows", f"{result.rows:,}"), ("reward", result.by or "none")]
    page.facts = [*page.facts, *((f"form of {kind}", form) for kind, form in result.forms.items())]
    page.settings = {"file": result.file, "by": result.by}
    page.notices = list(result.notices)
    if result.bad_rows:
        page.notices.append(f"{result.bad_rows:,} rows could not be read")
    page.metrics = [
        share(count.check, count.share, count.rows, f"{CHECKS[count.check].title}; {count.found:,} of {count.rows:,}")
        for count in result.checks
        if count.rows and count.found
    ]
    page.tables = list(_tables(result))
    every = spread(len(result.findings), options.samples)
    if every > 1:
        page.notices.append(f"the findings below are every {every}th of {len(result.findings):,}")
    page.items = [_item(finding) for finding in result.findings[::every]]
    return page


def _tables(result: AuditResult) -> Iterator[Table]:
    rows = [(count.check, CHECKS[count.check].title, count.found, count.rows) for count in result.checks]
    yield Table("Checks", ("check", "finds", "rows found", "rows looked at"), rows)
    for check, title, note in _PROBED:
        probes = [
            (
                count.transform,
                share("", count.share, count.rows),
                count.paid,
                count.rows,
                count.mean,
                count.highest,
                count.unscored,
            )
            for count in result.probes
            if count.check == check
        ]
        if probes:
            columns = ("text", "share rewarded", "rewarded", "rows", "mean reward", "highest", "unscored")
            yield Table(title, columns, probes, note, more=check == "form")
    if result.labels:
        labels = [
            (
                label.kind,
                share("", label.fnr, label.right),
                share("", label.fpr, label.wrong),
                label.right,
                label.wrong,
                label.unscored,
            )
            for label in result.labels
        ]
        by_kind = ("kind", "right but not rewarded", "wrong but rewarded", "right", "wrong", "unscored")
        yield Table("Against labels", by_kind, labels, "95 % intervals over candidates")
    if result.noise is not None:
        noise = result.noise
        row = (noise.candidates, noise.repeats, noise.changed, noise.flipped, noise.spread)
        told = ("texts", "times scored", "changed value", "changed verdict", "standard deviation")
        yield Table("Noise", told, [row])


_PROBED = (
    ("hack", "Hacks", "replies that solve nothing. Each should never be rewarded"),
    ("undone", "Workspaces with an undone task", "each should never be rewarded"),
    ("near_miss", "Near misses", "answers with another meaning than the gold answer. Each should never be rewarded"),
    ("rewriting", "Other spellings of the gold answer", "each should always be rewarded"),
    ("itself", "The gold answer itself", "in the form that is rewarded most often"),
    ("other_gold", "Gold answers of other rows", "should never be rewarded"),
    ("form", "Forms of an answer", "the gold answer in each form, on the first rows of each kind"),
)


def _item(finding: Finding) -> SampleItem:
    texts = [shown("Finding", finding.what), shown("Text", finding.text)]
    label = finding.transform or finding.check
    item = SampleItem(finding.id, label, [verdict_of(finding.value)], finding.value, finding.check, len(finding.text))
    item.texts = texts if finding.text else texts[:1]
    item.facts = [("check", CHECKS[finding.check].title), ("line", f"{finding.line:,}")]
    return item
