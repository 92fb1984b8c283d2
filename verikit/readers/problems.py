"""Problems without candidates, to sample from: rows with a prompt and its answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from verikit.errors import ConfigError, SchemaError
from verikit.readers import fields, parquet, source
from verikit.readers.layout import LIKELY
from verikit.readers.parse import parse
from verikit.types import Group

FIELDS = ("prompt", "answer", "id")
CANDIDATES = ("completions", "completion", "failed")
"""Keys of a row that was sampled before, which are not its problem's."""


def read_problems(path: Path, mapping: Mapping[str, str]) -> list[Group]:
    """Return a file's problems; keys that are not prompt, answer or id go to `meta`.

    Args:
        path: One JSON object a line.
        mapping: From prompt, answer and id to the rows' keys; by default these names, else usual ones (`problem`, …).

    Raises:
        ConfigError: the file can't be read, or has no rows.
        SchemaError: a row is no object, or has no prompt.
    """
    _check(mapping)
    try:
        problems = list(_problems(path, mapping))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    if not problems:
        raise ConfigError(f"{path} has no rows")
    return problems


def iter_problems(path: str | PathLike[str], mapping: Mapping[str, str]) -> Iterator[tuple[int, Group | SchemaError]]:
    """Yield a file's problems one at a time, each with its line; a bad row comes out as its error.

    A row's candidates, where it has some already, are left out.

    Args:
        path: JSON lines, a JSON array or parquet, plain or gzip; `"-"` is stdin.
        mapping: As for `read_problems`.

    Raises:
        ConfigError: an unknown field is mapped.
        UsageError: the file can't be read, or has no rows.
    """
    _check(mapping)
    name, line = "<stdin>" if path == "-" else fspath(path), 0
    with source.opened(fspath(path)) as stream:
        cut = parquet.rows if stream.peek(4)[:4] == parquet.MAGIC else source.cut
        for line, row in cut(stream, name):
            try:
                if isinstance(row, SchemaError):
                    raise row
                data = parse(row) if isinstance(row, bytes) else row
                yield line, _checked(_group({k: v for k, v in data.items() if k not in CANDIDATES}, mapping, line))
            except SchemaError as error:
                yield line, SchemaError(error.problem, file=name, line=line, field=error.field, hint=error.hint)
    if not line:
        raise SchemaError("the file has no rows", file=name, hint="one JSON object a line is expected")


def _checked(problem: Group) -> Group:
    """The problem with prompt and answer as a reader of candidates would give them."""
    prompt, answer = fields.prompt(problem.prompt), fields.answer(problem.answer)
    return Group(prompt, answer=answer, id=problem.id, meta=problem.meta)


def _check(mapping: Mapping[str, str]) -> None:
    if unknown := set(mapping) - set(FIELDS):
        raise ConfigError(f"map: no field {min(unknown)!r}", hint=f"fields are {', '.join(FIELDS)}")


def _problems(path: Path, mapping: Mapping[str, str]) -> Iterator[Group]:
    with open(path, encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                yield _problem(line, mapping, path, number)


def _problem(line: str, mapping: Mapping[str, str], path: Path, number: int) -> Group:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"not JSON: {error}", file=path, line=number) from None
    if not isinstance(row, dict):
        raise SchemaError("not a JSON object", file=path, line=number)
    try:
        return _group(row, mapping, number)
    except SchemaError as error:
        raise SchemaError(error.problem, file=path, line=number, field=error.field, hint=error.hint) from None


def _group(row: dict[str, Any], mapping: Mapping[str, str], number: int) -> Group:
    taken = {}
    for field in FIELDS:
        names = (mapping[field],) if field in mapping else (field, *LIKELY[field])
        key = next((name for name in names if row.get(name) is not None), None)
        if key is not None:
            taken[field] = row.pop(key)
    prompt, answer = taken.get("prompt"), taken.get("answer")
    if not isinstance(prompt, (str, list)) or not prompt:
        hint = f"it has {', '.join(map(repr, row))}; name the key with map: prompt=…"
        raise SchemaError("no prompt", field="prompt", hint=hint)
    if isinstance(answer, (int, float)):
        answer = str(answer)
    return Group(prompt=prompt, answer=answer, id=str(taken.get("id", number)), meta=row)
