"""Documents whose answers are files: SpreadsheetBench, GDPval, and folders of OSWorld's and Harbor's tasks.

A model writes text, so the files come from stored runs: `replay:FOLDER` (`verikit.evals.left`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets

from verikit.convert.deliverables import gdpval, spreadsheetbench
from verikit.convert.osworld import osworld
from verikit.convert.parts import FOLDER, LeftOut
from verikit.env.harbor import task_rows
from verikit.errors import SchemaError, UsageError
from verikit.evals import data as files
from verikit.evals.docs import Doc, Row
from verikit.evals.grade import Grade
from verikit.evals.grade import results as graded_results
from verikit.readers import placed
from verikit.readers.parse import JsonRow
from verikit.types import WORKSPACE

LARGEST_TASK = 16 << 20
"""Bytes of a task's JSON file."""
ROOT = "/"
"""The folder that paths of these workspaces start from: tasks and runs may be anywhere."""


def load(*, kind: str, task: str, data: files.Files = None, **more: Any) -> dict[str, Any]:
    """Return a task's splits.

    Args:
        kind: A kind of `KINDS`.
        task: The task's name.
        data: Local file(s), or a folder of Harbor's or OSWorld's tasks.
        more: Other values that lm-eval passes, which are ignored.

    Raises:
        UsageError: The file can't be read, or there are no rows.
        SchemaError: A row lacks a column.
    """
    file = data if isinstance(data, str) else files.of_task(data or {}, task)
    if file is None:
        raise UsageError(f"{task} reads local files only", hint=f"--data FILE, or --data {task}=FILE")
    docs = list(KINDS[kind](file))
    if not docs:
        raise files.EmptySplit(f"{file}: no rows for {task}")
    return {"test": datasets.Dataset.from_list(docs), "shots": []}


def _converted(make: Callable[[JsonRow], Iterator[JsonRow]]) -> Callable[[str], Iterator[Doc]]:
    """The documents of a file in a published form. Rows that the form marks as unusable are skipped."""

    def docs(file: str) -> Iterator[Doc]:
        for line, row in files.rows(file):
            yield from _placed(make, file, line, {**row, FOLDER: os.path.dirname(os.path.abspath(file))})

    return docs


def _placed(make: Callable[[JsonRow], Iterator[JsonRow]], file: str, line: int, row: JsonRow) -> list[Doc]:
    """The documents of a row. A problem is raised with its file and line."""
    try:
        return list(map(_doc, make(row)))
    except SchemaError as error:
        raise placed(error, file, line) from None
    except LeftOut:
        return []


def _doc(row: Row) -> Doc:
    keys = {key: value for key, value in row.items() if key not in ("id", "prompt", WORKSPACE)}
    category = str(row.get("instruction_type") or row.get("occupation") or row.get("snapshot") or "")
    return {"id": row["id"], "question": row["prompt"], "category": category, "answer": [], "tests": json.dumps(keys)}


def _harbor(folder: str) -> Iterator[Doc]:
    """The tasks of a folder. A trial names its task by the folder, or by the name in `task.toml` (the category)."""
    if not os.path.isdir(folder):
        raise UsageError(f"{folder} is not a folder of Harbor tasks")
    for row in task_rows(Path(folder)):
        if isinstance(row, SchemaError):
            raise row
        path = os.path.realpath(row["meta"]["path"])
        keys = {WORKSPACE: {"task": os.path.relpath(path, ROOT)}}
        yield {
            "id": os.path.basename(path), "question": row["prompt"], "category": row["id"], "answer": [],
            "tests": json.dumps(keys),
        }  # fmt: skip


def _osworld(path: str) -> Iterator[Doc]:
    """The tasks of a file, or of a folder with a JSON file for each. Expected files are in the folder's `cache/ID`."""
    if not os.path.isdir(path):
        yield from _converted(osworld)(path)
        return
    for file in sorted(Path(path).rglob("*.json")):
        if file.is_file() and file.stat().st_size <= LARGEST_TASK and "cache" not in file.relative_to(path).parts:
            try:
                task = json.loads(file.read_bytes())
            except (ValueError, RecursionError) as error:
                raise placed(SchemaError(f"invalid JSON: {error}"), str(file), 1) from None
            if isinstance(task, dict) and "evaluator" in task:
                yield from _placed(osworld, str(file), 1, {**task, FOLDER: os.path.abspath(path)})


KINDS: Mapping[str, Callable[[str], Iterator[Doc]]] = {
    "spreadsheetbench": _converted(spreadsheetbench),
    "gdpval": _converted(gdpval),
    "osworld": _osworld,
    "harbor": _harbor,
}
"""Functions that read the documents of a file or folder."""


def results(doc: Doc, filtered: Sequence[Sequence[Grade]]) -> dict[str, float]:
    """Return a document's metrics. There is no `unparsed`: a reply is files."""
    found = graded_results(doc, filtered)
    return {name: value for name, value in found.items() if name != "unparsed"}
