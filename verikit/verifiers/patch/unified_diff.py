"""Unified diffs: read and applied in linear time, within a tree, without a tool.

What `git diff` and `diff -u` write is understood: changes, new and deleted files, renames, copies and modes. Hunks
apply where their old lines match exactly, at the stated line or the nearest other one. If one does not, the whole diff
is tried again with fuzz, as in `patch --fuzz=5`. A diff whose headers end in CRLF loses the CRs, unless it applies only
with them. Paths out of the tree, symbolic links, submodules and binary changes are rejected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from verikit.verifiers.patch.placement import Hunk, HunkSearch
from verikit.verifiers.patch.tree import Edited, PatchError, Tree, TreeFile, inside

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_GIT = re.compile(r'diff --git (?:"?a/)(.+?)"? "?b/(.+?)"?$')
_REFUSED_MODES = ("120000", "160000")


@dataclass(slots=True)
class FileChange:
    """A diff's change to one file; `source` is empty for a new file, and `target` for a deleted one."""

    source: str = ""
    target: str = ""
    hunks: list[Hunk] = field(default_factory=list)
    copied: bool = False
    executable: bool | None = None
    """None: unchanged."""


def parse(text: str) -> list[FileChange]:
    """The changes of a diff, in order; other text is skipped.

    Raises:
        PatchError: There are no changes, the diff is malformed, or a change is not allowed.
    """
    lines = text.split("\n")
    changes: list[FileChange] = []
    at, git = 0, False
    while at < len(lines):
        line = lines[at].rstrip("\r")
        current = changes[-1] if changes else None
        if line.startswith("diff --git "):
            changes.append(_git_change(line))
            git = True
        elif line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            if current is None or not git or current.hunks:
                changes.append(FileChange())
            _name_files(changes[-1], line, lines[at + 1])
            at += 1
        elif line.startswith("@@ "):
            if current is None:
                raise PatchError(f"line {at + 1}: a hunk before any file is named")
            at = _read_hunk(lines, at, current)
            continue
        elif line.startswith(("GIT binary patch", "Binary files ")):
            raise PatchError(f"binary changes are not supported: {current.target if current else 'a file'}")
        elif current is not None and git and not current.hunks:
            _header(line, current)
        at += 1
    if not any(map(_changes_something, changes)):
        raise PatchError("the diff contains no change")
    return changes


def _changes_something(change: FileChange) -> bool:
    return bool(change.hunks) or change.source != change.target or change.executable is not None


def _git_change(line: str) -> FileChange:
    """A change with the names of `diff --git`; without names if the line is too long or has another form."""
    found = _GIT.match(line) if len(line) <= 2500 else None
    return FileChange(inside(found[1]), inside(found[2])) if found else FileChange()


def _name_files(change: FileChange, source: str, target: str) -> None:
    """Take the names of the lines `---` and `+++`."""
    change.source, change.target = _name(source[4:], "a/"), _name(target[4:], "b/")
    if not change.source and not change.target:
        raise PatchError("a change from nothing to nothing")


def _header(line: str, change: FileChange) -> None:
    """A line between `diff --git` and the first hunk."""
    words = line.split()
    if line.startswith(("new file mode ", "new mode ", "old mode ", "deleted file mode ", "index ")):
        if words[-1] in _REFUSED_MODES:
            raise PatchError(f"{change.target or change.source}: symbolic links and submodules are not supported")
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
    """Read the hunk that starts at a line; return the line after it."""
    found = _HUNK.match(lines[at])
    if found is None:
        raise PatchError(f"line {at + 1}: a malformed hunk {lines[at][:60]!r}")
    hunk = Hunk(int(found[1]))
    old, new = int(found[2] or "1"), int(found[4] or "1")
    begun = at
    at, marks = _read_lines(lines, at, hunk, old, new)
    if (len(hunk.old), len(hunk.new)) != (old, new):
        raise PatchError(f"line {begun + 1}: the hunk is longer than its header states")
    if at < len(lines) and lines[at].startswith("\\"):
        _cut_newline(hunk, lines[at - 1])
        at += 1
    if marks.strip():
        hunk.before, hunk.after = len(marks) - len(marks.lstrip()), len(marks) - len(marks.rstrip())
    change.hunks.append(hunk)
    return at


def _read_lines(lines: list[str], begun: int, hunk: Hunk, old: int, new: int) -> tuple[int, str]:
    """Add lines until the hunk has as many old and new ones. Return the line after them, and their marks."""
    marks: list[str] = []
    at = begun + 1
    while len(hunk.old) < old or len(hunk.new) < new:
        if at == len(lines) or lines[at][:1] not in " +-\\":
            raise PatchError(f"line {begun + 1}: the hunk is shorter than its header states")
        mark = lines[at][:1] or " "
        if mark == "\\":
            _cut_newline(hunk, lines[at - 1])
        else:
            _add_line(hunk, mark, lines[at][1:] + "\n")
            marks.append(mark)
        at += 1
    return at, "".join(marks)


def _add_line(hunk: Hunk, mark: str, line: str) -> None:
    if mark != "+":
        hunk.old.append(line)
    if mark != "-":
        hunk.new.append(line)


def _cut_newline(hunk: Hunk, before: str) -> None:
    """Apply the mark of a missing final newline to the line before it."""
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


def patched(tree: Tree, text: str) -> dict[str, TreeFile]:
    """The tree after a diff: without CRs at its line ends or unchanged, exactly or with fuzz.

    Raises:
        PatchError: It applies in none of these ways; the error is the first.
    """
    texts = [text]
    if any(line.endswith("\r") and line.startswith(("--- ", "+++ ", "@@ ")) for line in text.split("\n")):
        texts.insert(0, text.replace("\r\n", "\n"))  # otherwise new files get CRs
    problems: list[PatchError] = []
    for each, fuzzy in [*((each, False) for each in texts), (texts[0], True)]:
        try:
            return applied(tree, parse(each), fuzzy=fuzzy)
        except PatchError as problem:
            problems.append(problem)
    raise problems[0]


def applied(tree: Tree, changes: list[FileChange], *, fuzzy: bool = False) -> dict[str, TreeFile]:
    """The tree after the changes.

    Raises:
        PatchError: One does not apply; the tree is then unchanged.
    """
    edited = Edited(tree)
    for change in changes:
        if change.source not in edited.files and change.source == change.target and _only_adds(change):
            change = FileChange("", change.target, change.hunks)  # `patch` creates this file too
        _apply(edited, change, fuzzy)
    return edited.files


def _apply(edited: Edited, change: FileChange, fuzzy: bool) -> None:
    held = edited.read(change.source) if change.source else TreeFile(b"")
    moves = change.source != change.target
    if moves and change.target and change.target in edited.files:
        raise PatchError(f"{change.target} exists already")
    content = _changed(held.content, change, fuzzy)
    if moves and change.source and not change.copied:
        _remove(edited, change, content)
    if change.target:
        edited.write(change.target, content, held.executable if change.executable is None else change.executable)


def _remove(edited: Edited, change: FileChange, left: bytes) -> None:
    if not change.target and change.hunks and left:
        raise PatchError(f"{change.source} is deleted, but has more lines than the diff removes")
    edited.delete(change.source)


def _only_adds(change: FileChange) -> bool:
    """Whether a change creates a file, though its old name is not /dev/null."""
    return bool(change.hunks) and all(hunk.start == 0 and not hunk.old for hunk in change.hunks)


def _changed(content: bytes, change: FileChange, fuzzy: bool) -> bytes:
    """A file's content with all hunks applied, in order."""
    if not change.hunks:
        return content
    name = change.target or change.source
    searched = HunkSearch(content)
    pieces, done = [], 0
    for number, hunk in enumerate(change.hunks, 1):
        place = searched.place(hunk, done, fuzzy=fuzzy)
        if place is None:
            raise PatchError(f"{name}: hunk {number} of {len(change.hunks)} does not apply (line {hunk.start})")
        pieces += [content[done : place.start], place.new]
        done = place.end
    return b"".join([*pieces, content[done:]])
