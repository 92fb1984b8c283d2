"""Unified diffs: read and applied in linear time, within a tree, without a tool.

What `git diff` and `diff -u` write is understood: changes, new and deleted files, renames, copies and modes. Hunks
apply where their old lines are found word for word, at the stated line or the nearest other one; there is no fuzz.
Paths out of the tree, symbolic links, submodules and binary changes are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_GIT = re.compile(r'diff --git (?:"?a/)(.+?)"? "?b/(.+?)"?$')
_REFUSED_MODES = ("120000", "160000")
_MOST_TRIED = 200
"""Other lines at which a hunk is tried."""


class DiffError(ValueError):
    """The diff can't be read, or does not apply; the message says why."""


@dataclass(slots=True)
class Hunk:
    """Old lines and what they become, from a line of the old file on (0: an empty one)."""

    start: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass(slots=True)
class FileChange:
    """What a diff does to one file; `source` or `target` is empty where a file is new or goes."""

    source: str = ""
    target: str = ""
    hunks: list[Hunk] = field(default_factory=list)
    copied: bool = False
    executable: bool | None = None
    """None: as it was."""


def parse(text: str) -> list[FileChange]:
    """The changes of a diff, in order; text around them is passed over.

    Raises:
        DiffError: it holds none, is malformed, or does what is refused.
    """
    lines = text.split("\n")
    changes: list[FileChange] = []
    current: FileChange | None = None
    at, git = 0, False
    while at < len(lines):
        line = lines[at].rstrip("\r")
        if line.startswith("diff --git "):
            found = _GIT.match(line) if len(line) <= 2500 else None
            names = (inside(found[1]), inside(found[2])) if found else ("", "")
            current, git = FileChange(*names), True
            changes.append(current)
        elif line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            if current is None or not git or current.hunks:
                current = FileChange()
                changes.append(current)
            current.source, current.target = _name(line[4:], "a/"), _name(lines[at + 1][4:], "b/")
            if not current.source and not current.target:
                raise DiffError("a change from nothing to nothing")
            at += 1
        elif line.startswith("@@ "):
            if current is None:
                raise DiffError(f"line {at + 1}: a hunk before any file is named")
            at = _read_hunk(lines, at, current)
            continue
        elif line.startswith(("GIT binary patch", "Binary files ")):
            raise DiffError(f"a binary change of {current.target if current else 'a file'} is refused")
        elif current is not None and git and not current.hunks:
            _header(line, current)
        at += 1
    if not any(change.hunks or change.source != change.target or change.executable is not None for change in changes):
        raise DiffError("no change in it")
    return changes


def _header(line: str, change: FileChange) -> None:
    """A line between `diff --git` and the first hunk."""
    words = line.split()
    if line.startswith(("new file mode ", "new mode ", "old mode ", "deleted file mode ", "index ")):
        if words[-1] in _REFUSED_MODES:
            raise DiffError(f"{change.target or change.source}: symbolic links and submodules are refused")
        if line.startswith("new "):
            change.executable = words[-1] == "100755"
        if line.startswith("new file"):
            change.source = ""
        if line.startswith("deleted file"):
            change.target = ""
    elif line.startswith(("rename from ", "copy from ")):
        change.source = inside(_unquoted(line.partition(" from ")[2]))
        change.copied = line.startswith("copy")
    elif line.startswith(("rename to ", "copy to ")):
        change.target = inside(_unquoted(line.partition(" to ")[2]))


def _read_hunk(lines: list[str], at: int, change: FileChange) -> int:
    """Read the hunk that begins at a line; the line after it."""
    found = _HUNK.match(lines[at])
    if found is None:
        raise DiffError(f"line {at + 1}: a malformed hunk {lines[at][:60]!r}")
    hunk = Hunk(int(found[1]))
    old, new = int(found[2] or "1"), int(found[4] or "1")
    begun = at
    at += 1
    while len(hunk.old) < old or len(hunk.new) < new:
        line = lines[at] if at < len(lines) else "end"
        mark = line[:1] or " "
        if mark not in " +-\\":
            raise DiffError(f"line {begun + 1}: the hunk is shorter than it says")
        if mark == "\\":
            _cut_newline(hunk, lines[at - 1])
        if mark in " -":
            hunk.old.append(line[1:] + "\n")
        if mark in " +":
            hunk.new.append(line[1:] + "\n")
        at += 1
    if len(hunk.old) != old or len(hunk.new) != new:
        raise DiffError(f"line {begun + 1}: the hunk is longer than it says")
    if at < len(lines) and lines[at].startswith("\\"):
        _cut_newline(hunk, lines[at - 1])
        at += 1
    change.hunks.append(hunk)
    return at


def _cut_newline(hunk: Hunk, before: str) -> None:
    """The mark of a missing newline at the end speaks of the line before it."""
    mark = before[:1] or " "
    for side, marks in ((hunk.old, " -"), (hunk.new, " +")):
        if mark in marks and side:
            side[-1] = side[-1].removesuffix("\n")


def _name(text: str, prefix: str) -> str:
    """The file that a `---` or `+++` line names; empty for /dev/null."""
    text = _unquoted(text.partition("\t")[0].rstrip())
    return "" if text == "/dev/null" else inside(text.removeprefix(prefix))


def _unquoted(text: str) -> str:
    if not (len(text) > 1 and text[0] == text[-1] == '"'):
        return text
    octal = re.sub(r"\\([0-3][0-7]{2})", lambda m: chr(int(m[1], 8)), text[1:-1])
    return octal.replace('\\"', '"').replace("\\\\", "\\").encode("latin-1", "replace").decode("utf-8", "replace")


def inside(path: str) -> str:
    """A path below the tree, plainly written.

    Raises:
        DiffError: it leads out, or into git's own folder.
    """
    parts = path.split("/")
    if not path or path.startswith("/") or "\0" in path or "\\" in path or ".." in parts or len(path) > 1000:
        raise DiffError(f"{path[:100]!r} is no path within the repository")
    parts = [part for part in parts if part not in ("", ".")]
    if not parts or ".git" in (part.lower() for part in parts):
        raise DiffError(f"{path[:100]!r} is no path within the repository")
    return "/".join(parts)


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file of a tree."""

    content: bytes
    executable: bool = False


def applied(tree: Mapping[str, TreeFile], changes: list[FileChange]) -> dict[str, TreeFile]:
    """The tree after the changes.

    Raises:
        DiffError: one does not apply; nothing is changed then.
    """
    after = dict(tree)
    for change in changes:
        held = after.get(change.source) if change.source else TreeFile(b"")
        if held is None:
            raise DiffError(f"{change.source} does not exist")
        if change.target and change.target != change.source:
            _check_free(after, change)
        content = _patched(held.content, change) if change.hunks else held.content
        if change.source and change.source != change.target and not change.copied:
            if not change.target and change.hunks and content:
                raise DiffError(f"{change.source} is deleted, but has more lines than the diff says")
            del after[change.source]
        if change.target:
            executable = held.executable if change.executable is None else change.executable
            after[change.target] = TreeFile(content, executable)
    return after


def _check_free(tree: Mapping[str, TreeFile], change: FileChange) -> None:
    parts = change.target.split("/")
    if change.target in tree:
        raise DiffError(f"{change.target} exists already")
    if any("/".join(parts[:n]) in tree for n in range(1, len(parts))):
        raise DiffError(f"{change.target} lies below a file")


def _patched(content: bytes, change: FileChange) -> bytes:
    """A file's content with all hunks applied, in order."""
    name = change.target or change.source
    starts = [0]
    while (end := content.find(b"\n", starts[-1])) >= 0:
        starts.append(end + 1)
    pieces, done, moved = [], 0, 0
    for number, hunk in enumerate(change.hunks, 1):
        old, new = ("".join(side).encode("utf-8", "surrogatepass") for side in (hunk.old, hunk.new))
        line = max(0, hunk.start + moved - (1 if hunk.old else 0))
        wanted = starts[line] if line < len(starts) else len(content)
        position = _position(content, old, wanted, done)
        if position is None:
            raise DiffError(f"{name}: hunk {number} of {len(change.hunks)} does not apply (line {hunk.start})")
        pieces += [content[done:position], new]
        done = position + len(old)
    return b"".join([*pieces, content[done:]])


def _position(content: bytes, old: bytes, wanted: int, done: int) -> int | None:
    """Where a hunk's old lines are: at the byte that was said, else at the nearest of the first others."""
    if wanted >= done and _is_at(content, old, wanted):
        return wanted
    if not old:
        return None
    best, at = None, done
    for _ in range(_MOST_TRIED):
        at = content.find(old, at)
        if at < 0:
            break
        if _is_at(content, old, at) and (best is None or abs(at - wanted) < abs(best - wanted)):
            best = at
        at += 1
    return best


def _is_at(content: bytes, old: bytes, at: int) -> bool:
    end = at + len(old)
    whole = not old or old.endswith(b"\n") or end == len(content)
    return whole and (at == 0 or content[at - 1 : at] == b"\n") and content.startswith(old, at)
