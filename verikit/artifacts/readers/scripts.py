"""Names the scripts and launch actions of a PDF from its bytes, including compressed streams. It runs nothing."""

from __future__ import annotations

import re
import zlib
from collections import Counter

_FOUND = {b"JavaScript": "JavaScript", b"Launch": "a launch action", b"RichMedia": "rich media"}
"""Every script's action has one of these names; a name may be written with escapes."""
_NAME = re.compile(rb"/((?:[A-Za-z]|#[0-9A-Fa-f]{2}){6,12})(?![A-Za-z0-9#_.-])")
_ESCAPE = re.compile(rb"#([0-9A-Fa-f]{2})")
_WORD = re.compile(rb"ObjStm|Predictor|Decode")
_STREAM = re.compile(rb"\bstream\r?\n")
_MOST_BYTES = 64 << 20
_FIRST_CHUNK = 256


def scripts(blob: bytes) -> list[str]:
    """The kinds of scripts that a PDF names, and why the search may be incomplete."""
    found = set(_named(blob))
    left = _MOST_BYTES
    seen, words = 0, Counter[bytes]()
    for match in _STREAM.finditer(blob):
        # Read each byte only once: a file may consist of starts of streams.
        _, ended, head = blob[seen : match.start()].rpartition(b"endobj")
        seen = match.end()
        if ended:
            words.clear()
        words.update(_WORD.findall(_plain(head)))
        part = _unpacked(blob, seen, max(left, 1))
        if words[b"ObjStm"] and (not part or words[b"Predictor"] or words[b"Decode"] > 1):
            found.add("packed objects that can't be looked through")
        left -= len(part)
        if left <= 0:
            found.add("more packed objects than are looked through")
            break
        found |= _named(part)
    return sorted(found)


def _unpacked(blob: bytes, start: int, most: int) -> bytes:
    """The first bytes of a compressed stream; empty if it can't be unpacked. Bytes after the stream are not copied."""
    header = blob[start : start + 2]
    if len(header) < 2 or header[0] & 15 != 8 or int.from_bytes(header, "big") % 31:
        return b""
    unpacking, parts, size = zlib.decompressobj(), list[bytes](), _FIRST_CHUNK
    try:
        while most > 0 and start < len(blob) and not unpacking.eof:
            parts.append(unpacking.decompress(blob[start : start + size], most))
            start, size, most = start + size, size * 2, most - len(parts[-1])
    except zlib.error:
        return b""
    return b"".join(parts)


def _named(part: bytes) -> set[str]:
    names = set(map(_plain, _NAME.findall(part)))
    told = {_FOUND[name] for name in names if name in _FOUND}
    return told | {"encrypted objects"} if b"Encrypt" in names else told


def _plain(name: bytes) -> bytes:
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), name)
