"""Readers: rows of files, in whatever format they lie, become `Group`s.

    paths.py       what a path stands for: files, patterns, folders that hold a data set
    files.py       `rows`: files to numbered rows, several as one; rows in memory in their place
    source.py      bytes: files and stdin cut into rows, each capped
    compressed.py  gzip, zstd, xz, bzip2
    table.py       CSV and TSV
    logs.py        logs of inspect, promptfoo and OpenAI evals, cut into samples
    logged.py      those samples with the fields of rows
    parquet.py     parquet and Arrow batches, one row at a time
    parse.py       one row's bytes to a dict, hardened
    values.py      values of tables and data frames as JSON has them
    formats.py     which keys a format keeps prompt, completions, answer and id under, and how it is recognised
    fields.py      values to text: prompts, candidates, answers
    layout.py      one row to a `Group`, by a format and the caller's `mapping`
    mappings.py    the caller's `mapping`: what of it is for which file
    golds.py       golds of other files, joined by id
    ids.py         which ids were seen, on which line
    texts.py       corpora: files of rows, and files that are one text
    reader.py      `read`: all of it together, streaming

A bad row is yielded as a `SchemaError` and reading goes on; a bad file raises a `UsageError`.
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
