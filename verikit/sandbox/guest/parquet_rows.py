"""Print the columns and rows of a parquet file from standard input: runs inside the sandbox."""

from __future__ import annotations

import decimal
import json
import sys
from typing import Any


def run(max_rows: int) -> int:
    """Print `{"columns": …, "rows": …}` as JSON, or why the file is invalid. Returns the number of rows."""
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(sys.stdin.buffer.read()))
        if file.metadata.num_rows > max_rows:
            print(json.dumps({"too_many": max_rows}))
            return 0
        table = file.read(use_threads=False)
        columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        print(json.dumps({"refused": f"{type(error).__name__}: {error}"[:300]}))
        return 0
    rows = [list(row) for row in zip(*columns, strict=True)]
    print(json.dumps({"columns": table.column_names, "rows": rows}))
    return len(rows)


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
