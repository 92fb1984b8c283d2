"""Converts a caller's Python data to a file of rows, the input format of every command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from verikit.errors import UsageError
from verikit.platform.folders import refuse_links
from verikit.readers.values import plain
from verikit.types import Group, Sample

Data: TypeAlias = Any
"""Rows from a caller: a path, dicts, `Sample`s, `Group`s, a pandas or polars data frame, a pyarrow table or `Dataset`.
"""
_SHAPE = "a list of dicts, a data frame, a dataset, or a path"


def is_path(data: Data) -> bool:
    """Whether a caller's data names a file, a pattern or a folder."""
    return isinstance(data, (str, PathLike))


def are_paths(data: Data) -> bool:
    """Whether a caller's data names several of these."""
    return isinstance(data, (list, tuple)) and bool(data) and all(map(is_path, data))


def is_table(data: object) -> bool:
    """Whether an object contains rows: a table, a dataset, or a list of dicts or samples."""
    if isinstance(data, (list, tuple)):
        return bool(data) and all(isinstance(row, (Mapping, Sample, Group)) for row in data)
    return any(hasattr(data, method) for method in (*_TABLES, "to_pandas"))


def as_path(data: str | PathLike[str]) -> str:
    """Return a path as commands accept it. `~` is the home folder.

    Raises:
        UsageError: It is stdin, which a Python call does not have.
    """
    path = fspath(data)
    if path == "-":
        raise UsageError("- is not a file", hint="give a path or rows")
    return str(Path(path).expanduser())


def write_rows(data: Data, path: Path) -> int:
    """Write rows as JSON lines and return their number.

    Raises:
        UsageError: There are no rows, or these are not rows.
    """
    count = 0
    with open(path, "wb") as stream:
        for count, row in enumerate(rows_of(data), 1):
            stream.write(_encoded(row, count).encode("utf-8", "replace") + b"\n")
    if not count:
        raise UsageError("there are no rows", hint=_SHAPE)
    return count


def keep_rows(data: Data, folder: Path, name: str, restart: bool) -> Path:
    """Write rows into a run's folder, where they record the run's input.

    Raises:
        UsageError: There are none, or the folder contains rows that are neither these nor a prefix of these.
    """
    refuse_links(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path, fresh = folder / name, folder / f".{name}"
    try:
        write_rows(data, fresh)
        if path.exists() and not restart and not _begins_with(fresh, path):
            hint = "resume=False starts from scratch; another `out` keeps both"
            raise UsageError(f"{folder} was created from other rows", hint=hint)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    return path


def _begins_with(path: Path, other: Path) -> bool:
    with open(path, "rb") as longer, open(other, "rb") as held:
        return all(longer.read(len(block)) == block for block in iter(lambda: held.read(2**20), b""))


def _items(data: Any) -> Iterable[Any]:
    """The items of a table by its own method, of any other iterable in order."""
    read = next((read for method, read in _TABLES.items() if hasattr(data, method)), None)
    if read is not None:
        return read(data)
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise UsageError(f"a {type(data).__name__} contains no rows", hint=_SHAPE)
    return data


def rows_of(data: Data) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a caller's object one by one. Nothing is imported.

    Raises:
        UsageError: It contains none.
    """
    kind = type(data).__name__
    if isinstance(data, (Sample, Group)):
        data = [data]
    if isinstance(data, Mapping):
        hint = f"choose one: {', '.join(map(str, data))}" if kind == "DatasetDict" else _SHAPE
        raise UsageError(f"a {kind} contains no rows itself", hint=hint)
    for number, row in enumerate(_items(data), 1):
        if isinstance(row, (Sample, Group)):
            yield _plain_row(row)
        elif isinstance(row, Mapping):
            yield row
        else:
            raise UsageError(f"row {number} is a {type(row).__name__}, not a dict", hint=_SHAPE)


def _pandas_rows(frame: Any) -> Iterator[dict[str, Any]]:
    names = [str(name) for name in frame.columns]
    return (dict(zip(names, row, strict=True)) for row in frame.itertuples(index=False, name=None))


_TABLES: Mapping[str, Callable[[Any], Iterator[Any]]] = {
    "itertuples": _pandas_rows,
    "iter_rows": lambda frame: frame.iter_rows(named=True),  # polars
    "collect_schema": lambda frame: frame.collect().iter_rows(named=True),  # polars, lazy
    "to_batches": lambda table: chain.from_iterable(batch.to_pylist() for batch in table.to_batches()),  # pyarrow
}
"""How to get the rows of tables, by a method that only they have. The first match is used.

Datasets iterate over dicts.
"""


def _plain_row(row: Sample | Group) -> dict[str, Any]:
    """Return a sample or group in verikit's own format."""
    found = {field.name: getattr(row, field.name) for field in fields(row)}
    found = {name: value for name, value in found.items() if value not in ("", (), {}, None)}
    if isinstance(row, Sample):
        return _plain_sample(row, found)
    texts: list[Any] = list(row.completions)
    if own := found.pop("candidate_meta", None):
        texts = [{"text": text, **meta} for text, meta in zip(texts, own, strict=True)]
    return found | {"completions": texts}


def _plain_sample(row: Sample, found: dict[str, Any]) -> dict[str, Any]:
    if messages := found.pop("messages", None):
        return found | {"completion": list(messages)}
    if thoughts := found.pop("thoughts", None):
        return found | {"completion": [{"role": "assistant", "content": row.completion, "reasoning_content": thoughts}]}
    return found | {"completion": row.completion}


def _encoded(row: Mapping[str, Any], number: int) -> str:
    try:
        return json.dumps(plain(row, _refused), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"row {number} can't be written as JSON: {error}", hint="use strings, numbers, lists and dicts"
        ) from None


def _refused(value: Any) -> NoReturn:
    raise TypeError(f"a {type(value).__name__}")
