"""Names the scripts and launch actions of a PDF by its bytes, also in packed streams. Nothing is run."""

from __future__ import annotations

import re
import zlib

_FOUND = {b"JavaScript": "JavaScript", b"Launch": "a launch action", b"RichMedia": "rich media"}
"""Every script's action has one of these names; a name may be written with escapes."""
_NAME = re.compile(rb"/((?:[A-Za-z]|#[0-9A-Fa-f]{2}){6,12})(?![A-Za-z0-9#_.-])")
_ESCAPE = re.compile(rb"#([0-9A-Fa-f]{2})")
_STREAM = re.compile(rb"\bstream\r?\n")
_MOST_BYTES = 64 << 20
_HEAD = 1 << 14


def scripts(blob: bytes) -> list[str]:
    """The kinds of scripts that a PDF names, and why more may be there than could be looked for."""
    found = set(_named(blob))
    left = _MOST_BYTES
    for match in _STREAM.finditer(blob):
        start = max(match.start() - _HEAD, 0)
        head = _plain(blob[max(blob.rfind(b"endobj", start, match.start()), start) : match.start()])
        try:
            part = zlib.decompressobj().decompress(blob[match.end() :], max(left, 1))
        except zlib.error:
            part = b""
        if b"ObjStm" in head and (not part or b"Predictor" in head or head.count(b"Decode") > 1):
            found.add("packed objects that can't be looked through")
        left -= len(part)
        if left <= 0:
            found.add("more packed objects than are looked through")
            break
        found |= _named(part)
    return sorted(found)


def _named(part: bytes) -> set[str]:
    names = set(map(_plain, _NAME.findall(part)))
    told = {_FOUND[name] for name in names if name in _FOUND}
    return told | {"encrypted objects"} if b"Encrypt" in names else told


def _plain(name: bytes) -> bytes:
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), name)
