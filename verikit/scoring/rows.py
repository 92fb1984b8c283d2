"""Scores as JSON rows, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from verikit.errors import SchemaError
from verikit.types import Score

MAX_REASON = 2000
"""Number of characters of a reason to keep."""
FINISH = "finish_reason"
"""Key of a row in scores.jsonl: why the model stopped writing the candidate, if known."""
_ANEW = "pass --restart to rescore everything"


def _plain(value: Any) -> Any:
    """Convert a value that JSON can't represent: a library's number, as in numpy, to a float, others to a string."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)


encode: Callable[[object], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain).encode


def to_row(score: Score) -> dict[str, Any]:
    """Return a score as a JSON object: always value and status, other fields if they are set.

    Seconds are excluded, so a run's output is byte-identical every time.
    """
    row: dict[str, Any] = {"value": score.value, "status": score.status}
    if score.answer is not None:
        row["answer"] = score.answer
    if score.reason:
        row["reason"] = score.reason if len(score.reason) <= MAX_REASON else score.reason[: MAX_REASON - 1] + "…"
    if score.parts:
        row["parts"] = {name: to_row(part) for name, part in score.parts.items()}
    if score.steps:
        row["steps"] = [to_row(step) for step in score.steps]
    if score.usage:
        row["usage"] = dict(score.usage)
    if score.text:
        row["text"] = score.text
    return row


def from_row(row: Mapping[str, Any]) -> Score:
    """Read the relevant fields of a score that `to_row` wrote: value, status, answer, reason, parts and usage.

    Raises:
        KeyError, TypeError, ValueError: It is not such a row.
    """
    return Score(
        row["value"],
        row["status"],
        answer=row.get("answer"),
        reason=row.get("reason", ""),
        parts={name: from_row(part) for name, part in (row.get("parts") or {}).items()},
        usage=row.get("usage") or {},
    )


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSONL file that a run wrote, or none if the file doesn't exist.

    Raises:
        SchemaError: A line is not a JSON object with a line number, because the file was edited.
    """
    if not path.exists():
        return
    with open(path, "rb") as stream:
        for number, data in enumerate(stream, 1):
            try:
                row = json.loads(data)
            except ValueError as error:
                raise SchemaError(str(error), file=path, line=number, hint=_ANEW) from None
            if not isinstance(row, dict) or not isinstance(row.get("line"), int):
                raise SchemaError("a run did not write this row", file=path, line=number, hint=_ANEW)
            yield row


def to_line(row: dict[str, Any]) -> bytes:
    """Return one line of JSON in UTF-8. A lone surrogate (invalid, but a model can write one) becomes `?`."""
    return encode(row).encode("utf-8", "replace") + b"\n"
