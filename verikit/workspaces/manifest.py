"""A manifest: all entries of a folder, each with its kind, mode, size and SHA-256. Times are not part of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from verikit.workspaces.names import alike, as_bytes, shown

Kind = Literal["file", "folder", "link", "fifo", "socket", "device"]
"""The kind of a folder's entry. Only files are opened."""
Fault = Literal["", "agent", "ours"]
"""Who is to blame for an entry that has no content."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One name in a workspace."""

    path: str
    """Relative to the workspace's root. Bytes that are not UTF-8 are surrogates."""
    kind: Kind = "file"
    mode: int = 0o644
    size: int = 0
    """Apparent size in bytes, even of a sparse file."""
    allocated: int = 0
    """Bytes on the disk, as far as known."""
    sha256: str = ""
    """Hash of a file's content; "" if it was not read."""
    target: str = ""
    """Of a link, unread."""
    problem: str = ""
    """Why a file's content, or a folder's entries, were not read."""
    fault: Fault = ""

    @property
    def executable(self) -> bool:
        """Whether a file is executable."""
        return self.kind == "file" and bool(self.mode & 0o111)

    def told(self) -> tuple[object, ...]:
        """The fields that identify an entry: path, kind, executable bit, size, content, and a link's target."""
        return (self.path, self.kind, self.executable, self.size, self.sha256, self.target)


class Manifest(Mapping[str, FileEntry]):
    """The entries of a folder by path, in the order of the paths' bytes."""

    def __init__(self, entries: Iterable[FileEntry], notes: Iterable[str] = ()) -> None:
        found = {entry.path: entry for entry in entries}
        self._entries = {path: found[path] for path in sorted(found, key=as_bytes)}
        pairs = [f"{shown(a)} and {shown(b)} look alike" for a, b in alike(self._entries)]
        odd = [f"{shown(path)} is not UTF-8" for path in self._entries if not _is_utf8(path)]
        self.notes: tuple[str, ...] = (*notes, *pairs, *odd)
        """Warnings for people: names that look alike, names that are not text."""

    def __getitem__(self, path: str) -> FileEntry:
        return self._entries[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all entries: the same for a folder, a tar of it and a mapping of its contents."""
        total = hashlib.sha256()
        for entry in self._entries.values():
            for field in (entry.path, entry.kind, str(entry.executable), str(entry.size), entry.sha256, entry.target):
                data = as_bytes(field)
                total.update(b"%d:%b" % (len(data), data))
        return total.hexdigest()

    @cached_property
    def unread_folders(self) -> list[FileEntry]:
        """The folders that could not be read."""
        return [entry for entry in self._entries.values() if entry.kind == "folder" and entry.problem]

    def limited(self, concerns: Callable[[str], bool]) -> Manifest:
        """The entries whose paths `concerns` accepts."""
        return Manifest(entry for path, entry in self._entries.items() if concerns(path))

    @property
    def files(self) -> list[FileEntry]:
        """Its files."""
        return [entry for entry in self._entries.values() if entry.kind == "file"]


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences between two manifests: content, kind, a link's target, and whether a file is executable."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    @classmethod
    def between(cls, before: Manifest, after: Manifest) -> Changes:
        """The changes that lead from one to the other. A folder counts only if it has no entries."""
        old, new = leaves(before), leaves(after)
        return cls(
            tuple(path for path in new if path not in before),
            tuple(path for path in old if path not in after),
            tuple(path for path in after if path in before and before[path].told() != after[path].told()),
        )

    @property
    def all(self) -> tuple[str, ...]:
        """Every path that differs."""
        return (*self.added, *self.removed, *self.changed)


def leaves(manifest: Manifest) -> dict[str, None]:
    """All paths except those of folders with entries, which their entries already imply."""
    holding = {path.rpartition("/")[0] for path in manifest}
    return {path: None for path, entry in manifest.items() if entry.kind != "folder" or path not in holding}


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
