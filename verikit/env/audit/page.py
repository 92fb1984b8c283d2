"""One HTML page of an audit: findings by check, checks that were not run and why, notes, and the runs as evidence.

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
from verikit.platform.terminal import printable, quantity

_FINDINGS, _NOT_RUN, _NOTES, _EVIDENCE = "Findings", "Not run", "Notes", "Evidence"
_COLUMNS = {
    _FINDINGS: ("task", "kind", "finding", "place"),
    _NOT_RUN: ("task", "status", "needs"),
    _NOTES: ("task", "note"),
    _EVIDENCE: ("task", "files", "command", "result", "seconds", "SHA-256 of the files"),
}
"""The tables of a check, with their columns."""
MAX_ROWS = 1000
"""Rows of each table of a check. The page has the number of further ones."""
_STYLE = """body{font:15px/1.4 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em}
table{border-collapse:collapse;width:100%;margin:.5em 0 1.5em}
th,td{border-bottom:1px solid #bbb;padding:.25em .6em;text-align:left;vertical-align:top;overflow-wrap:anywhere}"""


class AuditPage:
    """Collects records as they arrive, and writes the page at the end."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], list[Sequence[object]]] = defaultdict(list)
        """Rows of a table, by its title and its check."""
        self._more: dict[tuple[str, str], int] = defaultdict(int)

    def add(self, record: TaskRecord) -> None:
        """Take in one task."""
        for check, result in record.checks.items():
            self._keep(_FINDINGS, check, ((record.task, one.kind, one.what, one.where) for one in result.findings))
            if result.status in ("error", "not_run"):
                self._keep(_NOT_RUN, check, [(record.task, result.status.replace("_", " "), result.needs)])
            self._keep(_NOTES, check, ((record.task, note) for note in result.notes))
            runs = (
                (record.task, one.what, one.command, one.result, f"{one.seconds:g}", one.digest)
                for one in result.evidence
            )
            self._keep(_EVIDENCE, check, runs)

    def _keep(self, title: str, check: str, rows: Iterable[Sequence[object]]) -> None:
        kept = self._rows[title, check]
        for row in rows:
            if len(kept) < MAX_ROWS:
                kept.append(row)
            else:
                self._more[title, check] += 1

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
        yield f"<h1>{title}</h1><p>{sums.audited}, digest {_text(sums.digest)}</p>\n"
        counts = sums.by_check()
        rows = [(name, *(told[status] for status in STATUSES)) for name, told in counts.items()]
        yield from _table(("check", *(status.replace("_", " ") for status in STATUSES)), rows, 0)
        for name in counts:
            yield f"<h2>{_text(name)}: {_text(EVERY_CHECK[name].title)}</h2>\n"
            for title, columns in _COLUMNS.items():
                if self._rows[title, name]:
                    yield f"<h3>{title}</h3>\n"
                    yield from _table(columns, self._rows[title, name], self._more[title, name])
        yield "</body></html>\n"


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]], more: int) -> Iterator[str]:
    yield f"<table><tr>{''.join(f'<th>{_text(name)}</th>' for name in columns)}</tr>\n"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>\n"
    yield "</table>\n"
    if more:
        yield f"<p>The JSON report has {quantity(more, 'further row')}.</p>\n"


def _text(value: object) -> str:
    """A string of the folder for the page: without secrets and unprintable marks, with HTML escaped."""
    return escape(printable(strike(str(value))))
