"""OpenAI's patch format: `*** Begin Patch`, sections of files, `*** End Patch`.

    *** Begin Patch
    *** Add File: path          every line starts with +
    *** Delete File: path
    *** Update File: path
    *** Move to: path           may follow
    @@ a line of the file       where to look; several narrow it down; may be empty
     context, -old and +new lines
    *** End of File             the chunk is at the end
    *** End Patch

Chunks apply in order, each at the first place after the one before. Whitespace at the end of lines does not count, and
neither does the indent of an `@@` line. A chunk of new lines only goes to the end of the file, as in Codex. If its `@@`
has a line, it is rejected, because programs insert it in different places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from verikit.verifiers.patch.lines import FileLines
from verikit.verifiers.patch.tree import Edited, PatchError, Tree, TreeFile, inside

_BEGIN, _END, _EOF = "*** Begin Patch", "*** End Patch", "*** End of File"
_SECTIONS = {"*** Add File:": "add", "*** Delete File:": "delete", "*** Update File:": "update"}
_MOVE = "*** Move to:"


@dataclass(slots=True)
class PatchChunk:
    """Old lines and their replacements, after lines that give the place."""

    line: int
    below: list[str] = field(default_factory=list)
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    at_end: bool = False
    bare: int = 0
    """How many lines at its end have no character, not even the blank of context: they may not belong to it."""


@dataclass(slots=True)
class PatchSection:
    """The operation on one file."""

    kind: str
    path: str
    moved: str = ""
    chunks: list[PatchChunk] = field(default_factory=list)
    added: list[str] = field(default_factory=list)


def is_in(lines: Sequence[str]) -> bool:
    """Whether lines contain the start of such a patch."""
    return any(line.strip() == _BEGIN for line in lines if line.lstrip().startswith("***"))


def parse(lines: Sequence[str]) -> list[PatchSection]:
    """The sections of all such patches among the lines of a reply; other text is skipped.

    Raises:
        PatchError: A patch has no end, or a line that does not belong there.
    """
    found = [section for section in _sections(lines) if section.kind]
    if not found:
        raise PatchError("the patch contains no change")
    for section in found:
        _check(section)
    return found


def _sections(lines: Sequence[str]) -> list[PatchSection]:
    """The sections as they are written. One without a kind precedes those of each patch."""
    sections: list[PatchSection] = []
    within = False
    for number, line in enumerate(lines, 1):
        mark = line.strip() if line.lstrip().startswith("***") else ""
        if mark == _BEGIN and not within:
            within = True
            sections.append(PatchSection("", ""))
        elif mark == _END and within:
            within = False
        elif within:
            _read(sections, line, mark, number)
    if within:
        raise PatchError("the patch has no end (*** End Patch)")
    return sections


def _read(sections: list[PatchSection], line: str, mark: str, number: int) -> None:
    """Add one line of a patch to the sections read so far."""
    current = sections[-1]
    kind = _kind(mark)
    if kind:
        sections.append(PatchSection(kind, inside(mark.partition(":")[2].strip())))
    elif mark.startswith(_MOVE) and current.kind == "update" and not current.chunks:
        current.moved = inside(mark.partition(":")[2].strip())
    elif current.kind == "update":
        _read_change(current, line, mark, number)
    elif current.kind == "add" and line.startswith("+"):
        current.added.append(line[1:])
    elif line.strip():
        raise _misplaced(line, number)


def _kind(mark: str) -> str:
    return next((kind for start, kind in _SECTIONS.items() if mark.startswith(start)), "")


def _read_change(section: PatchSection, line: str, mark: str, number: int) -> None:
    """Read a line of an updated file: the head of a chunk, its end, or one of its lines."""
    chunks = section.chunks
    if line.startswith("@@"):
        _read_head(section, line, number)
    elif mark == _EOF and chunks:
        chunks[-1].at_end = True
    elif line[:1] not in ("", " ", "-", "+"):
        raise _misplaced(line, number)
    elif not chunks:
        if line:
            _add(_new_chunk(section, number), line)
    elif not chunks[-1].at_end:
        _add(chunks[-1], line)
    elif line:
        raise _misplaced(line, number)


def _read_head(section: PatchSection, line: str, number: int) -> None:
    """Read `@@` and the line to look for. Several of them in a row are one head."""
    chunk = section.chunks[-1] if section.chunks else _new_chunk(section, number)
    if chunk.old or chunk.new or chunk.at_end:
        chunk = _new_chunk(section, number)
    if line[2:].strip():
        chunk.below.append(line[2:].strip())


def _new_chunk(section: PatchSection, number: int) -> PatchChunk:
    section.chunks.append(PatchChunk(number))
    return section.chunks[-1]


def _misplaced(line: str, number: int) -> PatchError:
    return PatchError(f"line {number}: {line[:60]!r} does not belong there")


def _add(chunk: PatchChunk, line: str) -> None:
    chunk.bare = 0 if line else chunk.bare + 1
    if line[:1] != "+":
        chunk.old.append(line[1:])
    if line[:1] != "-":
        chunk.new.append(line[1:])


def _check(section: PatchSection) -> None:
    """Reject an empty section, and cut the empty lines that only separate sections."""
    for chunk in section.chunks:
        if not chunk.old and not chunk.new:
            raise PatchError(f"line {chunk.line}: a chunk of {section.path} has no lines")
    if section.kind == "update" and not section.chunks and not section.moved:
        raise PatchError(f"the update of {section.path} is empty")


def applied(tree: Tree, sections: Sequence[PatchSection]) -> dict[str, TreeFile]:
    """The tree after the sections, in order.

    Raises:
        PatchError: One does not apply; the tree is then unchanged.
    """
    edited = Edited(tree)
    for section in sections:
        if section.kind == "add":
            edited.write(section.path, "".join(f"{line}\n" for line in section.added).encode("utf-8", "replace"))
        elif section.kind == "delete":
            edited.delete(section.path)
        else:
            held = edited.read(section.path)
            content = _updated(held.content, section) if section.chunks else held.content
            if section.moved and section.moved != section.path:
                edited.delete(section.path)
            edited.write(section.moved or section.path, content, held.executable)
    return edited.files


def _updated(content: bytes, section: PatchSection) -> bytes:
    lines = FileLines(content)
    pieces: list[bytes] = []
    done = 0
    for chunk in section.chunks:
        at, old, new = _place(lines, chunk, done, section.path)
        pieces += [*lines.lines[done:at], *(line.encode("utf-8", "replace") for line in new)]
        done = at + len(old)
    return lines.joined([*pieces, *lines.lines[done:]], closed=True)


def _place(lines: FileLines, chunk: PatchChunk, done: int, path: str) -> tuple[int, list[str], list[str]]:
    """The index of the line that a chunk applies to, and its old and new lines."""
    start = done
    for below in chunk.below:
        found = lines.find_bare(below, start)
        if found is None:
            raise PatchError(f"{path}: the line {below[:60]!r} of chunk {chunk.line} is not found")
        start = found + 1
    cut = _without_end(chunk)
    if not cut[0]:
        if chunk.below:
            raise PatchError(f"{path}: line {chunk.line}: new lines below an @@ line need a line of context")
        return len(lines.lines), *cut
    for old, new in ((chunk.old, chunk.new), cut):
        last = len(lines.lines) - len(old)
        at = lines.find(old, max(start, last) if chunk.at_end else start)
        if at is not None:
            return at, old, new
    raise PatchError(f"{path}: the old lines of line {chunk.line} are not found")


def _without_end(chunk: PatchChunk) -> tuple[list[str], list[str]]:
    """A chunk's lines without the bare ones at its end, which may only separate it from the next."""
    return chunk.old[: len(chunk.old) - chunk.bare], chunk.new[: len(chunk.new) - chunk.bare]
