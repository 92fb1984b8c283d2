"""LiveCodeBench's packed tests: base64 of zlib of a pickled text, read without any unpickling.

A pickle is a program; of its instructions only those that a single text is written by are known here.
"""

from __future__ import annotations

import base64
import binascii
import pickletools
import zlib
from itertools import islice

MAX_BYTES = 512 * 2**20
"""Of unpacked tests."""
_TEXTS = frozenset({"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"})
_OTHERS = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})
"""They change nothing of what comes out."""
_INSTRUCTIONS = 16
"""More than a text needs; the rest is not read."""


def unpacked(text: str) -> str:
    """The text that was packed.

    Raises:
        ValueError: it is not packed so, holds anything but one text, or is longer than `MAX_BYTES`.
    """
    try:
        stream = zlib.decompressobj()
        data = stream.decompress(base64.b64decode(text, validate=True), MAX_BYTES)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise ValueError(f"no packed tests: {error}") from None
    if stream.unconsumed_tail:
        raise ValueError(f"packed tests of more than {MAX_BYTES:,} bytes")
    if not stream.eof:
        raise ValueError("packed tests that break off")
    return _only_text(data)


def _only_text(pickled: bytes) -> str:
    texts: list[str] = []
    try:
        for opcode, argument, _ in islice(pickletools.genops(pickled), _INSTRUCTIONS):
            if opcode.name in _TEXTS:
                texts.append(str(argument))
            elif opcode.name not in _OTHERS:
                raise ValueError(f"packed tests hold the instruction {opcode.name}, which no text needs")
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"no packed text: {error}") from None
    if len(texts) != 1:
        raise ValueError(f"packed tests hold {len(texts)} texts, not one")
    return texts[0]
