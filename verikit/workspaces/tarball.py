"""A tar as one side of a workspace. It is never unpacked: its files are read in place.

A tar of a file tree has no duplicate names, `..`, absolute paths or names below a link. A tar that has any of these
was built to escape the workspace, and is rejected whole.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, Literal, cast
from weakref import finalize

from verikit.errors import AgentFault, WorkspaceError
from verikit.workspaces.beneath import open_within
from verikit.workspaces.limits import Limits
from verikit.workspaces.manifest import FileEntry, Kind, Manifest
from verikit.workspaces.names import parts, shown
from verikit.workspaces.tree import CHUNK, CollectedSize, Tree, TreeSource, hashed, with_folders

PackedBy = Literal["", "agent", "collector"]
"""Who packed a tar and is blamed if it is invalid. Unknown: the agent for names no collector writes, else no one."""
OVERHEAD = 4096
"""Maximum bytes of headers and padding per entry."""
BLOCK = tarfile.BLOCKSIZE
_SPOOLED = 2**20
_DAMAGED = (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, RecursionError, MemoryError)
_KINDS: dict[bytes, Kind] = {
    tarfile.DIRTYPE: "folder",
    tarfile.SYMTYPE: "link",
    tarfile.FIFOTYPE: "fifo",
    tarfile.CHRTYPE: "device",
    tarfile.BLKTYPE: "device",
}


@dataclass(frozen=True, slots=True)
class TarSource(TreeSource):
    """A tar file below a folder that verikit controls, or a tar in memory; plain or compressed by gzip, bzip2 or xz."""

    root: str = ""
    within: tuple[str, ...] = ()
    held: bytes | None = None
    packed_by: PackedBy = ""

    def open(self, limits: Limits) -> Tree:
        """Read all names and hash all files.

        Raises:
            AgentFault: Names that no file tree can have, an invalid tar by the agent, or an exceeded limit of the task.
            WorkspaceError: An invalid tar by a collector, or an exceeded limit of verikit.
        """
        stream = self._plain(limits)
        try:
            entries, members = _Scan(stream, limits, self).run()
        except BaseException as error:
            stream.close()
            if not isinstance(error, _DAMAGED):
                raise
            raise self.broken(f"is damaged: {type(error).__name__}: {error}"[:200]) from error
        return TarTree(Manifest(entries), stream, members)

    def broken(self, problem: str, *, by_names: bool = False) -> AgentFault | WorkspaceError:
        """The error for an invalid tar, or for one with names that collectors never write."""
        told = f"the tar {shown('/'.join(self.within))} {problem}" if self.within else f"the tar {problem}"
        if self.packed_by == "agent" or (by_names and not self.packed_by):
            return AgentFault(told)
        return WorkspaceError(told, hint="collect it again")

    def _plain(self, limits: Limits) -> IO[bytes]:
        """The tar without its compression, at its start. Its unpacked size is bounded."""
        stream = self._opened()
        start = stream.read(6)
        stream.seek(0)
        unpacked = _decompressed(stream, start)
        if unpacked is None:
            return stream
        most = limits.total_bytes + limits.entries * OVERHEAD
        plain = cast(IO[bytes], SpooledTemporaryFile(_SPOOLED))  # noqa: SIM115 - the tree reads on from it
        size = 0
        with stream:
            try:
                while data := unpacked.read(CHUNK):
                    size += len(data)
                    if size > most:
                        raise limits.over("total_mb", f"a tar that unpacks to over {most >> 20:,} MB")
                    plain.write(data)
            except BaseException as error:
                plain.close()
                if not isinstance(error, _DAMAGED):
                    raise
                raise self.broken(f"is damaged: {type(error).__name__}: {error}"[:200]) from error
        plain.seek(0)
        return plain

    def _opened(self) -> IO[bytes]:
        if self.held is not None:
            return io.BytesIO(self.held)
        try:
            return open(open_within(self.root, self.within), "rb")
        except OSError as error:
            name = shown("/".join((self.root, *self.within)))
            raise WorkspaceError(f"the tar {name} can't be collected: {error.strerror}", kind="missing") from None


def _decompressed(stream: IO[bytes], start: bytes) -> IO[bytes] | None:
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=stream))
    if start.startswith(b"BZh"):
        return cast(IO[bytes], bz2.BZ2File(stream))
    return cast(IO[bytes], lzma.LZMAFile(stream)) if start.startswith(b"\xfd7zXZ\x00") else None


@contextmanager
def _archive(stream: IO[bytes]) -> Iterator[tarfile.TarFile]:
    """The archive in a stream, read from its start."""
    stream.seek(0)
    with tarfile.open(fileobj=stream, mode="r:", encoding="utf-8", errors="surrogateescape") as archive:
        yield archive


class TarTree(Tree):
    """A tar that was read once from start to end."""

    def __init__(self, manifest: Manifest, stream: IO[bytes], members: dict[str, tarfile.TarInfo]) -> None:
        super().__init__(manifest)
        self._stream, self._members = stream, members
        finalize(self, stream.close)

    def read(self, entry: FileEntry) -> bytes:
        """The bytes of a file.

        Raises:
            OSError: They can't be read.
        """
        try:
            with _archive(self._stream) as archive, _content(archive, self._members[entry.path]) as stream:
                return stream.read(entry.size + 1)
        except tarfile.TarError as error:
            raise OSError(str(error)) from None


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    stream = archive.extractfile(member)
    if stream is None:
        raise tarfile.ReadError("no content")
    return stream


class _Scan:
    """One reading of a tar, member after member."""

    def __init__(self, stream: IO[bytes], limits: Limits, source: TarSource) -> None:
        self._stream, self._limits, self._source = stream, limits, source
        self._length = stream.seek(0, os.SEEK_END)
        self._found: dict[str, FileEntry] = {}
        self._members: dict[str, tarfile.TarInfo] = {}

    def run(self) -> tuple[list[FileEntry], dict[str, tarfile.TarInfo]]:
        """The entries, and the member that each file's content is in."""
        tally = CollectedSize(self._limits)
        with _archive(self._stream) as archive:
            while member := archive.next():
                if member.name.rstrip("/") in ("", "."):
                    continue
                entry = self._entry(archive, member)
                tally.add(entry.path, entry.size if entry.sha256 and not member.islnk() else 0)
                self._found[entry.path] = entry
            self._check_end(archive.offset)
        return list(with_folders(self._found.values())), self._members

    def _entry(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> FileEntry:
        names = parts(member.name)
        if not names:
            raise self._source.broken(f"has the name {shown(member.name)}, which leaves its folder", by_names=True)
        path = "/".join(names)
        self._check_place(path, names, member)
        mode = member.mode & 0o7777
        if member.islnk():
            return self._hard_link(path, member)
        if kind := _KINDS.get(member.type):
            return FileEntry(path, kind, mode, target=member.linkname if kind == "link" else "")
        if member.offset_data + (0 if member.issparse() else member.size) > self._length:
            raise self._source.broken("is cut off")
        entry = FileEntry(path, "file", mode, member.size, min(member.size, self._length))
        if member.size > self._limits.file_bytes:
            return entry
        with _content(archive, member) as stream:
            digest, size = hashed(cast("io.BufferedReader", stream), self._limits.file_bytes)
        if size != member.size:
            raise self._source.broken("is cut off")
        self._members[path] = member
        return FileEntry(path, "file", mode, size, entry.allocated, digest)

    def _check_place(self, path: str, names: list[str], member: tarfile.TarInfo) -> None:
        """Reject a name that appears twice, or that is below an entry that is not a folder."""
        known = self._found.get(path)
        if known and not (known.kind == "folder" and member.isdir()):
            raise self._source.broken(f"has {shown(path)} twice", by_names=True)
        for end in range(1, len(names)):
            above = self._found.get("/".join(names[:end]))
            if above and above.kind != "folder":
                raise self._source.broken(f"has {shown(path)} below a {above.kind}", by_names=True)

    def _hard_link(self, path: str, member: tarfile.TarInfo) -> FileEntry:
        names = parts(member.linkname)
        first = self._found.get("/".join(names)) if names else None
        if first is None or first.kind != "file":
            raise self._source.broken(f"has a hard link {shown(path)} to no file in it", by_names=True)
        if first.path in self._members:
            self._members[path] = self._members[first.path]
        return FileEntry(path, "file", first.mode, first.size, first.allocated, first.sha256)

    def _check_end(self, offset: int) -> None:
        """Check that the archive ends in blocks of zeros. Otherwise it was cut off, or data is hidden after its end."""
        self._stream.seek(offset)
        size = 0
        while data := self._stream.read(CHUNK):
            size += len(data)
            if data.strip(b"\0"):
                raise self._source.broken("has something behind its end, or a damaged header")
        if size < BLOCK:
            raise self._source.broken("is cut off")
