"""Problems without candidates, to sample from: rows with a prompt and its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from verikit.errors import ConfigError, SchemaError, UsageError, nearest
from verikit.readers import fields
from verikit.readers.files import Files
from verikit.readers.layout import LIKELY, either, locate, without
from verikit.readers.parse import JsonRow, parse
from verikit.readers.paths import Paths
from verikit.readers.source import RawRow
from verikit.types import Group

FIELDS = ("prompt", "answer", "id")
CANDIDATES = ("completions", "completion", "failed")
"""Keys of previously sampled rows that are not part of the problem."""


def read_problems(path: Paths, mapping: Mapping[str, str], limit: int | None = None) -> list[Group]:
    """Return the problems of files. Keys that are not prompt, answer or id go to `meta`.

    Args:
        path: Any input of `verikit.readers.rows`.
        mapping: Maps prompt, answer and id to the rows' keys. By default these names, otherwise usual ones (`problem`,
            …).
        limit: Read only the first `limit` rows.

    Raises:
        ConfigError: The file can't be read, or has no rows.
        SchemaError: A row is not an object, or has no prompt.
    """
    _check(mapping)
    files = Files(path)
    problems: list[Group] = []
    try:
        for number, raw in islice(files.rows(), limit):
            try:
                problems.append(_group(_parsed(raw), mapping, number))
            except SchemaError as error:
                raise error if error.line else files.places.placed(error, number) from None
    except SchemaError as error:
        if error.line:
            raise
        raise ConfigError(str(error), hint=error.hint) from None
    except UsageError as error:
        raise ConfigError(str(error), hint=error.hint) from None
    return problems


def iter_problems(path: Paths, mapping: Mapping[str, str]) -> Iterator[tuple[int, Group | SchemaError]]:
    """Yield the problems of files one at a time, each with its number. A bad row becomes its error.

    Candidates that a row already has are dropped.

    Args:
        path: Any input of `verikit.readers.rows`.
        mapping: As for `read_problems`.

    Raises:
        ConfigError: An unknown field is mapped.
        UsageError: The file can't be read, or has no rows.
    """
    _check(mapping)
    files = Files(path)
    for number, raw in files.rows():
        try:
            row = _parsed(raw)
            yield number, problem_of({key: v for key, v in row.items() if key not in CANDIDATES}, mapping, number)
        except SchemaError as error:
            yield number, files.places.placed(error, number)


def problem_of(row: dict[str, Any], mapping: Mapping[str, str], number: int) -> Group:
    """Return the problem of a row, with prompt and answer as a reader of candidates would return them.

    Raises:
        SchemaError: It has no prompt, or one of another type.
    """
    problem = _group(row, mapping, number)
    prompt, answer = fields.prompt(problem.prompt), fields.answer(problem.answer)
    return Group(prompt, answer=answer, id=problem.id, meta=problem.meta)


def _check(mapping: Mapping[str, str]) -> None:
    if unknown := set(mapping) - set(FIELDS):
        raise ConfigError(f"field {min(unknown)!r} of --map not found", hint=nearest(min(unknown), FIELDS))


def _parsed(raw: RawRow | SchemaError) -> JsonRow:
    if isinstance(raw, SchemaError):
        raise raw
    return parse(raw) if isinstance(raw, bytes) else raw


def _group(row: dict[str, Any], mapping: Mapping[str, str], number: int) -> Group:
    taken, rest = _taken(row, mapping)
    prompt, answer = taken.get("prompt"), taken.get("answer")
    if not isinstance(prompt, (str, list)) or not prompt:
        hint = f"it has {', '.join(map(repr, rest))}; name the key with map: prompt=…"
        raise SchemaError("prompt is missing", field="prompt", hint=hint)
    if isinstance(answer, (int, float)):
        answer = str(answer)
    return Group(prompt=prompt, answer=answer, id=fields.identity(taken.get("id")) or str(number), meta=rest)


def _taken(row: dict[str, Any], mapping: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of a problem's fields, each at the first key that has one, and the rest of the row."""
    taken = {}
    for field in FIELDS:
        names = (mapping[field],) if field in mapping else (field, *LIKELY[field])
        keys, value = locate(row, tuple(path for name in names for path in either(name))) or ((), None)
        if value is not None:
            taken[field] = value
            row = without(row, keys)
    return taken, row
