"""Files to typed tables. Content that a careful reader would question is rejected, unless the task allows it."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from verikit.errors import AgentFault, MissingExtra, VerikitError, WorkspaceError
from verikit.sandbox import ISOLATION, RunLimits, default_sandbox
from verikit.sandbox.guest import source
from verikit.workspaces.names import shown
from verikit.workspaces.tree import Blob

Format = Literal["auto", "csv", "tsv", "json", "jsonl", "parquet", "sqlite"]
Lax = Literal["bom", "nan", "duplicates", "semicolons"]
MAX_MB = 16
"""Maximum MiB of a table."""
ENDINGS: dict[str, Format] = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
    ".db": "sqlite", ".sqlite": "sqlite", ".sqlite3": "sqlite",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TypedTable:
    """A table: columns and rows of values; with `texts`, all values are strings and are read as the expected types."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    texts: bool = False


def format_of(path: str, told: Format) -> Format:
    """The format of a file, from its ending if it is not given.

    Raises:
        WorkspaceError: The ending is unknown.
    """
    if told != "auto":
        return told
    ending = "." + path.rpartition(".")[2].lower()
    if ending not in ENDINGS:
        raise WorkspaceError(f"the suffix of {shown(path)} is not a supported table format", hint="format='csv'")
    return ENDINGS[ending]


def read_table(blob: Blob, kind: Format, allow: frozenset[str], max_rows: int, *, ours: bool = False) -> TypedTable:
    """The table in a file.

    Raises:
        AgentFault: It is not a table, or has rejected content; for a file of the row, a `WorkspaceError`.
        WorkspaceError: It has too many rows.
        MissingExtra: Parquet, without pyarrow.
    """
    if blob.size > MAX_MB << 20:
        raise WorkspaceError(f"{shown(blob.path)} has {blob.size >> 20} MB, of a table {MAX_MB} are read")
    try:
        found = _parquet(blob.data(), max_rows) if kind == "parquet" else _of_text(_text(blob, allow), kind, allow)
    except NoTable as problem:
        fault: type[VerikitError] = WorkspaceError if ours else AgentFault
        raise fault(f"{shown(blob.path)} {problem}") from None
    if len(found.rows) > max_rows:
        raise WorkspaceError(f"{shown(blob.path)} has over {max_rows:,} rows", hint="max_rows=…")
    return found


class NoTable(Exception):
    """A file is not a table, or has content that is not allowed."""


def _text(blob: Blob, allow: frozenset[str]) -> str:
    data = blob.data()
    if data.startswith(b"\xef\xbb\xbf"):
        if "bom" not in allow:
            raise NoTable("starts with a byte order mark")
        data = data[3:]
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise NoTable("is not UTF-8 text") from None


def _of_text(text: str, kind: Format, allow: frozenset[str]) -> TypedTable:
    if kind in ("csv", "tsv"):
        head, cells = csv_rows(text, "\t" if kind == "tsv" else _delimiter(text, allow))
        return TypedTable(tuple(head), tuple(map(tuple, cells)), texts=True)
    texts = [line for line in text.splitlines() if line.strip()] if kind == "jsonl" else [text]
    values = [_json(one, allow) for one in texts]
    rows = values if kind == "jsonl" else values[0]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise NoTable("is not a list of objects")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    missing = next((column for row in rows for column in columns if column not in row), None)
    if missing is not None:
        raise NoTable(f"has a row without {shown(missing)!r}")
    return TypedTable(tuple(columns), tuple(tuple(row[column] for column in columns) for row in rows))


def _delimiter(text: str, allow: frozenset[str]) -> str:
    """A semicolon if it is allowed and more frequent than the comma in the head, outside quotes."""
    counts, quoted = Counter[str](), False
    for letter in text.lstrip("\r\n") if "semicolons" in allow else "":
        if letter in "\r\n" and not quoted:
            break
        quoted ^= letter == '"'
        counts[letter] += not quoted
    return ";" if counts[";"] > counts[","] else ","


def csv_rows(text: str, delimiter: str = ",") -> tuple[list[str], list[list[str]]]:
    """The head and the rows of CSV.

    Raises:
        NoTable: It has no head, a column twice, a row of another length, or is not CSV.
    """
    try:
        lines = list(_records(text, delimiter))
    except csv.Error as error:
        raise NoTable(f"is not CSV: {error}") from None
    if not lines:
        raise NoTable("is empty")
    head, *rows = lines
    if len(set(head)) < len(head):
        raise NoTable("has a column twice")
    if wrong := next((number for number, row in enumerate(rows, 1) if len(row) != len(head)), None):
        raise NoTable(f"has {len(rows[wrong - 1])} cells in row {wrong}, {len(head)} in its head")
    return head, rows


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(MAX_MB << 20)
    for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
        if record:
            yield record


def _json(text: str, allow: frozenset[str]) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items) and "duplicates" not in allow:
            raise NoTable("has a key twice in one object")
        return found

    def constant(name: str) -> float:
        if "nan" not in allow:
            raise NoTable(f"has {name}, which JSON has not")
        return float(name)

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise NoTable(f"is not JSON: {error}"[:200]) from None


def _observed(printed: str, max_rows: int) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """The columns and rows that the reader of parquet printed."""
    try:
        told = json.loads(printed)
        if "too_many" in told:
            raise WorkspaceError(f"a table of over {max_rows:,} rows", hint="max_rows=…")
        if "refused" in told:
            raise NoTable(f"is not a parquet file: {shown(str(told['refused']))}")
        return tuple(str(column) for column in told["columns"]), tuple(tuple(row) for row in told["rows"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise WorkspaceError("the reader of parquet printed no observation") from None


def _parquet(data: bytes, max_rows: int) -> TypedTable:
    """The rows of a parquet file, read in the sandbox."""
    if find_spec("pyarrow") is None:
        raise MissingExtra("parquet", "parquet")
    limits = RunLimits(wall_s=20, memory_mb=2048, output_kb=64 * 1024)
    ran = default_sandbox(ISOLATION).run(source("parquet_rows"), data, call=("run", [max_rows], {}), limits=limits)
    if ran.status != "ok":
        raise WorkspaceError(f"the reader of parquet failed: {ran.status} {ran.error or ''}")
    columns, rows = _observed(ran.stdout, max_rows)
    if len(set(columns)) < len(columns) or any(len(row) != len(columns) for row in rows):
        raise NoTable("has a column twice")
    return TypedTable(columns, rows)


def number_of(text: str) -> float | int | None:
    """A cell of CSV as a number in plain decimal digits; None if it is not one."""
    stripped = text.strip()
    if not stripped or not stripped.isascii() or "_" in stripped or len(stripped) > 400:
        return None
    try:
        return int(stripped) if stripped.lstrip("+-").isdecimal() else _finite(float(stripped))
    except ValueError:
        return None


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
