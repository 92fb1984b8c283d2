"""Scores as JSON rows, and back."""

from __future__ import annotations

import json
from typing import Any

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


def to_line(row: dict[str, Any]) -> bytes:
    """One line of JSON in UTF-8; a lone surrogate (no text, but a model can write one) is written as `?`."""
    return encode(row).encode("utf-8", "replace") + b"\n"
