"""A folder as one side of a workspace: looked at from outside, twice, without following a link or opening a fifo."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from verikit.errors import WorkspaceError
from verikit.workspaces.beneath import open_beneath, open_within
from verikit.workspaces.limits import Limits
from verikit.workspaces.manifest import Fault, FileEntry, Kind, Manifest
from verikit.workspaces.names import as_text, shown
from verikit.workspaces.tree import CollectedSize, Tree, TreeSource, hashed

BLOCK = 512
"""Bytes of a block of `st_blocks`."""


@dataclass(frozen=True, slots=True)
class FolderSource(TreeSource):
    """A folder below a root that verikit controls. `within` is its path from the root, and must not contain links."""

    root: str
    within: tuple[str, ...] = ()
    leave_out: frozenset[str] = frozenset()
    """Top-level names that don't belong to the workspace, such as a collector's own record."""

    def open(self, limits: Limits) -> Tree:
        """Collect it twice.

        Raises:
            AgentFault: It exceeds a limit of the task.
            WorkspaceError: It doesn't exist, can't be read, exceeds one of verikit's limits, or changed while it was
                read.
        """
        first = self._collected(limits)
        if self._collected(limits).digest != first.digest:
            raise WorkspaceError(
                f"{self._name()} changed while it was collected", hint="end every process of the agent before"
            )
        return FolderTree(first, self)

    def _collected(self, limits: Limits) -> Manifest:
        try:
            with self.opened() as top:
                return Manifest(_Collection(top, limits, self.leave_out).entries())
        except OSError as error:
            raise WorkspaceError(f"{self._name()} changed while it was collected: {error.strerror}") from None

    def _name(self) -> str:
        return shown("/".join((self.root, *self.within)))

    @contextmanager
    def opened(self) -> Iterator[int]:
        """The folder, open.

        Raises:
            WorkspaceError: It doesn't exist, is not a folder, or a link leads to it.
        """
        try:
            top = open_within(self.root, self.within, os.O_DIRECTORY)
        except OSError as error:
            told = "its path contains a link" if error.errno == errno.ELOOP else error.strerror
            raise WorkspaceError(f"the folder {self._name()} can't be collected: {told}", kind="missing") from None
        try:
            yield top
        finally:
            os.close(top)


class FolderTree(Tree):
    """A collected folder. Its files are read in place and must still match their hashes."""

    def __init__(self, manifest: Manifest, source: FolderSource) -> None:
        super().__init__(manifest)
        self._source = source

    def read(self, entry: FileEntry) -> bytes:
        """The bytes of a file.

        Raises:
            OSError: They can't be read.
        """
        with self._source.opened() as top:
            file = open_beneath(top, entry.path.split("/"))
            with open(file, "rb") as stream:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise OSError(errno.EINVAL, "it is not a file any more")
                return stream.read(entry.size + 1)


@dataclass
class _Collection:
    """One walk through an open folder."""

    top: int
    limits: Limits
    leave_out: frozenset[str]
    seen: set[tuple[int, int]] = field(default_factory=set)
    """Device and inode of files with several names, so their content is counted once."""

    def entries(self) -> list[FileEntry]:
        """Everything below."""
        found: list[FileEntry] = []
        tally = CollectedSize(self.limits)
        left: list[list[str]] = [[]]
        while left:
            names = left.pop()
            try:
                folder = open_beneath(self.top, names, os.O_DIRECTORY)
            except OSError as error:
                if not names:
                    raise WorkspaceError(f"the folder can't be collected: {error.strerror}", kind="missing") from None
                found[:] = [self._blocked(entry, error) if entry.path == "/".join(names) else entry for entry in found]
                continue
            try:
                for name in self._names(folder):
                    if not names and os.fsdecode(name) in self.leave_out:
                        continue
                    entry = self._entry(folder, [*names, as_text(name)], name)
                    found.append(entry)
                    tally.add(entry.path, self._counted(folder, name, entry))
                    if entry.kind == "folder":
                        left.append([*names, os.fsdecode(name)])
            finally:
                os.close(folder)
        return found

    def _names(self, folder: int) -> list[bytes]:
        """The names in an open folder. It stops as soon as there are too many."""
        with os.scandir(folder) as found:
            return sorted(os.fsencode(name.name) for name in islice(found, self.limits.entries + 1))

    def _entry(self, folder: int, names: list[str], name: bytes) -> FileEntry:
        path = "/".join(names)
        told = os.stat(name, dir_fd=folder, follow_symlinks=False)
        mode = stat.S_IMODE(told.st_mode)
        kind = _kind(told.st_mode)
        if kind == "link":
            return FileEntry(path, kind, mode, target=as_text(os.readlink(name, dir_fd=folder)))
        if kind != "file":
            return FileEntry(path, kind, mode)
        entry = FileEntry(path, kind, mode, told.st_size, told.st_blocks * BLOCK)
        return entry if told.st_size > self.limits.file_bytes else self._hashed(folder, entry, name)

    def _hashed(self, folder: int, entry: FileEntry, name: bytes) -> FileEntry:
        try:
            file = open_beneath(folder, [os.fsdecode(name)])
        except OSError as error:
            return self._blocked(entry, error)
        with open(file, "rb") as stream:
            told = os.fstat(file)
            if not stat.S_ISREG(told.st_mode):
                raise WorkspaceError(f"{shown(entry.path)} changed while it was collected")
            digest, size = hashed(stream, self.limits.file_bytes)
        if size != entry.size:
            raise WorkspaceError(f"{shown(entry.path)} changed while it was collected")
        return FileEntry(entry.path, entry.kind, entry.mode, size, entry.allocated, digest)

    def _counted(self, folder: int, name: bytes, entry: FileEntry) -> int:
        """Bytes that an entry adds. A file with several names is counted only once."""
        if not entry.sha256:
            return 0
        told = os.stat(name, dir_fd=folder, follow_symlinks=False)
        key = (told.st_dev, told.st_ino)
        if told.st_nlink == 1:
            return entry.size
        known = key in self.seen
        self.seen.add(key)
        return 0 if known else entry.size

    @staticmethod
    def _blocked(entry: FileEntry, error: OSError) -> FileEntry:
        """An entry that can't be read. It is the agent's doing if it removed all read permissions."""
        denied = error.errno == errno.EACCES and not entry.mode & 0o444
        fault: Fault = "agent" if denied else "ours"
        told = "its permissions allow no reading" if denied else f"it can't be read: {error.strerror}"
        return FileEntry(entry.path, entry.kind, entry.mode, entry.size, entry.allocated, problem=told, fault=fault)


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISFIFO(mode):
        return "fifo"
    return "socket" if stat.S_ISSOCK(mode) else "device"
