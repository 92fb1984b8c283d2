"""Git objects among files: loose ones, and pack objects that are not deltas. git is not run."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

MAX_OBJECT = 2**20
"""Bytes of an object that are read."""
CHUNK = 4096
"""Bytes of a pack that are decompressed per step."""
MAX_OBJECTS = 5_000
_DELTAS = (6, 7)


def loose_object(data: bytes) -> bytes:
    """The content of a loose object; empty if it can't be read."""
    try:
        return zlib.decompressobj().decompress(data, MAX_OBJECT).partition(b"\0")[2]
    except zlib.error:
        return b""


def packed_objects(data: bytes) -> Iterator[bytes]:
    """The contents of a pack's objects. Differences are passed over."""
    if data[:4] != b"PACK":
        return
    at = 12
    for _ in range(min(int.from_bytes(data[8:12], "big"), MAX_OBJECTS)):
        kind, at = _header(data, at)
        if kind in _DELTAS:
            at = at + 20 if kind == 7 else _after_number(data, at)
        content, at = _stream_at(data, at)
        if content is None:
            return  # damaged, cut off, or longer than the limit
        if kind not in _DELTAS:
            yield content


def _stream_at(data: bytes, at: int) -> tuple[bytes | None, int]:
    """The content of the compressed stream that starts here, and its end."""
    reader, pieces, size = zlib.decompressobj(), [b""], 0
    while at < len(data) and not reader.eof and size < MAX_OBJECT:
        fed = reader.unconsumed_tail + data[at : at + CHUNK]
        at += CHUNK
        try:
            pieces.append(reader.decompress(fed, MAX_OBJECT - size))
        except zlib.error:
            return None, at
        size += len(pieces[-1])
    return (b"".join(pieces), min(at, len(data)) - len(reader.unused_data)) if reader.eof else (None, at)


def _header(data: bytes, at: int) -> tuple[int, int]:
    """An object's kind, and the end of its header."""
    kind = (data[at] >> 4) & 7 if at < len(data) else 0
    return kind, _after_number(data, at)


def _after_number(data: bytes, at: int) -> int:
    while at < len(data) and data[at] & 0x80:
        at += 1
    return at + 1
