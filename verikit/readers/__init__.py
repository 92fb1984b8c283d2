"""Readers: rows of a file, in whatever format they lie, become `Group`s.

    source.py   bytes: files, stdin, gzip; lines and JSON arrays cut into rows, each capped
    parquet.py  Arrow batches, one row at a time
    parse.py    one row's bytes to a dict, hardened
    formats.py  which keys a format keeps prompt, completions, answer and id under, and how it is recognised
    fields.py   values to text: prompts, candidates, answers
    layout.py   one row to a `Group`, by a format and the caller's `mapping`
    ids.py      which ids were seen, on which line
    reader.py   `read`: all of it together, streaming

A bad row is yielded as a `SchemaError` and reading goes on; a bad file raises a `UsageError`.
"""

from verikit.readers.formats import FORMATS
from verikit.readers.ids import IdIndex
from verikit.readers.reader import RawRow, Reader, RowParser, placed, read, repeated

__all__ = ["FORMATS", "IdIndex", "RawRow", "Reader", "RowParser", "placed", "read", "repeated"]
