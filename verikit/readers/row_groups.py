"""How many rows of a parquet file to decode at a time, so a few bytes of it can't become gigabytes in memory.

A dictionary contains a value once however many times it occurs, and a run of equal values takes a few bytes. So the
decoded size of a row group can't be derived from its stored size. It is bounded by the longest value of each
dictionary.
"""

from __future__ import annotations

from typing import Any

from verikit.errors import SchemaError

BATCH = 256
MAX_BATCH = 64 << 20
"""Maximum decoded bytes of a batch of several rows."""
MAX_VALUES = 50_000_000
"""Maximum number of values of one list column in one row group."""
_VALUE = 64
"""Bytes of a value in addition to its text."""


def batch_rows(table: Any, longest: Any, group: int) -> int:
    """Return how many rows of a row group to decode at a time.

    Args:
        table: A `ParquetFile`.
        longest: The same file, with dictionaries read without decoding.
        group: Number of the row group.

    Raises:
        SchemaError: A column has too many values for memory.
    """
    meta = table.metadata.row_group(group)
    row = 0.0
    for number in range(meta.num_columns):
        column = meta.column(number)
        path = column.path_in_schema
        if column.num_values > max(MAX_VALUES, meta.num_rows):
            raise SchemaError(
                f"row group {group + 1}: {column.num_values:,} values of {path!r} in {meta.num_rows:,} rows",
                field=path.partition(".")[0], hint="write the file with fewer rows in a row group",
            )  # fmt: skip
        if not any("DICTIONARY" in encoding for encoding in column.encodings):
            continue
        value = _longest_value(longest, group, path) if column.physical_type == "BYTE_ARRAY" else 0
        if value > MAX_BATCH:
            raise SchemaError(
                f"row group {group + 1}: a value of {value:,} bytes in {path!r}, over the cap of {MAX_BATCH:,}",
                field=path.partition(".")[0], hint="remove the row with this value",
            )  # fmt: skip
        row += (_VALUE + value) * column.num_values / max(1, meta.num_rows)
    return max(1, min(BATCH, int(MAX_BATCH / max(1.0, row))))


def record_batch_rows(batch: Any) -> int:
    """Return how many rows of an Arrow record batch, whose dictionaries are not decoded, to decode at a time."""
    row = sum(_VALUE + _longest(column) for column in batch.columns)
    return max(1, min(BATCH, MAX_BATCH // max(1, row)))


def _longest_value(file: Any, group: int, path: str) -> int:
    """Return the bytes of the longest value in a column's dictionary, or 0 if it turns out to have none."""
    first = next(file.iter_batches(1, row_groups=[group], columns=[path]), None)
    return 0 if first is None else _longest(first.column(0))


def _longest(values: Any) -> int:
    """Return the bytes of the longest string in the dictionary of an array or its child arrays, or 0 without one."""
    from pyarrow import compute, types

    while not types.is_dictionary(values.type) and hasattr(values, "flatten"):
        parts = values.flatten()
        values = parts[0] if isinstance(parts, list) else parts
    if not types.is_dictionary(values.type) or not _is_text(values.type.value_type):
        return 0
    lengths = compute.call_function("binary_length", [values.dictionary])
    return compute.call_function("max", [lengths]).as_py() or 0


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    checks = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(check(kind) for check in checks)


def dictionary_columns(table: Any) -> list[str]:
    """Return the columns of a `ParquetFile` whose dictionaries can be read without decoding."""
    columns = (table.schema.column(number) for number in range(len(table.schema)))
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
