"""Bytes to rows: a file or stdin, plain or gzip, cut into numbered rows: lines, or the items of one JSON array.

Gzip and byte order marks are told by the first bytes, not by the name. No row is held beyond `MAX_ROW` bytes: a longer
one becomes a `SchemaError` and the rest of it is skipped. A file that can't be read at all raises a `UsageError`; a
stream that breaks after good rows ends in a `SchemaError` as its last item.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from verikit.errors import SchemaError, UsageError
from verikit.readers.array import CHUNK, Items, items, too_long

MAX_ROW = 64 * 2**20
"""Longest row in bytes (decompressed)."""

Stream = io.BufferedReader | gzip.GzipFile
_OTHER = {
    b"\xff\xfe": ("UTF-16", "rewrite it: iconv -f UTF-16 -t UTF-8"),
    b"\xfe\xff": ("UTF-16", "rewrite it: iconv -f UTF-16 -t UTF-8"),
    b"\x28\xb5\x2f\xfd": ("zstd-compressed", "unpack it, into a pipe if you like: zstd -dc FILE | verikit score -"),
    b"BZh": ("bzip2-compressed", "unpack it, into a pipe if you like: bzip2 -dc FILE | verikit score -"),
    b"\xfd7zXZ\x00": ("xz-compressed", "unpack it, into a pipe if you like: xz -dc FILE | verikit score -"),
    b"PK\x03\x04": ("a zip archive", "unpack it: unzip FILE"),
}
"""First bytes of what is not read -> what it is, and what to do."""


@contextmanager
def opened(path: str) -> Iterator[io.BufferedReader]:
    """Open a file, or stdin for `"-"` (which stays open), as a stream that can be peeked into."""
    if path == "-":
        if sys.stdin is None:
            raise UsageError("stdin is closed", hint="give a file, or pipe one in")
        stdin = sys.stdin.buffer
        yield stdin if isinstance(stdin, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, stdin))
        return
    try:
        stream = open(path, "rb")  # noqa: SIM115 - closed below; only opening may fail here
    except (OSError, ValueError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        hint = "give a file" if isinstance(error, IsADirectoryError) else "check the path and its permissions"
        raise UsageError(f"{path}: can't be read: {reason.lower()}", hint=hint) from None
    with stream:
        yield stream


def cut(stream: io.BufferedReader, name: str, cap: int = MAX_ROW) -> Items:
    """Number the rows of a stream from 1; blank lines count but are left out.

    Raises:
        UsageError: nothing can be read from the stream at all.
    """
    number = 0
    try:
        source = _decoded(stream, name)
        for row in items(source.read1, cap) if _is_array(source, name) else _lines(source, cap):
            number = row[0]
            yield row
    except (OSError, EOFError, zlib.error) as error:
        if number == 0:
            raise SchemaError(
                f"can't be read: {error}", file=name, hint="the file is damaged: fetch it again"
            ) from None
        problem = f"the file breaks off or is damaged here: {error}"
        yield number + 1, SchemaError(problem, hint="the rows before it are good; fetch the file again for the rest")


def _decoded(stream: io.BufferedReader, name: str) -> Stream:
    start = stream.peek(2)[:2]
    source: Stream = gzip.GzipFile(fileobj=stream) if start == b"\x1f\x8b" else stream
    start = source.peek(6)[:6]
    if not start:
        raise SchemaError("the file is empty", file=name, hint="one JSON object a line is expected")
    if start.startswith(b"\xef\xbb\xbf"):
        source.read(3)
    for mark, (what, hint) in _OTHER.items():
        if start.startswith(mark):
            raise SchemaError(f"the file is {what}", file=name, hint=hint)
    if name.endswith((".csv", ".tsv")) and start[:1] not in b"{[":
        raise SchemaError("the file is a table of text", file=name, hint="write it as JSON lines or parquet")
    return source


def _is_array(source: Stream, name: str) -> bool:
    """Whether the file is one JSON array; files named as JSON lines never are."""
    if name.removesuffix(".gz").endswith((".jsonl", ".ndjson")):
        return False
    return source.peek(CHUNK).lstrip()[:1] == b"["


def _lines(source: Stream, cap: int) -> Items:
    readline, number = source.readline, 0
    while line := readline(cap + 1):
        number += 1
        if len(line) > cap and not line.endswith(b"\n"):
            size = len(line)
            while line and not line.endswith(b"\n"):
                line = readline(CHUNK)
                size += len(line)
            yield number, too_long(size, cap)
        elif line := line.strip():
            yield number, line
