"""Reads an archive (zip or tar) in the sandbox: its members with their sizes, and the contents of text members."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterator
from typing import Any

MOST_BYTES = 64 << 20
"""Of all members, unpacked."""
MOST_MEMBERS = 10_000
_MOST_ENTRIES = 10 * MOST_MEMBERS
"""Of a tar, folders included."""
MOST_TEXT = 1 << 20
"""Maximum characters of all text members together."""


class BadArchive(Exception):
    """The file is not an archive, or is unsafe to open."""


def read(blobs: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """The observation of one archive."""
    unpack = _zipped if blobs[0].startswith(b"PK") else _tarred
    members: list[dict[str, Any]] = []
    room, left, whole = MOST_BYTES, MOST_TEXT, True
    try:
        for name, content in unpack(blobs[0]):
            room -= len(content)
            if room < 0 or len(members) >= MOST_MEMBERS:
                raise BadArchive(f"the archive has over {MOST_BYTES >> 20} MiB or {MOST_MEMBERS:,} members")
            text = _text(content)
            if len(text) > left:
                text, whole = "", False
            left -= len(text)
            digest = hashlib.sha256(content).hexdigest()
            members.append({"name": name[:4096], "size": len(content), "sha256": digest, "text": text})
    except BadArchive as problem:
        return {"refused": str(problem)}
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, NotImplementedError, OSError, ValueError) as problem:
        return {"refused": f"the file is not a valid archive: {problem}"}
    except (RuntimeError, MemoryError) as problem:  # the former is zipfile's word for encrypted members
        return {"refused": f"a member of the archive can't be read: {problem}"}
    return {"members": members, "whole": whole}


def _zipped(blob: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                with archive.open(info) as member:
                    yield info.filename, _bounded(member.read(MOST_BYTES + 1))


def _tarred(blob: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(blob), mode="r:*") as archive:
        for number, member in enumerate(archive):
            if number >= _MOST_ENTRIES:
                raise BadArchive(f"the archive has over {_MOST_ENTRIES:,} members and folders")
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, _bounded(content.read(MOST_BYTES + 1))
            elif not member.isdir():
                yield member.name, b""


def _bounded(content: bytes) -> bytes:
    if len(content) > MOST_BYTES:
        raise BadArchive(f"a member of the archive has over {MOST_BYTES >> 20} MiB")
    return content


def _text(content: bytes) -> str:
    """A member's text; "" if it is not text."""
    try:
        return "" if b"\0" in content else content.decode()
    except UnicodeDecodeError:
        return ""
