"""Readers: turn rows of files in any supported format into `Group`s.

    paths.py       resolves a path: files, patterns, folders that contain a dataset
    files.py       `rows`: files to numbered rows, several as one; or rows in memory
    source.py      bytes: files and stdin split into rows, each capped
    compressed.py  gzip, zstd, xz, bzip2
    table.py       CSV and TSV
    logs.py        logs of inspect, promptfoo and OpenAI evals, split into samples
    logged.py      those samples with the fields of rows
    parquet.py     parquet and Arrow batches, one row at a time
    parse.py       one row's bytes to a dict, hardened
    values.py      values of tables and data frames as JSON values
    formats.py     the keys of prompt, completions, answer and id in each format, and how to recognise it
    fields.py      values to strings: prompts, candidates, answers
    layout.py      one row to a `Group`, by a format and the caller's `mapping`
    mappings.py    the caller's `mapping`, split by file
    golds.py       gold answers of other files, joined by id
    ids.py         ids already seen, with their lines
    texts.py       corpora: files of rows, and files that are one text
    reader.py      `read`: all of it together, streaming

A bad row is yielded as a `SchemaError` and reading continues. A bad file raises a `UsageError`.
"""

from verikit.readers.files import Files, HeldRows, Places, RowSource, placed, rows
from verikit.readers.formats import FORMATS
from verikit.readers.ids import IdIndex
from verikit.readers.paths import Paths, expand
from verikit.readers.reader import FileParsers, Reader, RowParser, read, repeated
from verikit.readers.source import RawRow

__all__ = [
    "FORMATS",
    "FileParsers",
    "Files",
    "HeldRows",
    "IdIndex",
    "Paths",
    "Places",
    "RawRow",
    "Reader",
    "RowParser",
    "RowSource",
    "expand",
    "placed",
    "read",
    "repeated",
    "rows",
]
