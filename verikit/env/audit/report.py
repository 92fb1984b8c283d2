"""The report of an environment audit: JSON of one line per task, and lines for a terminal."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Self

import click

from verikit.env.audit.checks import EVERY_CHECK, kinds
from verikit.env.audit.records import STATUSES, CheckStatus, TaskRecord
from verikit.env.audit.run import AuditSums
from verikit.errors import VerikitError
from verikit.platform.secrets import strike
from verikit.platform.terminal import clock, printable, quantity, table
from verikit.workspaces.names import shown

FORMAT = "verikit.env-audit/1"
REPORT = "env-audit.json"
"""The report's name in the folder of `-o`."""
_RAN = "Solutions and tests ran in the sandbox."


def report_lines(folder: str, records: Iterator[TaskRecord], sums: AuditSums, verikit: str) -> Iterator[str]:
    """The report as JSON, task by task. `sums` is filled as the records come."""
    head = {"format": FORMAT, "folder": shown(folder), "verikit": verikit}
    yield strike(json.dumps(head)[:-1]) + ', "tasks": [\n'
    first = True
    for record in records:
        sums.add(record)
        yield ("" if first else ",\n") + strike(json.dumps(record.as_dict(), ensure_ascii=True))
        first = False
    kinds = {f"{check}.{kind}": count for (check, kind), count in sorted(sums.kinds.items())}
    tail = {"digest": sums.digest, "count": sums.tasks, "checks": sums.by_check(), "findings": kinds}
    yield "\n], " + json.dumps(tail)[1:] + "\n"


class ReportFile:
    """A report that is renamed to its final name when it is complete; a context manager.

    Raises:
        VerikitError: The file can't be written.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / REPORT
        self._part = folder / f".{REPORT}.new"
        self._stream: IO[str] | None = None

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = open(self._part, "w", encoding="utf-8", errors="replace")
        except OSError as error:
            raise VerikitError(f"can't write {self._path}: {error.strerror}") from None
        return self

    def write(self, text: str) -> None:
        """Append a piece.

        Raises:
            VerikitError: The disk is full or gone.
        """
        if self._stream is None:
            return
        try:
            self._stream.write(text)
        except OSError as error:
            raise VerikitError(f"can't write {self._path}: {error.strerror}") from None

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._stream is None:
            return
        try:
            self._stream.close()
            if kind is None:
                os.replace(self._part, self._path)
        except OSError as error:
            raise VerikitError(f"can't write {self._path}: {error.strerror}") from None


class Examples:
    """The first findings and gaps of each check."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines: dict[str, list[tuple[str, str]]] = {name: [] for name in EVERY_CHECK}
        self._needs: dict[str, Counter[str]] = {name: Counter() for name in EVERY_CHECK}

    def add(self, record: TaskRecord) -> None:
        """Look at one task."""
        for name, result in record.checks.items():
            lines = self._lines[name]
            for finding in result.findings:
                if len(lines) < self._most:
                    where = f" ({finding.where})" if finding.where else ""
                    lines.append((finding.kind, f"  {record.task}: {finding.kind}: {finding.what}{where}"))
            if result.needs and (len(self._needs[name]) < 100 or result.needs in self._needs[name]):
                self._needs[name][f"{result.status.replace('_', ' ')}: {result.needs}"] += 1

    def of(self, name: str) -> list[str]:
        """The examples of a `--fail-on` name, with their keys redacted."""
        pairs = kinds(name)
        found = [(check, line) for check, held in self._lines.items() for kind, line in held if (check, kind) in pairs]
        status = f"{name.replace('_', ' ')}: "
        found += [(check, told) for check, held in self._needs.items() for told in held if told.startswith(status)]
        return [strike(f"{check}: {told.strip()}") for check, told in found]

    def lines(self, name: str) -> list[str]:
        """The examples of a check."""
        needs = self._needs[name].most_common(self._most)
        return [
            *(line for _, line in self._lines[name]),
            *(f"  {told} ({quantity(count, 'task')})" for told, count in needs),
        ]


def _mark(statuses: Mapping[CheckStatus, int]) -> float | None:
    """0 if the check failed for a task, 1 if it passed for all, None if it did not decide for some."""
    if statuses["fail"]:
        return 0.0
    return None if statuses["error"] or statuses["not_run"] else 1.0


def terminal_lines(sums: AuditSums, examples: Examples) -> Iterator[str]:
    """A table of the checks, then examples of each."""
    header = ["check", *(status.replace("_", " ") for status in STATUSES), "findings"]
    rows, marks = [], []
    for name in sums.by_check():
        found = [f"{kind} {count}" for (check, kind), count in sums.kinds.most_common() if check == name]
        rows.append([name, *(f"{sums.statuses[name][status]:,}" for status in STATUSES), ", ".join(found) or "-"])
        marks.append(_mark(sums.statuses[name]))
    yield from table(header, rows, marks)
    for name, told in EVERY_CHECK.items():
        lines = examples.lines(name)
        if lines:
            yield ""
            yield click.style(f"{name}: {told.title}", bold=True)
            yield from (printable(strike(line)) for line in lines)
    yield ""
    ran = _RAN if sums.ran else "No file of a task was run."
    yield f"{sums.audited} in {clock(sums.seconds)}, digest {sums.digest[:16]}. {ran}"
