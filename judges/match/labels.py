"""A person's labels for some of a run's verdicts: rows of `id`, `label` and, if there are several, `index`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verikit.errors import SchemaError, UsageError
from verikit.judges.match.entrants import LABELS, Bout
from verikit.readers import rows

BINARY: Mapping[Any, float] = {
    **dict.fromkeys((1, "1", "right", "pass", "yes", "true"), 1.0),
    **dict.fromkeys((0, "0", "wrong", "fail", "no", "false"), 0.0),
}
"""The value of a candidate's label. Case is ignored."""
Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Label:
    """A person's judgement of a candidate or a comparison."""

    value: float
    """1 if right or the first answer, 0 if wrong or the second, .5 for a tie."""
    category: str = ""
    """Category for a separate confusion."""
    length: int | None = None
    """Length of the text in characters, if the row has it."""


def read_labels(path: str, *, pairs: bool) -> dict[Key, Label]:
    """Read a file of labels by id and index of the candidate (0 if there is no index).

    Args:
        path: Rows with `id`, `label` and optionally `index`, `category`, `completion`.
        pairs: The labels name the better of two answers (1, 2, 0 for a tie, or A>B) instead of rating one.

    Raises:
        SchemaError: A row has no id, an invalid label, or a duplicate one.
    """
    found: dict[Key, Label] = {}
    for file, line, row in rows(path):
        if isinstance(row, SchemaError):
            raise row
        key, value = _key(row, file, line), _value(row.get("label"), file, line, pairs)
        if key in found:
            raise SchemaError(f"a second label for {key[0]!r}, {key[1]}", file=file, line=line, field="id")
        text = row.get("completion")
        length = len(text) if isinstance(text, str) else None
        found[key] = Label(value, str(row.get("category") or ""), length)
    if not found:
        raise SchemaError("the file contains no labels", file=path, hint="rows of id, index and label")
    return found


def _value(label: Any, file: str, line: int, pairs: bool) -> float:
    meanings = LABELS if pairs else BINARY
    word = label.strip().lower() if isinstance(label, str) and not pairs else label
    if not isinstance(word, (str, int, float)) or word not in meanings:
        known = ", ".join(dict.fromkeys(map(str, meanings)))
        which = " A and 1 mean the run's first file, B and 2 its second" if pairs else ""
        hint = f"write one of {known}.{which}"
        raise SchemaError(f"the label {label!r:.80} is not valid", file=file, line=line, field="label", hint=hint)
    return meanings[word]


def labelled(bouts: Sequence[Bout], labels: Mapping[Key, Label]) -> list[Bout]:
    """Return comparisons with their labels, joined by id.

    With several pairs of models, the index is the pair's number from 0.

    Raises:
        UsageError: No label matches a comparison.
    """
    pairs = {pair: number for number, pair in enumerate(dict.fromkeys((bout.a, bout.b) for bout in bouts))}
    keys = [(bout.id, pairs[bout.a, bout.b]) for bout in bouts]
    if not any(key in labels for key in keys):
        raise UsageError("the labels match none of the comparisons", hint="rows are joined by id")
    both = zip(bouts, keys, strict=True)
    return [replace(bout, label=labels[key].value) if key in labels else bout for bout, key in both]


def _key(row: Mapping[str, Any], path: str, line: int) -> Key:
    id, index = row.get("id"), row.get("index", 0)
    if isinstance(index, str) and index.isdecimal():  # a cell of a table
        index = int(index)
    if id in (None, ""):
        raise SchemaError(
            "id is missing", file=path, line=line, field="id", hint="use the id in the run's scores.jsonl"
        )
    if type(index) is not int or index < 0:
        raise SchemaError(
            f"{index!r} is not the number of a candidate", file=path, line=line, field="index", hint="0, 1, …"
        )
    return str(id), index
