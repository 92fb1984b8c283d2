"""The files that an agent left, with the checks that read each and their results, as plain data of limited size.

The data are for people: for `verikit explain`, and for a run's page. No score depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from verikit.types import Score
from verikit.workspaces.manifest import FileEntry, leaves
from verikit.workspaces.names import as_bytes, shown

if TYPE_CHECKING:
    from verikit.workspaces.workspace import Side, Workspace

MOST_ENTRIES, MOST_CHECKS = 200, 50
"""Maximum files and checks of a tree. The rest is counted."""
OPENED = "opened"
"""Name of a check that has none, such as a judge that opens files."""
SHA256_SHOWN = 12


@dataclass(frozen=True, slots=True)
class CheckedFiles:
    """The files that a check read, and its result."""

    check: str
    value: float | None
    status: str
    files: frozenset[tuple[Side, str]]


def recorded(workspace: Workspace, name: str, check: Callable[[], Score]) -> Score:
    """Run a check, and record the files that it reads. Its parts are recorded, unless it recorded them itself."""
    outer, workspace.seen = workspace.seen, set()
    known = len(workspace.readings)
    try:
        score = check()
    finally:
        seen = frozenset(workspace.seen)
        outer |= seen
        workspace.seen = outer
    if len(workspace.readings) == known:
        results = {f"{name} {part}": found for part, found in islice(score.parts.items(), MOST_CHECKS)} or {name: score}
        for check_name, found in results.items():
            workspace.readings[CheckedFiles(check_name, found.value, found.status, seen)] = None
    return score


def file_tree(workspace: Workspace) -> dict[str, Any]:
    """The files of a workspace whose files were collected. Empty otherwise."""
    if not workspace.collected:
        return {}
    readings = _readings(workspace)
    read: dict[str, list[int]] = {}
    for number, reading in enumerate(readings[:MOST_CHECKS]):
        for path in sorted({path for _, path in reading.files}):
            read.setdefault(path, []).append(number)
    found = _entries(workspace, read)
    first = sorted(found, key=lambda one: (one[0].path not in read, not one[1]))[:MOST_ENTRIES]
    tree: dict[str, Any] = {
        "files": [_row(entry, change, read.get(entry.path, ())) for entry, change in sorted(first, key=_place)],
        "checks": [_check(reading) for reading in readings[:MOST_CHECKS]],
    }
    more = {"more": len(found) - len(first), "more_checks": len(readings) - MOST_CHECKS}
    return tree | {name: count for name, count in more.items() if count > 0}


def tree_lines(tree: dict[str, Any]) -> Iterator[str]:
    """The lines of a tree, for a terminal."""
    if tree:
        yield "files that the agent left (* read by a check):"
        for file in tree["files"]:
            told = [f"{file['bytes']:,} bytes" if file["kind"] == "file" else file["kind"]]
            told += filter(None, (file.get("sha256"), file.get("change"), file.get("problem")))
            told += [_result(*tree["checks"][number]) for number in file.get("checks", ())]
            yield f" {'*' if 'checks' in file else ' '} {file['path']}  {', '.join(told)}"
        if "more" in tree:
            yield f"   … and {tree['more']:,} more"


def _readings(workspace: Workspace) -> list[CheckedFiles]:
    """The checks, and the files that were read outside of any."""
    readings = list(workspace.readings)
    named = {file for reading in readings for file in reading.files}
    unnamed = frozenset(workspace.seen - named)
    return [*readings, CheckedFiles(OPENED, None, "", unnamed)] if unnamed else readings


def _result(check: str, value: float | str) -> str:
    return f"{check}: {value:.6g}" if isinstance(value, float) else f"{check}: {value}".removesuffix(": ")


def _entries(workspace: Workspace, read: dict[str, list[int]]) -> list[tuple[FileEntry, str]]:
    """The files and empty folders of both sides, each with its change."""
    after, before = workspace.after.manifest, workspace.known_before()
    marks: dict[str, str] = {}
    removed: list[FileEntry] = []
    if before is not None:
        changes = workspace.known_changes(before)
        marks = dict.fromkeys(changes.added, "added") | dict.fromkeys(changes.changed, "changed")
        removed = [before[path] for path in changes.removed]
    found = [(after[path], marks.get(path, "")) for path in leaves(after)]
    found += [(entry, "removed") for entry in removed]
    gone = {entry.path for entry in removed}
    given = [path for path in read if path not in after and path not in gone]
    return found + [(workspace.before.manifest[path], "given") for path in given]


def _place(one: tuple[FileEntry, str]) -> tuple[bytes, bytes]:
    """By folder and name. Files at the top come first."""
    folder, _, name = one[0].path.rpartition("/")
    return as_bytes(folder), as_bytes(name)


def _row(entry: FileEntry, change: str, checks: list[int] | tuple[()]) -> dict[str, Any]:
    row: dict[str, Any] = {"path": shown(entry.path), "kind": entry.kind, "bytes": entry.size}
    more = {"sha256": entry.sha256[:SHA256_SHOWN], "change": change, "problem": entry.problem, "checks": checks}
    return row | {name: value for name, value in more.items() if value}


def _check(reading: CheckedFiles) -> tuple[str, float | str]:
    """A check's name and value, or its status if it has none."""
    return shown(reading.check), reading.status if reading.value is None else reading.value
