"""Functions that all converter families use to read rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from verikit.errors import SchemaError
from verikit.readers.parse import JsonRow, kind

MISSING: tuple[Any, ...] = (None, "", [], {})
ID = ("id", "_id", "unique_id", "uuid", "task_id", "problem_id", "question_id", "prompt_id", "key")
FOLDER = "source_folder"
"""The key with the folder of a row's file. It is not written."""
_BROKEN = re.compile(r"[\x07\x08\x0b\x0c](?=[a-z])")
"""Matches a control character before letters.

It is left over from `\\frac`, `\\begin` or `\\vec` in a string that was unescaped once too often. Valid mathematics has
none.
"""

_SOLVED = re.compile(r"\n####[ \t]*\S")
"""Matches the mark before the final answer of GSM8K's solutions."""


class LeftOut(Exception):
    """A row that its format marks as unusable: a proof without an answer, or a question that has none."""


def need(row: JsonRow, *keys: str) -> Any:
    """Return the first non-empty value of some keys.

    Raises:
        SchemaError: All of them are empty or missing.
    """
    for key in keys:
        if row.get(key) not in MISSING:
            return row[key]
    shown = ", ".join(row) or "none"
    problem = "is missing" if keys[0] not in row else "is empty"
    raise SchemaError(problem, field=keys[0], hint=f"this row has the keys {shown}. Check the form of the file")


def text(row: JsonRow, *keys: str) -> str:
    """Return the string under the first non-empty key.

    Raises:
        SchemaError: There is no value, or it is not a string.
    """
    value = need(row, *keys)
    key = next(key for key in keys if row.get(key) not in MISSING)
    if not isinstance(value, str):
        raise SchemaError(f"must be a string, got {kind(value)}", field=key)
    if not value.strip():
        raise SchemaError("is empty", field=key)
    return value


def formula(row: JsonRow, *keys: str) -> str:
    """Return a string with mathematics.

    Raises:
        SchemaError: There is no value, or its backslashes were read as escapes.
    """
    found = text(row, *keys)
    whole(found, keys[0])
    return found


def whole(value: str, field: str) -> None:
    r"""Reject mathematics whose backslashes were read as escapes.

    Raises:
        SchemaError: A control character has replaced the start of a command such as `\frac`.
    """
    if broken := _BROKEN.search(value):
        shown = value[max(0, broken.start() - 20) : broken.end() + 20]
        raise SchemaError(
            f"contains {broken[0]!r} before letters, the rest of a LaTeX command: {shown!r}",
            field=field,
            hint="the file was unescaped once too often: fetch it again",
        )


def decoded(value: Any, field: str) -> Any:
    """Decode a value that may be JSON text.

    Raises:
        SchemaError: The value is a string that is not JSON.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"is not JSON: {error}", field=field) from None


def texts(value: Any, field: str) -> list[str]:
    """Convert a value or list of values to strings. Numbers become strings, and empty strings are dropped.

    Raises:
        SchemaError: There is another type, or a solution in GSM8K's format, which no verifier accepts as an answer.
    """
    items: Sequence[Any] = value if isinstance(value, list) else [value]
    if any(isinstance(item, bool) or not isinstance(item, str | int | float) for item in items):
        raise SchemaError("must be a string or a list of strings", field=field)
    found = list(dict.fromkeys(str(item) for item in items if str(item).strip()))
    if any(_SOLVED.search(item) for item in found):
        raise SchemaError(
            "is a whole solution that ends in #### and the answer", field=field, hint="that is the form gsm8k"
        )
    return found


def gold(found: Sequence[str]) -> str | list[str]:
    """Accepted answers as a row has them: one, or a list of several."""
    return found[0] if len(found) == 1 else list(found)


def made(row: JsonRow, prompt: Any, answer: Any = None, /, taken: Iterable[str] = (), **more: Any) -> JsonRow:
    """Build a verikit row: the prompt, the answer, and all other keys of the source row.

    The row's own id is used if it has one. Otherwise the run assigns one.
    """
    used = {*taken, *ID}
    rest = {key: value for key, value in row.items() if key not in used and value not in MISSING}
    named: JsonRow = {"id": identity(row), "prompt": prompt}
    if answer is not None:
        named["answer"] = answer
    return {**{key: value for key, value in rest.items() if key not in RESERVED}, **named, **more}


RESERVED = ("prompt", "answer", "completion", "completions", "solution", "response", "messages", "text", "reward_model")
"""Keys that would make a reader take the row for another format, or its text for a candidate."""


def identity(row: Mapping[str, Any]) -> str:
    """The row's own id, or ""."""
    found = next((row[key] for key in ID if row.get(key) not in MISSING), "")
    return str(found) if isinstance(found, str | int) and not isinstance(found, bool) else ""
