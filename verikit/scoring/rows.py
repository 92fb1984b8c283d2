"""Scores as JSON rows, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verikit.errors import SchemaError
from verikit.types import Score

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def to_row(score: Score) -> dict[str, Any]:
    """A score as a JSON object: value and status always, the rest where there is any.

    Seconds are left out: a run's output is the same bytes every time.
    """
    row: dict[str, Any] = {"value": score.value, "status": score.status}
    if score.answer is not None:
        row["answer"] = score.answer
    if score.reason:
        row["reason"] = score.reason
    if score.parts:
        row["parts"] = {name: to_row(part) for name, part in score.parts.items()}
    if score.steps:
        row["steps"] = [to_row(step) for step in score.steps]
    if score.usage:
        row["usage"] = dict(score.usage)
    return row


def from_row(row: dict[str, Any]) -> Score:
    """The score that `to_row` wrote.

    Raises:
        KeyError, TypeError, ValueError: it is no such row.
    """
    return Score(
        row["value"],
        row["status"],
        answer=row.get("answer"),
        reason=row.get("reason", ""),
        parts={name: from_row(part) for name, part in row.get("parts", {}).items()},
        steps=tuple(from_row(step) for step in row.get("steps", ())),
        usage=row.get("usage", {}),
    )


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSONL file that a run wrote; none if there is no such file.

    Raises:
        SchemaError: a line is no JSON object; somebody changed the file.
    """
    if not path.exists():
        return
    with open(path, "rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise SchemaError(str(error), file=path, line=number, hint="--restart scores everything anew") from None
            if not isinstance(row, dict):
                raise SchemaError("not an object", file=path, line=number, hint="--restart scores everything anew")
            yield row


def to_line(row: dict[str, Any]) -> bytes:
    """One line of JSON in UTF-8; a lone surrogate (no text, but a model can write one) is written as `?`."""
    return encode(row).encode("utf-8", "replace") + b"\n"
