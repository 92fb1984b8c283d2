"""Is the text a table of comma-separated values of the right shape?"""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from verikit.errors import UsageError
from verikit.types import Score
from verikit.verifiers.documents.structured import StructuredText


@dataclass(frozen=True)
class Csv(StructuredText):
    """1.0 if the completion is CSV (RFC 4180): a header of distinct names, rows of the same width, quotes that close.

    The schema describes one row, an object by column. A cell is a string, or the `type` of its property in the schema
    (`integer`, `number`, `boolean`; an empty cell is null if null is allowed).
    """

    columns: tuple[str, ...] = ()
    """The header, in order; (): any header."""
    delimiter: str = ","
    """One character."""
    min_rows: int = 0
    """Minimum number of rows below the header."""
    max_rows: int | None = None
    """Maximum number of rows. None: any."""
    name = "csv"
    labels: ClassVar[frozenset[str]] = frozenset({"csv", "tsv"})

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "columns", tuple(self.columns))
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise UsageError(f"delimiter must be one character other than a quote, got {self.delimiter!r}")
        if self.min_rows < 0 or (self.max_rows is not None and self.max_rows < self.min_rows):
            raise UsageError(f"csv requires 0 <= min_rows <= max_rows, got {self.min_rows} and {self.max_rows}")

    def _check_shape(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Raise if columns or rows are not the requested ones."""
        if len(set(header)) < len(header):
            raise ValueError("column names that come twice")
        if self.columns and tuple(header) != self.columns:
            raise ValueError(f"expected the columns {', '.join(self.columns)[:80]}, got {', '.join(header)[:80]}")
        if uneven := next((n for n, row in enumerate(rows, 2) if len(row) != len(header)), 0):
            raise ValueError(f"row {uneven} has {len(rows[uneven - 2])} cells, expected {len(header)}")
        if len(rows) < self.min_rows or (self.max_rows is not None and len(rows) > self.max_rows):
            raise ValueError(f"{len(rows)} rows")

    def parse(self, text: str) -> Any:
        """The rows as objects by column."""
        space = " \t\r\n".replace(self.delimiter, "")  # a delimiter at the end precedes an empty cell
        try:
            lines = list(csv.reader(io.StringIO(text.strip(space), newline=""), delimiter=self.delimiter, strict=True))
        except csv.Error as problem:
            raise ValueError(str(problem)) from None
        header, rows = lines[0], lines[1:]
        self._check_shape(header, rows)
        assert isinstance(self.schema, Mapping)
        wanted = [_types(self.schema, name) for name in header]
        return [
            {name: _read(cell, kinds) for name, cell, kinds in zip(header, row, wanted, strict=True)} for row in rows
        ]

    def check(self, value: Any, body: str) -> Score:
        """Each row against the schema, whose references (`#/$defs/x`) start from the schema itself."""
        end = time.thread_time() + self.timeout_s
        for number, row in enumerate(value, 2):
            score = self._schema.check(row, body)
            if score.value != 1.0:
                return replace(score, reason=f"row {number}: {score.reason}")
            if time.thread_time() > end:
                return Score(0.0, answer=body, reason=f"the check ran out of {self.timeout_s} s at row {number}")
        return Score(1.0, answer=body, reason="the schema accepts every row")


def _types(schema: Mapping[str, Any], name: str) -> Sequence[str]:
    properties = schema.get("properties")
    found = properties.get(name) if isinstance(properties, Mapping) else None
    kinds = found.get("type", ()) if isinstance(found, Mapping) else ()
    return (kinds,) if isinstance(kinds, str) else tuple(kinds)


def _read(cell: str, kinds: Sequence[str]) -> Any:
    """The cell as the first type that its text fits; otherwise the text, which the schema then rejects."""
    text = cell.strip()
    written = text if text.isascii() and "_" not in text else "no number"
    if "null" in kinds and not text:
        return None
    if "boolean" in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "integer" in kinds or "number" in kinds:
        try:
            return int(written)
        except ValueError:
            pass
    if "number" in kinds:
        try:
            number = float(written)
        except ValueError:
            return cell
        return number if math.isfinite(number) else cell
    return cell
