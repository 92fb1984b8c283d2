"""The source of a workspace's side, and the side after reading: a manifest, and content by its hash."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from verikit.errors import AgentFault, WorkspaceError
from verikit.workspaces.limits import MAX_PATH, Limits
from verikit.workspaces.manifest import FileEntry, Manifest
from verikit.workspaces.names import as_bytes, shown

CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class Blob:
    """A file of a workspace. Its content always matches its hash, on every read."""

    path: str
    sha256: str
    size: int
    tree: Tree

    def data(self) -> bytes:
        """The content.

        Raises:
            WorkspaceError: It no longer matches the hash, or can't be read.
        """
        return self.tree.content(self.tree.manifest[self.path])


class Tree(ABC):
    """One side of a workspace, collected: its entries and their content."""

    unknown: str = ""
    """Why it is incomplete; "" if it is complete."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest

    @abstractmethod
    def read(self, entry: FileEntry) -> bytes:
        """The bytes of a file.

        Raises:
            OSError: They can't be read.
        """

    def content(self, entry: FileEntry) -> bytes:
        """The bytes of a file, which are those that were hashed.

        Raises:
            WorkspaceError: They are not, or can't be read.
        """
        try:
            data = self.read(entry)
        except OSError as error:
            raise WorkspaceError(f"{shown(entry.path)} can't be read again: {error.strerror or error}") from None
        if hashlib.sha256(data).hexdigest() != entry.sha256:
            raise WorkspaceError(f"{shown(entry.path)} was changed after it was collected")
        return data


class TreeSource(ABC):
    """The source of one side of a workspace. It is small and picklable."""

    @abstractmethod
    def open(self, limits: Limits) -> Tree:
        """Read the manifest.

        Raises:
            AgentFault: It is not a valid workspace, because of the agent.
            WorkspaceError: It can't be read, or exceeds one of verikit's limits.
        """


@dataclass
class CollectedSize:
    """Counts collected entries and bytes against the limits."""

    limits: Limits
    entries: int = 0
    bytes: int = 0

    def add(self, path: str, size: int = 0) -> None:
        """Count one more entry, and the bytes that are read of it.

        Raises:
            AgentFault: A limit of the task is exceeded, or the path is too long to open.
            WorkspaceError: One of verikit's limits is exceeded.
        """
        self.entries += 1
        self.bytes += size
        if self.entries > self.limits.entries:
            raise self.limits.over("entries", f"{self.entries:,} or more files and folders")
        if self.bytes > self.limits.total_bytes:
            raise self.limits.over("total_mb", f"files of over {self.bytes >> 20:,} MB together")
        if len(as_bytes(path)) > MAX_PATH:
            raise AgentFault(f"a path of {len(as_bytes(path)):,} bytes: {shown(path)}")


def hashed(stream: BinaryIO, most: int) -> tuple[str, int]:
    """SHA-256 of at most `most` + 1 bytes, and the number of bytes hashed."""
    total, size = hashlib.sha256(), 0
    while size <= most and (data := stream.read(min(CHUNK, most + 1 - size))):
        total.update(data)
        size += len(data)
    return total.hexdigest(), size


def with_folders(entries: Iterable[FileEntry]) -> Iterator[FileEntry]:
    """The entries and the folders that their paths imply."""
    held = {entry.path: entry for entry in entries}
    yield from held.values()
    implied: dict[str, None] = {}
    for path in held:
        parent = path.rpartition("/")[0]
        while parent and parent not in held and parent not in implied:
            implied[parent] = None
            parent = parent.rpartition("/")[0]
    yield from (FileEntry(path, "folder", 0o755) for path in implied)


def texts_of(told: Mapping[Any, Any]) -> Mapping[str, bytes]:
    """The contents of a mapping of names to strings or bytes. A name with None is no file.

    Raises:
        WorkspaceError: It is not such a mapping.
    """
    found = {}
    for name, text in told.items():
        if text is None:  # a table gives every row the names of all rows
            continue
        if not isinstance(name, str) or not isinstance(text, str | bytes):
            pair = f"{shown(str(name))} to {type(text).__name__}"
            raise WorkspaceError(f"a workspace in the row must map names to strings, got {pair}")
        try:
            found[name] = text if isinstance(text, bytes) else text.encode()
        except UnicodeEncodeError:
            raise WorkspaceError(f"the text of {shown(name)} is not valid Unicode") from None
    return found
