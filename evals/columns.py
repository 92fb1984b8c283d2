"""The columns of a task's documents that contain the question, the answers and the id.

The documents of verikit's own tasks use these names. A custom task names its columns in `columns:` next to its
`metrics:`, or with `verikit eval --map answer=label`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verikit.errors import SchemaError, UsageError, nearest
from verikit.evals.docs import GOLD, ID, MISSING, QUESTION, Doc

USUAL = {"question": QUESTION, "answer": GOLD, "id": ID}
"""Columns to search for each field if none is named."""


class Columns:
    """Reads a question, its accepted answers and an id from documents."""

    def __init__(self, named: Mapping[str, str] | None = None) -> None:
        """Set the columns to read.

        Args:
            named: Field -> column, or "" for no column. Other fields are found by their usual names.

        Raises:
            UsageError: A field does not exist.
        """
        self.named: Mapping[str, str] = named or {}
        for field in self.named:
            if field not in USUAL:
                raise UsageError(f"field {field!r} of --map not found", hint=nearest(field, USUAL))

    def read(self, doc: Mapping[str, Any], position: int) -> Doc:
        """Return a document with `question`, `answer` (the accepted answers as strings, without empty ones) and `id`.

        Args:
            doc: The task's document.
            position: The 0-based row, which becomes the id of a document without one.

        Raises:
            SchemaError: A column is missing, or an answer is not a string, a number or a list of these.
        """
        question, answer = self._column(doc, "question"), self._column(doc, "answer")
        return {
            **doc,
            "question": str(doc[question]) if question else "",
            "answer": _texts(doc[answer], answer) if answer else [],
            "id": self._id(doc) or f"row-{position + 1}",
        }

    def _id(self, doc: Mapping[str, Any]) -> str:
        columns = (self.named["id"],) if "id" in self.named else ID
        return next((str(doc[column]) for column in columns if doc.get(column) not in MISSING), "")

    def _column(self, doc: Mapping[str, Any], field: str) -> str:
        """Return the column of a field, or "" if it has none."""
        usual = (self.named[field],) if field in self.named else USUAL[field]
        for column in usual:
            if column in doc or not column:
                return column
        named = f"no column {usual[0]!r} for the {field}" if field in self.named else f"no column contains the {field}"
        raise SchemaError(
            f"{named}. Available: {', '.join(map(repr, sorted(doc)))}",
            hint=f"--map {field}=COLUMN, or --map {field}= for none",
        )


def _texts(found: Any, column: str) -> list[str]:
    if isinstance(found, (list, tuple)):
        listed = list(found)
    else:
        listed = [] if found is None else [found]
    if wrong := [answer for answer in listed if not isinstance(answer, (str, int, float))]:
        told = type(wrong[0]).__name__
        raise SchemaError(f"an answer must be a string, a number, or a list of these, got {told}", field=column)
    return [str(answer) for answer in listed]
