"""Loads a task's documents for lm-eval: from a local file if one is given, otherwise from the Hugging Face Hub.

`load` is the tasks' `custom_dataset`. It receives a task's `dataset_kwargs` and the run's metadata. A file can
therefore be passed with `verikit eval --data FILE` or with plain lm-eval's `--metadata '{"data": "FILE"}'`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, time
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import datasets
from datasets.config import HF_DATASETS_CACHE

from verikit.errors import SchemaError, UsageError
from verikit.evals.bfcl_multi_turn import multi_turn_doc
from verikit.evals.docs import KINDS, Doc, Row, gradable
from verikit.evals.hard2verify import hard2verify_doc
from verikit.evals.prmbench import prmbench_doc
from verikit.evals.sources import RowSplit, instructions, splits_of
from verikit.readers import placed
from verikit.readers import rows as read_rows
from verikit.readers.files import BAD_ROWS, check_rows

T = TypeVar("T")
Files = str | Mapping[str, str] | None
"""One file for all tasks, or files by the names of tasks and groups."""

READERS = KINDS | {"prmbench": prmbench_doc, "hard2verify": hard2verify_doc, "services": multi_turn_doc}
"""Functions that convert rows to documents, by kind."""
GOLDS_BESIDE = ("calls", "services")
"""Kinds whose expected calls are in a folder next to the file."""


def load(
    *,
    kind: str,
    task: str,
    hub: Mapping[str, Any] | None = None,
    data: Files = None,
    shots: Files = None,
    where: Mapping[str, str] | None = None,
    since: str | None = None,
    until: str | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    """Return a task's splits: `test`, and `shots` with the few-shot examples (empty if there are none).

    Args:
        kind: How rows are read, see `verikit.evals.docs`.
        task: The task's name.
        hub: `path`, `name` and `split` of the dataset, and `shots`, the split of the examples. `names` lists several
            configurations, and their rows get the name as their `subject`.
        data: Local file(s) to read instead.
        shots: Local file(s) of examples. With `data`, there are no examples without it.
        where: Only the rows whose documents have these values.
        since: Only the rows of this date or a later one, such as 2024-08-01.
        until: Only the rows of this date or an earlier one.
        metadata: Other values that lm-eval passes, which are ignored.

    Raises:
        UsageError: A file can't be read, or there are no rows.
        SchemaError: A row lacks a column.
    """
    hub = hub or {}
    file, examples = (files if isinstance(files, str) else of_task(files or {}, task) for files in (data, shots))
    if file is None and not hub:
        raise UsageError(f"{task} reads local files only", hint=f"--data FILE, or --data {task}=FILE")
    docs = _dated(read_docs(file, kind) if file else _hub_docs(kind, **_split(hub, "split")), task, since, until)
    if examples:
        shown = read_docs(examples, kind)
    elif file or "shots" not in hub or (_has_copy(hub) and missing({**hub, "split": hub["shots"]})):
        shown = ()
    else:
        shown = _hub_docs(kind, **_split(hub, "shots"))
    chosen = _chosen(docs, where)
    if not chosen:
        held = sorted({doc[key] for doc in docs for key in where or ()})[:10]
        asked = {"since": since, "until": until, **(where or {})}
        raise _empty(f"{file or hub.get('path')}: no rows for {task}", asked, held)
    return {"test": datasets.Dataset.from_list(chosen), "shots": _chosen(shown, where)}


def _empty(problem: str, asked: Mapping[str, Any], held: Sequence[Any]) -> EmptySplit:
    """Build the error for a split without rows, with the requested values and the available ones."""
    told = " ".join(f"{key}={value}" for key, value in asked.items() if value)
    hint = f"it holds {', '.join(map(repr, held))}" if held else ""
    return EmptySplit(f"{problem} ({told})" if told else problem, hint=hint)


def _dated(docs: Sequence[Doc], task: str, since: str | None, until: str | None) -> Sequence[Doc]:
    """Return the documents of a window of dates, including both ends.

    Raises:
        UsageError: An end is not a date, or the documents have no dates.
    """
    if not since and not until:
        return docs
    ends = window(since, until)
    if any("date" not in doc for doc in docs):
        raise UsageError(f"the rows of {task} have no dates", hint="remove --since and --until")
    return [doc for doc in docs if ends[0] <= datetime.fromisoformat(doc["date"]).replace(tzinfo=None) <= ends[1]]


def window(since: str | None, until: str | None) -> tuple[datetime, datetime]:
    """Return both ends of a window of dates. The last day is included. Time zones are dropped, as rows have none.

    Raises:
        UsageError: An end is not a date, or the first is after the last.
    """
    ends = []
    for text, default in ((since, datetime.min), (until, datetime.max)):
        try:
            end = datetime.fromisoformat(text).replace(tzinfo=None) if text else default
        except ValueError:
            raise UsageError(f"{text!r} is not a date", hint="--since 2024-08-01 --until 2025-05-01") from None
        whole_day = default is datetime.max and text and len(text) == len("2024-08-01")
        ends.append(datetime.combine(end, time.max) if whole_day else end)
    if ends[0] > ends[1]:
        raise UsageError(f"--since {since} is later than --until {until}", hint="--since 2024-08-01 --until 2025-05-01")
    return ends[0], ends[1]


class EmptySplit(UsageError):
    """A task has no rows to be run on."""


def read_docs(path: str, kind: str) -> tuple[Doc, ...]:
    """Read files of any type that `verikit.readers.rows` accepts as documents.

    Raises:
        UsageError: The file can't be read, or no row has a gold answer in this kind's format.
        SchemaError: A row is not an object or lacks a column. The error names the file, line and field. Several such
            rows are one UsageError.
    """
    changed = Path(path).stat().st_mtime_ns if Path(path).is_file() else 0
    return _file_docs(path, kind, changed)


@lru_cache(maxsize=4)
def _file_docs(path: str, kind: str, changed: int) -> tuple[Doc, ...]:
    source: Iterator[tuple[int, Row | SchemaError]]
    source = _with_golds(path) if kind in GOLDS_BESIDE else ((line, row) for _, line, row in read_rows(path))
    docs = tuple(_numbered(source, kind, path))
    if docs and not any(gradable(doc, kind) for doc in docs):
        shown = ", ".join(repr(doc["answer"]) for doc in docs[:3])
        raise UsageError(
            f"{path}: the rows have no gold answers of the task's form ({kind}). First rows: {shown}",
            hint="is it the file of another task? `verikit list` names them",
        )
    return docs


def _with_golds(path: str) -> Iterator[tuple[int, Row]]:
    """Yield BFCL's rows with the expected calls of the sibling folder, in the same order (ids sometimes differ)."""
    beside = Path(path).parent / "possible_answer" / Path(path).name
    golds = [row.get("ground_truth") for _, row in rows(str(beside))] if beside.is_file() else []
    for number, (line, row) in enumerate(rows(path)):
        yield line, {"ground_truth": golds[number], **row} if number < len(golds) else row


def rows(path: str) -> Iterator[tuple[int, Row]]:
    """Read a file's rows, each with its line.

    Raises:
        UsageError: The file can't be read.
        SchemaError: A row is not an object.
    """
    for _, line, row in read_rows(path):
        if isinstance(row, SchemaError):
            raise row
        yield line, row


def _numbered(rows: Iterable[tuple[int, Row | SchemaError]], kind: str, name: str) -> Iterator[Doc]:
    """Yield the documents of rows. One without an id, or with a repeated id, gets its position as the id.

    Raises:
        UsageError: Some rows can't be read. The error names the first ones together.
    """
    seen: set[str] = set()
    bad: list[SchemaError] = []
    for line, row in rows:
        try:
            if isinstance(row, SchemaError):
                raise row
            doc = READERS[kind](row)
        except SchemaError as error:
            bad.append(placed(error, name, line))
            if len(bad) == BAD_ROWS:
                break
            continue
        if not doc["id"] or doc["id"] in seen:
            doc["id"] = f"row-{line}"
        seen.add(doc["id"])
        yield doc
    check_rows(bad)


@lru_cache(maxsize=4)
def _hub_docs(kind: str, path: str, names: tuple[str | None, ...], split: str, files: str | None) -> tuple[Doc, ...]:
    found: list[tuple[str | None, Any]] = []
    published = splits_of({"path": path, "names": names, "split": split, "files": files})
    try:
        for name, source in zip(names, published, strict=True):
            copy = source.local()
            table = datasets.load_dataset(path, name, split=split, data_files=files) if copy is None else None
            found.append((name, (row for _, row in rows(str(copy))) if table is None else table))
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise UsageError(
            f"can't load the dataset {path} from Hugging Face: {' '.join(str(error).split())[:200]}",
            hint=f"--data FILE reads a local file and needs no network, or {instructions(published)}",
        ) from None
    # One row at a time: the table is read from disk during iteration.
    named = ({"subject": name, **row} if len(names) > 1 else row for name, table in found for row in table)
    return tuple(_numbered(enumerate(named, 1), kind, path))


def missing(hub: Mapping[str, Any]) -> list[RowSplit]:
    """Return the splits that `load` can't read without a network."""
    return [] if _has_copy(hub) else [split for split in splits_of(hub) if not split.local() and not _is_cached(split)]


def _has_copy(hub: Mapping[str, Any]) -> bool:
    """Whether the rows are in the data folder, perhaps without the few-shot examples."""
    return all(split.local() for split in splits_of(hub) if split.split == hub["split"])


def _is_cached(split: RowSplit) -> bool:
    """Whether the package datasets may load a split without a network: from its cache, or from local files."""
    folder = Path(HF_DATASETS_CACHE) / split.dataset.replace("/", "___")
    return folder.is_dir() or Path(split.dataset).exists() or "*" in split.dataset


def _split(hub: Mapping[str, Any], key: str) -> dict[str, Any]:
    names = tuple(hub.get("names") or (hub.get("name"),))
    return {"path": hub["path"], "names": names, "split": hub[key], "files": hub.get("files")}


def _chosen(docs: Sequence[Doc], where: Mapping[str, str] | None) -> list[Doc]:
    return [doc for doc in docs if all(doc.get(key) == value for key, value in (where or {}).items())]


def of_task(values: Mapping[str, T], task: str) -> T | None:
    """Return the value given for a task: under its name, its longest prefix (a group's name), or ""."""
    names = [name for name in values if name in ("", task) or task.startswith(f"{name}_")]
    return values[max(names, key=len)] if names else None
