"""Checksums of a run's files, stored in its `.progress`, to detect a flipped bit and name the file.

A line of `.progress` is a commit with its own checksum. Growing files have a running checksum at each commit. Once the
run is finished, they also have one per block of bytes, so undamaged rows need not be rescored. Files that are written
as a whole have one each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from zlib import crc32

from verikit.errors import UsageError

PROGRESS = ".progress"
BLOCK = 2**13
"""Bytes under one checksum of a finished file."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The progress of a run."""

    line: int = 0
    """Last input row done (1-based)."""
    checksum: int = 0
    """Checksum of the rows up to it, to detect that another input replaced it."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Size of each growing file, in bytes."""
    sums: Mapping[str, int] = field(default_factory=dict)
    """Checksum of each growing file up to that size."""
    blocks: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Checksums of the files' blocks, once the run is finished."""
    others: Mapping[str, int] = field(default_factory=dict)
    """Checksums of files that were written as a whole, once all are."""

    def encode(self) -> bytes:
        """Return the commit as a line of `.progress`. Empty fields are omitted, except for the first three."""
        held = {field.name: getattr(self, field.name) for field in fields(self)}
        held = {name: value for i, (name, value) in enumerate(held.items()) if i < 3 or value}
        return json.dumps(held | {"check": crc32(json.dumps(held).encode())}).encode() + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> Commit | None:
        """Return the commit of a line, or None if `encode` did not write it."""
        try:
            held = json.loads(line)
            check = held.pop("check")
            return cls(**held) if check == crc32(json.dumps(held).encode()) else None
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def read_commits(run: Path) -> tuple[list[Commit], bool]:
    """Return the commits of a run's `.progress`, and whether a line of it is damaged.

    An incomplete last line is not damage.
    """
    try:
        lines = (run / PROGRESS).read_bytes().splitlines(keepends=True)
    except OSError:
        return [], False
    found = [Commit.decode(line) for line in lines]
    kept = [commit for commit in found if commit is not None]
    torn = any(commit is None and line.endswith(b"\n") for commit, line in zip(found, lines, strict=True))
    return kept, torn or bool(lines and not kept)


def sums_at(path: Path, sizes: Sequence[int]) -> dict[int, int]:
    """Return the running checksum of a file at each of the given sizes that it reaches."""
    found, at, value = {}, 0, 0
    with open(path, "rb") as stream:
        for size in sorted(set(sizes)):
            while at < size and (data := stream.read(min(size - at, 2**20))):
                at, value = at + len(data), crc32(data, value)
            if at == size:
                found[size] = value
    return found


def blocks_of(path: Path) -> list[int]:
    """Return the checksum of each block of a file. Empty if the file doesn't exist."""
    if not path.exists():
        return []
    with open(path, "rb") as stream:
        return [crc32(data) for data in iter(lambda: stream.read(BLOCK), b"")]


def damaged_blocks(path: Path, commit: Commit) -> set[int]:
    """Return the blocks of a finished file that have changed since they were written, or are missing."""
    wanted, size = commit.blocks.get(path.name, ()), commit.sizes.get(path.name, 0)
    found = blocks_of(path)
    if path.exists() and path.stat().st_size > size and wanted:  # later data is cut off and is not damage
        found = found[: len(wanted)]
        with open(path, "rb") as stream:
            stream.seek(BLOCK * (len(wanted) - 1))
            found[-1] = crc32(stream.read(size - BLOCK * (len(wanted) - 1)))
    return {i for i, value in enumerate(wanted) if i >= len(found) or found[i] != value}


def intact_lines(path: Path, damaged: set[int], size: int) -> Iterator[bytes | None]:
    """Yield the lines of a file up to a size, with None for each run of lines in a damaged block."""
    at, gap = 0, False
    with open(path, "rb") as stream:
        while at < size and (line := stream.readline()):
            end = at + len(line)
            hit = end > size or any(i in damaged for i in range(at // BLOCK, (end - 1) // BLOCK + 1))
            if not hit:
                yield line
            elif not gap:
                yield None
            at, gap = end, hit
    if at < size and not gap:
        yield None


def changed(run: Path) -> list[str]:
    """Return the names of a run's files that changed since it wrote them. Empty if it stores no checksums.

    An unfinished run has no checksums for files still being written. Missing files are reported by their readers. A
    missing file that was empty is unchanged.
    """
    commits, torn = read_commits(run)
    names = [PROGRESS] if torn else []
    if not commits:
        return names
    last = commits[-1]
    for name, size in last.sizes.items():
        if _differs(run / name, size, last):
            names.append(name)
    return names + [name for name, value in last.others.items() if sum_of(run / name) not in (value, None)]


def _differs(path: Path, size: int, last: Commit) -> bool:
    """Whether a growing file differs from the last commit. Later data does not count while the run is unfinished."""
    if not path.exists():
        return size > 0
    longer = bool(last.others) and path.stat().st_size > size
    return longer or sums_at(path, [size]).get(size) != last.sums.get(path.name, 0)


def sum_of(path: Path) -> int | None:
    """Return a file's checksum, or None if it doesn't exist."""
    return crc32(path.read_bytes()) if path.exists() else None


def verify(run: Path) -> None:
    """Check that a run's files are unchanged since they were written.

    Raises:
        UsageError: Some have changed. The error names them.
    """
    if names := changed(run):
        files = ", ".join(str(run / name) for name in names)
        hint = "the command that made a score run scores what is damaged again; other runs: --restart, or a copy"
        raise UsageError(f"{files}: not as the run wrote it, by its checksum", hint=hint)
