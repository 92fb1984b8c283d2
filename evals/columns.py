"""Which columns of a task's documents hold the question, the answers and the id.

The documents of verikit's own tasks have them under these names; a task of your own names them by `columns:` beside its
`metrics:`, or by `verikit eval --map answer=label`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verikit.errors import SchemaError, UsageError
from verikit.evals.docs import GOLD, ID, MISSING, QUESTION, Doc

USUAL = {"question": QUESTION, "answer": GOLD, "id": ID}
"""Each field with the columns it is looked for in, where none is named."""


class Columns:
    """Reads a question, its accepted answers and an id out of documents."""

    def __init__(self, named: Mapping[str, str] | None = None) -> None:
        """Read by these columns.

        Args:
            named: Field -> column, or "" for none; the fields left out are found by their usual names.

        Raises:
            UsageError: there is no such field.
        """
        self.named: Mapping[str, str] = named or {}
        for field in self.named:
            if field not in USUAL:
                raise UsageError(f"a document has no field {field!r}", hint=f"one of {', '.join(USUAL)}")

    def read(self, doc: Mapping[str, Any], position: int) -> Doc:
        """A document with `question` (text), `answer` (the accepted ones as texts; none of an empty one) and `id`.

        Args:
            doc: As the task has it.
            position: The 0-based row, the id of a document without one.

        Raises:
            SchemaError: a column is absent; an answer is no text, number or list of these.
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
        """The column of a field, "" where it is named to be none."""
        usual = (self.named[field],) if field in self.named else USUAL[field]
        for column in usual:
            if column in doc or not column:
                return column
        named = f"no column {usual[0]!r} for the {field}" if field in self.named else f"no column holds the {field}"
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
