"""A task's sample rows: lm-eval's `--log_samples` format, with numbers as numbers and failed replies kept apart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from verikit.errors import SchemaError
from verikit.evals.replies import Failed, Noted, TurnReplies, finish_of
from verikit.readers.files import placed
from verikit.readers.parse import parse
from verikit.readers.source import opened
from verikit.replies.split import CUT, FINISH_KEYS

Row = dict[str, Any]
FINISHED = "finish_reasons"
"""Key of a row: why the model stopped writing each reply, parallel to `resps`. None if unknown."""


def sample_rows(samples: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Turn lm-eval's samples into rows of a file.

    `resps` has the replies that arrived. A failed reply is not a text of the model, so it is under `failed` with its
    reason. `finish_reasons` has the reason why the model stopped writing each of the others. The document's fields that
    verifiers need, other than its answer, are in the row itself. The grades in `filtered_resps` cover all repeats, in
    order.
    """
    for sample in samples:
        doc, row = sample["doc"], dict(sample)
        row["arguments"] = {f"gen_args_{i}": _numbered(given) for i, given in enumerate(sample["arguments"])}
        row["target"] = sample["target"] or None
        row |= {key: doc[key] for key in ("options", "opponent") if key in doc}
        row |= json.loads(doc.get("tests") or "{}")
        row["resps"] = [[reply for reply in group if not isinstance(reply, Failed)] for group in sample["resps"]]
        row |= _of_replies(list(chain.from_iterable(sample["resps"])))
        yield row


def _numbered(arguments: Iterable[Any]) -> dict[str, Any]:
    """The arguments of a request as lm-eval's own files name them."""
    return {f"arg_{j}": part for j, part in enumerate(arguments)}


def _of_replies(replies: Sequence[Any]) -> Row:
    """Return the keys of a row that describe its replies, without the reply texts. Empty keys are omitted."""
    row: Row = {
        "failed": [reply.reason for reply in replies if isinstance(reply, Failed)],
        "turns": [list(reply.turns) for reply in replies if isinstance(reply, TurnReplies)],
    }
    finished = [finish_of(reply) or None for reply in replies if not isinstance(reply, Failed)]
    if any(finished):  # parallel to the replies, so reasons that are not known stay in it
        row[FINISHED] = finished
    noted = [reply.meta for reply in replies if isinstance(reply, Noted)]
    notes = [{key: value for key, value in meta.items() if key not in FINISH_KEYS} for meta in noted]
    row["notes"] = [note for note in notes if note]
    return {key: value for key, value in row.items() if value}


def read_samples(path: Path) -> list[Row]:
    """Read a task's sample rows.

    Raises:
        UsageError: The file can't be read.
        SchemaError: A line is not a row written by a run.
    """
    found = []
    with opened(str(path)) as stream:
        for line, data in enumerate(stream, 1):
            try:
                row = parse(data.strip())
            except SchemaError as error:
                raise placed(error, str(path), line) from None
            if not isinstance(row.get("doc"), dict) or "filter" not in row:
                raise SchemaError("must be a sample row of lm-eval", file=path, line=line)
            found.append(row)
    return found


def grades_of(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The grades of a row's replies."""
    grades: list[dict[str, Any]] = row["filtered_resps"][0]
    return grades


def cut_of(row: Mapping[str, Any]) -> int:
    """Return the number of a row's replies that the token limit cut off."""
    return sum(reason in CUT for reason in row.get(FINISHED, ()))


def own_metric(row: Mapping[str, Any]) -> str:
    """Return the main metric of a task's results."""
    return str(next(iter(grades_of(row)[0])))


def row_metric(row: Mapping[str, Any]) -> str:
    """Return the main metric of single rows: the task's own, or the first that is not part of an aggregate."""
    if is_graded(row):
        return own_metric(row)
    names = list(row["metrics"])
    single = (name for name in names if not isinstance(row.get(name), (list, tuple, dict)))
    return str(next(single, names[0] if names else ""))


def value_of(row: Mapping[str, Any]) -> float | None:
    """A row's value of its `row_metric`: the mean over the repeats that have one."""
    value = row.get(row_metric(row))
    return float(value) if isinstance(value, (int, float)) and not (row.get("failed") and not is_graded(row)) else None


def is_graded(row: Mapping[str, Any]) -> bool:
    """Whether the row's replies were graded by verikit, not by lm-eval."""
    first = row["filtered_resps"][0] if row["filtered_resps"] else None
    return isinstance(first, list) and bool(first) and isinstance(first[0], Mapping)
