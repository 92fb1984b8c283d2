"""Turns bytes into rows: a file or stdin, plain or compressed, split into numbered rows.

Rows are lines, the items of one JSON array, or the rows of a text table, a parquet file or an Arrow file. Text tables
are recognised by their names, all others by their first bytes. No row takes more than `MAX_ROW` bytes: a longer one
becomes a `SchemaError` and the rest of it is skipped. A file that can't be read at all raises a `UsageError`. A stream
that breaks after good rows ends in a `SchemaError` as its last item.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import cast

from verikit.errors import SchemaError, UsageError
from verikit.platform.folders import nearest_path
from verikit.readers import logs, parquet, table
from verikit.readers.array import CHUNK, Items, items, too_long
from verikit.readers.compressed import ENDINGS, Stream, decompressed, errors
from verikit.readers.parse import JsonRow

MAX_ROW = 64 * 2**20
"""Longest row in bytes (decompressed)."""

RawRow = bytes | JsonRow
"""A row as stored in the file: bytes of JSON, or a row of a table."""
Rows = Iterator[tuple[int, RawRow | SchemaError]]
_OTHER = {
    b"\xff\xfe": ("UTF-16", "rewrite it: iconv -f UTF-16 -t UTF-8"),
    b"\xfe\xff": ("UTF-16", "rewrite it: iconv -f UTF-16 -t UTF-8"),
    b"\x28\xb5\x2f\xfd": ("zstd within another compression", "unpack it once"),
    b"BZh": ("bzip2 within another compression", "unpack it once"),
    b"\xfd7zXZ\x00": ("xz within another compression", "unpack it once"),
    b"\x1f\x8b": ("gzip within another compression", "unpack it once"),
    logs.ZIP: ("a zip archive within a compression", "unpack it once"),
}
"""First bytes of unsupported files -> their type, and the remedy."""
_WRITTEN = "write the rows as JSON lines, a JSON array, CSV or parquet"
_NO_ROWS = {".yaml": "YAML", ".yml": "YAML", ".toml": "TOML", ".xml": "XML", ".html": "HTML", ".ini": "INI"}
"""Endings of text files in formats without rows, unless they contain JSON."""


@contextmanager
def opened(path: str) -> Iterator[io.BufferedReader]:
    """Open a file, or stdin for `"-"` (which stays open), as a stream that supports peeking."""
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
        if isinstance(error, FileNotFoundError):
            hint = nearest_path(path, hint)
        raise UsageError(f"{path}: can't be read: {reason.lower()}", hint=hint) from None
    with stream:
        yield stream


def cut(
    stream: io.BufferedReader, name: str, cap: int = MAX_ROW, lists: Collection[str] = (), delimiter: str = ""
) -> Rows:
    """Number the rows of a stream from 1. Blank lines are counted but skipped.

    Args:
        stream: The result of `opened`.
        name: Name of the file, for messages. Its ending identifies text tables and JSON lines.
        cap: Longest row in bytes.
        lists: Columns of a text table whose cells are lists.
        delimiter: Its column separator, if the name doesn't identify it as such a table.

    Raises:
        UsageError: Nothing can be read from the stream at all.
        MissingExtra: The package that reads such files is not installed.
    """
    if read := parquet.reader_of(stream.peek(6)[:6]):
        yield from read(stream, name)
        return
    if stream.peek(4).startswith(logs.ZIP):
        yield from logs.archive_rows(stream, name, cap)
        return
    number = 0
    try:
        for row in _rows(_decoded(stream, name), name, cap, lists, delimiter):
            number = row[0]
            yield row
    except errors() as error:
        if number == 0:
            raise SchemaError(
                f"can't be read: {error}", file=name, hint="the file is damaged: fetch it again"
            ) from None
        problem = f"the file breaks off or is damaged here: {error}"
        yield number + 1, SchemaError(problem, hint="earlier rows are intact. Fetch the file again for the rest")


def _rows(source: Stream, name: str, cap: int, lists: Collection[str], delimiter: str) -> Rows:
    if (delimiter := delimiter or table.delimiter_of(name)) and not _starts_with(source, b"{["):
        return table.rows(source, name, delimiter, cap, lists)
    if found := logs.document_rows(source, name, cap):
        return found
    return items(source.read1, cap) if _is_array(source, name) else _lines(source, cap)


def _decoded(stream: io.BufferedReader, name: str) -> Stream:
    source = decompressed(stream)
    start = source.peek(6)[:6]
    if not start:
        raise SchemaError("the file is empty", file=name, hint="one JSON object a line is expected")
    if start.startswith(b"\xef\xbb\xbf"):
        source.read(3)
    for mark, (what, hint) in _OTHER.items():
        if start.startswith(mark):
            raise SchemaError(f"the file is {what}", file=name, hint=hint)
    form = _NO_ROWS.get(os.path.splitext(_unpacked(name))[1].lower(), "")
    if form and not _starts_with(source, b"{["):
        raise SchemaError(f"the file is {form}, which verikit does not read", file=name, hint=_WRITTEN)
    return source


def _is_array(source: Stream, name: str) -> bool:
    """Whether the file is one JSON array; files named as JSON lines never are."""
    return not _unpacked(name).endswith((".jsonl", ".ndjson")) and _starts_with(source, b"[")


def _unpacked(name: str) -> str:
    """A file's name without the ending of a compression."""
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name


def _starts_with(source: Stream, characters: bytes) -> bool:
    """Whether the first character of a text is one of these."""
    first = source.peek(CHUNK).lstrip()[:1]
    return first != b"" and first in characters


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
