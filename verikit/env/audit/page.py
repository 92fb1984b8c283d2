"""One HTML page of an audit: findings by check, checks that were not run and why, and the runs as evidence.

Names and contents of the audited folder are escaped. The page has no script, and its policy loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from verikit.env.audit.checks import EVERY_CHECK
from verikit.env.audit.records import STATUSES, TaskRecord
from verikit.env.audit.run import AuditSums
from verikit.errors import VerikitError
from verikit.platform.secrets import strike
from verikit.platform.terminal import printable

MAX_ROWS = 1000
"""Rows of each table of a check. The page has the number of further ones."""
_STYLE = """body{font:15px/1.4 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em}
table{border-collapse:collapse;width:100%;margin:.5em 0 1.5em}
th,td{border-bottom:1px solid #bbb;padding:.25em .6em;text-align:left;vertical-align:top;overflow-wrap:anywhere}"""


class AuditPage:
    """Collects records as they arrive, and writes the page at the end."""

    def __init__(self) -> None:
        self._findings: dict[str, list[Sequence[object]]] = defaultdict(list)
        self._gaps: dict[str, list[Sequence[object]]] = defaultdict(list)
        self._runs: dict[str, list[Sequence[object]]] = defaultdict(list)
        self._more: dict[tuple[str, str], int] = defaultdict(int)

    def add(self, record: TaskRecord) -> None:
        """Take in one task."""
        for check, result in record.checks.items():
            self._keep("findings", check, ((record.task, one.kind, one.what, one.where) for one in result.findings))
            if result.status in ("error", "not_run"):
                self._keep("gaps", check, [(record.task, result.status.replace("_", " "), result.needs)])
            self._keep(
                "runs",
                check,
                (
                    (record.task, one.what, one.command, one.result, f"{one.seconds:g}", one.digest)
                    for one in result.evidence
                ),
            )

    def _keep(self, kind: str, check: str, rows: Iterable[Sequence[object]]) -> None:
        kept = {"findings": self._findings, "gaps": self._gaps, "runs": self._runs}[kind][check]
        for row in rows:
            if len(kept) < MAX_ROWS:
                kept.append(row)
            else:
                self._more[kind, check] += 1

    def write(self, path: Path, folder: str, sums: AuditSums) -> None:
        """Write the page.

        Raises:
            VerikitError: The file can't be written.
        """
        try:
            path.write_text("".join(self._pieces(folder, sums)), encoding="utf-8", errors="replace")
        except OSError as error:
            raise VerikitError(f"can't write {path}: {error.strerror}") from None

    def _pieces(self, folder: str, sums: AuditSums) -> Iterator[str]:
        style = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
        title = f"Audit of {_text(folder)}"
        yield f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        yield f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{_STYLE}</style></head><body>\n'
        yield f"<h1>{title}</h1><p>{sums.tasks:,} tasks, digest {_text(sums.digest)}</p>\n"
        counts = sums.by_check()
        rows = [(name, *(told[status] for status in STATUSES)) for name, told in counts.items()]
        yield from _table(("check", *(status.replace("_", " ") for status in STATUSES)), rows, 0)
        for name in counts:
            yield f"<h2>{_text(name)}: {_text(EVERY_CHECK[name].title)}</h2>\n"
            yield from self._section("Findings", ("task", "kind", "finding", "place"), "findings", name)
            yield from self._section("Not run", ("task", "status", "needs"), "gaps", name)
            columns = ("task", "files", "command", "result", "seconds", "SHA-256 of the files")
            yield from self._section("Evidence", columns, "runs", name)
        yield "</body></html>\n"

    def _section(self, title: str, columns: Sequence[str], kind: str, check: str) -> Iterator[str]:
        rows = {"findings": self._findings, "gaps": self._gaps, "runs": self._runs}[kind][check]
        if rows:
            yield f"<h3>{title}</h3>\n"
            yield from _table(columns, rows, self._more[kind, check])


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]], more: int) -> Iterator[str]:
    yield f"<table><tr>{''.join(f'<th>{_text(name)}</th>' for name in columns)}</tr>\n"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>\n"
    yield "</table>\n"
    if more:
        yield f"<p>{more:,} further rows are in the JSON report.</p>\n"


def _text(value: object) -> str:
    """A string of the folder for the page: without secrets and unprintable marks, with HTML escaped."""
    return escape(printable(strike(str(value))))
