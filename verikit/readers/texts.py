"""Corpora: files of rows with one text each, and files that are one text. Plain or compressed.

The kind of a file is determined by its name (`.jsonl`, `.json`, `.csv`, …, also followed by `.gz` and similar), or by
its first bytes if these are parquet's or Arrow's.
"""

from __future__ import annotations

import os
from os import PathLike, fspath

from verikit.errors import SchemaError
from verikit.readers.compressed import ENDINGS, decompressed, errors
from verikit.readers.parquet import reader_of
from verikit.readers.paths import expand, walk
from verikit.readers.source import opened

ROWS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".arrow")
TEXTS = (".txt", ".text", ".md", ".rst", ".tex")
"""Endings of the files used from a folder without files of rows."""
MAX_TEXT = 2**30
"""Maximum uncompressed bytes of a text that is one file."""


def plain_name(path: str | PathLike[str]) -> str:
    """A path without the ending of its compression."""
    name = fspath(path)
    return next((name.removesuffix(ending) for ending in ENDINGS if name.lower().endswith(ending)), name)


def corpus_files(path: str | PathLike[str]) -> list[str]:
    """Return the files of a path, a pattern or a folder. A folder of text files is expanded to them, in natural order.

    Raises:
        UsageError: There are none, or a folder contains several datasets.
    """
    name = fspath(path)
    if os.path.isdir(name):
        kinds = {os.path.splitext(plain_name(file))[1].lower() for file in walk(name)}
        if not kinds & set(ROWS) and kinds & set(TEXTS):
            return [file for file in walk(name) if plain_name(file).lower().endswith(TEXTS)]
    return expand(name)


def holds_rows(path: str | PathLike[str]) -> bool:
    """Whether a file contains rows.

    Raises:
        UsageError: It can't be read.
    """
    if plain_name(path).lower().endswith(ROWS):
        return True
    with opened(fspath(path)) as stream:
        return reader_of(stream.peek(6)[:6]) is not None


def read_text(path: str | PathLike[str]) -> str:
    """Return the content of a text file.

    Raises:
        UsageError: It can't be read.
        SchemaError: It is damaged, too long, empty, or not UTF-8.
        MissingExtra: The package that decompresses it is not installed.
    """
    name = fspath(path)
    try:
        with opened(name) as stream:
            data = decompressed(stream).read(MAX_TEXT + 1)
    except errors() as error:
        raise SchemaError(f"can't be read: {error}", file=name, hint="the file is damaged: fetch it again") from None
    if len(data) > MAX_TEXT:
        raise SchemaError(
            f"the string is larger than {MAX_TEXT:,} bytes", file=name, hint="cut it, or write it as JSON lines"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        hint = f"expected UTF-8 text or a file of rows ({', '.join(ROWS)})"
        raise SchemaError(f"invalid UTF-8: byte 0x{data[error.start]:02x}", file=name, line=line, hint=hint) from None
    if "\0" in text:
        raise SchemaError("a NUL byte is not allowed", file=name, hint="delete it, or convert it to text")
    if not text.strip():
        raise SchemaError("the file is empty", file=name)
    return text
