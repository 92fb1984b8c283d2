"""Parquet to rows, by pyarrow: a batch at a time, so that memory holds one row group's pages, never the table.

A file that is no parquet raises a `UsageError`; a damaged row group becomes one `SchemaError`, the others are read.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

from verikit.errors import MissingExtra, SchemaError
from verikit.readers.parse import JsonRow

MAGIC = b"PAR1"
BATCH = 256


def rows(stream: io.BufferedReader, name: str) -> Iterator[tuple[int, JsonRow | SchemaError]]:
    """Number the rows of a parquet file from 1.

    Raises:
        MissingExtra: pyarrow is not installed.
        SchemaError: it is no parquet file, or comes through a pipe.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtra("reading parquet", "parquet") from None
    if not stream.seekable():
        raise SchemaError("parquet can't be read from a pipe", file=name, hint="give the file's path")
    try:
        table = ParquetFile(stream, pre_buffer=False)
    except (ArrowException, OSError, ValueError) as error:
        raise SchemaError(_damage(error), file=name, hint="the file is damaged: fetch it again") from None
    end = 0
    for group in range(table.num_row_groups):
        number, end = end, end + table.metadata.row_group(group).num_rows
        try:
            for batch in table.iter_batches(BATCH, row_groups=[group]):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
        except (ArrowException, OSError, ValueError) as error:
            problem = f"rows {number + 1} to {end} can't be read: {_damage(error)}"
            yield number + 1, SchemaError(problem, hint="fetch the file again; its other rows are read")


def _damage(error: Exception) -> str:
    return f"damaged parquet: {' '.join(str(error).split())}"
