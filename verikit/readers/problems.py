"""Problems without candidates, to sample from: JSON lines with a prompt and its answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from verikit.errors import ConfigError, SchemaError
from verikit.readers.layout import LIKELY
from verikit.types import Group

FIELDS = ("prompt", "answer", "id")


def read_problems(path: Path, mapping: Mapping[str, str]) -> list[Group]:
    """Return a file's problems; keys that are not prompt, answer or id go to `meta`.

    Args:
        path: One JSON object a line.
        mapping: From prompt, answer and id to the rows' keys; by default these names, else usual ones (`problem`, …).

    Raises:
        ConfigError: the file can't be read, or has no rows.
        SchemaError: a row is no object, or has no prompt.
    """
    if unknown := set(mapping) - set(FIELDS):
        raise ConfigError(f"map: no field {min(unknown)!r}", hint=f"fields are {', '.join(FIELDS)}")
    try:
        problems = list(_problems(path, mapping))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    if not problems:
        raise ConfigError(f"{path} has no rows")
    return problems


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
    taken = {}
    for field in FIELDS:
        names = (mapping[field],) if field in mapping else (field, *LIKELY[field])
        key = next((name for name in names if row.get(name) is not None), None)
        if key is not None:
            taken[field] = row.pop(key)
    prompt, answer = taken.get("prompt"), taken.get("answer")
    if not isinstance(prompt, (str, list)) or not prompt:
        hint = f"it has {', '.join(map(repr, row))}; name the key with map: prompt=…"
        raise SchemaError("no prompt", file=path, line=number, field="prompt", hint=hint)
    if isinstance(answer, (int, float)):
        answer = str(answer)
    return Group(prompt=prompt, answer=answer, id=str(taken.get("id", number)), meta=row)
