"""Rows with `workspace`, in JSON Lines: [verikit's own form](../../workspaces/row.py) of tasks with files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from verikit.env.audit.formats.row_checks import SHORT, alike_rows, reached_rows
from verikit.env.audit.formats.rows import EnvRow, env_row, json_rows, split_of
from verikit.env.audit.golds import bits, is_answer_name, words_of
from verikit.env.audit.reach import ANNOUNCED, RARE, find_value
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.task import AuditedTask
from verikit.errors import WorkspaceError
from verikit.workspaces.names import parts, shown
from verikit.workspaces.row import workspace_of_row

MAX_FINDINGS = 50
MAX_GIVEN = 2**21
"""Characters of a row's files that are read."""


def rows_of(task: AuditedTask, file: str = "") -> Iterator[tuple[str, Any, str]]:
    """Each row with its place, and the split that its file names."""
    for path in sorted(task.files()):
        if path.endswith(".jsonl") and "/" not in path and file in ("", path):
            for number, row in json_rows(task, path):
                yield f"{shown(path)}:{number}", row, split_of(path)


def row_findings(task: AuditedTask, row: Any, where: str) -> Iterator[EnvFinding]:
    """Compare a row with the form of workspaces, and look for the files that it names."""
    yield from _row(task, row, where, os.path.join(task.root, *task.within))


def _row(task: AuditedTask, row: Any, where: str, folder: str) -> Iterator[EnvFinding]:
    if isinstance(row, ValueError):
        yield EnvFinding("wrong", str(row), where)
        return
    told = row.get("workspace")
    if told is None:
        yield EnvFinding("missing", "the row has no workspace", where)
        return
    trial = isinstance(told, Mapping) and "trial" in told
    if not env_row(row, where).prompt and not trial:
        yield EnvFinding("missing", "the row has no prompt", where)
    try:
        workspace_of_row(told, folder)
    except WorkspaceError as error:
        yield EnvFinding(error.kind, shown(str(error)[:200]), where)
        return
    for key in ("trajectory", "trial", "task"):
        named = told.get(key)
        names = parts(named) if isinstance(named, str) else None
        if names and "/".join(names) not in task.tree.manifest:
            yield EnvFinding("missing", f"{key} {shown(str(named))} is not there", where)
    outputs = told.get("outputs")
    for pattern in outputs if isinstance(outputs, list) else ():
        if parts(pattern) is None:
            yield EnvFinding("outside", f"the output {shown(pattern)} leaves the workspace", where)


def check_rows_reach(task: AuditedTask, file: str = "") -> CheckRecord:
    """Expected values in prompts, and in the files that the agent gets."""
    rows: list[EnvRow] = []
    findings: list[EnvFinding] = []
    for where, row, split in rows_of(task, file):
        if isinstance(row, ValueError):
            continue
        one = env_row(row, where, split)
        rows.append(one)
        if one.golds and len(findings) < MAX_FINDINGS:
            findings += _in_files(task, row, one)
    golds = any(row.golds for row in rows)
    undecided = [] if golds else ["expected values: no row has one under a usual name (answer, expected, gold)"]
    return judged([*findings, *reached_rows(rows)], undecided)


def _in_files(task: AuditedTask, row: Mapping[str, Any], one: EnvRow) -> Iterator[EnvFinding]:
    """Expected values in files of answers, and in lines that announce one."""
    known = words_of(one.prompt)
    for path, text in _given(task, row):
        named = path.rpartition("/")[2] in one.prompt
        for gold in one.golds:
            at = find_value(text, gold)
            if at < 0:
                continue
            head = text[max(0, at - 120) : at].rpartition("\n")[2]
            kept = is_answer_name(path) and not named and bits(gold, frozenset()) >= SHORT
            if kept or (ANNOUNCED.search(head) is not None and bits(gold, known) >= RARE):
                what = f"the agent gets the expected value {shown(gold[:60])!r} in {shown(path)}"
                yield EnvFinding("value", what, one.where)
                break


def _given(task: AuditedTask, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The text files of `before`, up to a limit."""
    told = row.get("workspace")
    before = told.get("before") if isinstance(told, Mapping) else None
    files: Iterator[tuple[str, Any]] = iter(())
    if isinstance(before, Mapping):
        files = ((str(path), text) for path, text in before.items())
    elif isinstance(before, str):
        names = parts(before)
        files = ((path, task.text(path)) for path in task.files("/".join(names))) if names else files
    total = 0
    for path, text in files:
        if isinstance(text, str):
            total += len(text)
            yield path, text
        if total > MAX_GIVEN:
            return


def check_rows_alike(task: AuditedTask, file: str = "") -> CheckRecord:
    """Duplicate rows, including duplicates across the files of splits."""
    found = (env_row(row, where, split) for where, row, split in rows_of(task, file) if not isinstance(row, ValueError))
    return judged(list(alike_rows(found)))
