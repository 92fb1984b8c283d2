"""Reads rows of parquet and Arrow files with pyarrow, one batch at a time, never the whole table.

Memory contains the pages of one row group, or one record batch. A file that is neither raises a `UsageError`. A damaged
row group becomes one `SchemaError`, and the others are read.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from verikit.errors import MissingExtra, SchemaError
from verikit.readers.parse import JsonRow
from verikit.readers.row_groups import batch_rows, dictionary_columns, record_batch_rows
from verikit.readers.values import plain

MAGIC = b"PAR1"
ARROW_FILE, ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"
"""First bytes of Arrow's IPC file format, and of its streaming format, in which `datasets` saves."""
Rows = Iterator[tuple[int, JsonRow | SchemaError]]


def reader_of(start: bytes) -> Callable[[io.BufferedReader, str], Rows] | None:
    """Return the reader for a file with this start, of at least 6 bytes, or None if it has neither format."""
    if start.startswith(MAGIC):
        return rows
    if start.startswith(ARROW_FILE):
        return partial(arrow_rows, stream_format=False)
    return partial(arrow_rows, stream_format=True) if start.startswith(ARROW_STREAM) else None


def rows(stream: io.BufferedReader, name: str) -> Rows:
    """Number the rows of a parquet file from 1.

    Raises:
        MissingExtra: pyarrow is not installed.
        SchemaError: It isn't a parquet file, or comes through a pipe.
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
        odd = _odd_columns(table.schema_arrow)
        encoded = ParquetFile(
            stream, pre_buffer=False, metadata=table.metadata, read_dictionary=dictionary_columns(table)
        )
    except (ArrowException, OSError, ValueError, OverflowError) as error:
        raise SchemaError(_damage("parquet", error), file=name, hint="the file is damaged: fetch it again") from None
    end = 0
    for group in range(table.num_row_groups):
        number, end = end, end + table.metadata.row_group(group).num_rows
        try:
            for batch in table.iter_batches(batch_rows(table, encoded, group), row_groups=[group]):
                for row in _listed(batch, odd):
                    number += 1
                    yield number, row
        except SchemaError as error:
            yield number + 1, error
        except (ArrowException, OSError, ValueError, OverflowError) as error:
            problem = f"rows {number + 1} to {end} can't be read: {_damage('parquet', error)}"
            yield number + 1, SchemaError(problem, hint="fetch the file again. Its other rows are read")


def arrow_rows(stream: io.BufferedReader, name: str, *, stream_format: bool) -> Rows:
    """Number the rows of an Arrow file from 1. Data after a damaged batch is not read.

    Raises:
        MissingExtra: pyarrow is not installed.
        SchemaError: It isn't an Arrow file.
    """
    try:
        from pyarrow import ArrowException, ipc
    except ImportError:
        raise MissingExtra("reading Arrow files", "parquet") from None
    number = 0
    try:
        if stream_format:
            batches: Any = ipc.open_stream(stream)
        else:
            table = ipc.open_file(stream)
            batches = (table.get_batch(i) for i in range(table.num_record_batches))
        for batch in batches:
            batch.validate(full=True)  # otherwise offsets of a damaged file are followed out of memory
            odd = _odd_columns(batch.schema)
            step = record_batch_rows(batch)
            for start in range(0, batch.num_rows, step):
                for row in _listed(batch.slice(start, step), odd):
                    number += 1
                    yield number, row
    except (ArrowException, OSError, ValueError, OverflowError) as error:
        if number == 0:
            raise SchemaError(_damage("Arrow", error), file=name, hint="the file is damaged: fetch it again") from None
        problem = f"the rows from here on can't be read: {_damage('Arrow', error)}"
        yield number + 1, SchemaError(problem, hint="earlier rows are intact. Fetch the file again for the rest")


def _listed(batch: Any, odd: tuple[str, ...]) -> Iterator[JsonRow]:
    row: JsonRow
    for row in batch.to_pylist():
        for column in odd:
            row[column] = plain(row[column])
        yield row


def _odd_columns(schema: Any) -> tuple[str, ...]:
    """Return the columns with values, at any depth, that JSON can't represent: dates, decimals, bytes, maps."""
    from pyarrow import types

    def is_odd(kind: Any) -> bool:
        if types.is_struct(kind):
            return any(is_odd(kind.field(i).type) for i in range(kind.num_fields))
        if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            return is_odd(kind.value_type)
        if types.is_dictionary(kind):
            return is_odd(kind.value_type)
        plain_kinds = (types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_boolean)
        return not (types.is_null(kind) or any(check(kind) for check in plain_kinds))

    return tuple(field.name for field in schema if is_odd(field.type))


def _damage(what: str, error: Exception) -> str:
    return f"damaged {what}: {' '.join(str(error).split())}"
