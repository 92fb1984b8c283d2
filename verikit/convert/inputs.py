"""Rows of local files, or of the Hugging Face Hub, as (file, line, row).

`hf:ORG/NAME` is a dataset of the Hugging Face Hub. `hf:FOLDER` is a local copy of one, whose card names configurations
and splits. Both are streamed by the package `datasets`. A dataset's code is never run.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from verikit.errors import MissingExtra, SchemaError, UsageError
from verikit.readers import expand
from verikit.readers import rows as read_rows
from verikit.readers.parse import JsonRow
from verikit.readers.values import plain_row

HUB = "hf:"
GOLDS = "possible_answer"
"""The folder of BFCL's expected calls, next to the questions, with the same file names and row order."""
Rows = Iterator[tuple[str, int, JsonRow | SchemaError]]


def rows(paths: Sequence[str], config: str = "", split: str = "", *, golds: bool = False) -> Rows:
    """Yield the rows of files, folders, patterns, stdin and Hugging Face datasets, one after the other.

    Args:
        paths: Any input that `verikit.readers.rows` accepts, or `hf:…`.
        config: Configuration of a Hugging Face dataset.
        split: Split of that dataset, or of a folder with several splits.
        golds: Whether rows without `ground_truth` get it from the folder next to their file.

    Raises:
        UsageError: An input can't be read, or a split must be named.
        MissingExtra: The package that reads such a file is not installed.
    """
    hub = [path for path in paths if path.startswith(HUB)]
    if hub and len(hub) < len(paths):
        raise UsageError("files can't be combined with Hugging Face datasets", hint="convert one after the other")
    if config and not hub:
        raise UsageError("--config goes with hf:ORG/NAME")
    for path in hub:
        yield from _streamed(path.removeprefix(HUB), config, split)
    if not hub:
        yield from _of_files(_named(paths, split), golds=golds)


def _of_files(files: Sequence[str], *, golds: bool) -> Rows:
    if not golds:
        yield from read_rows(files)
        return
    for name in files:
        yield from _with_golds(name)


def read_files(paths: Sequence[str], split: str = "") -> list[str]:
    """Return the local files that `rows` would read. Stdin, Hugging Face datasets and missing files are skipped.

    Raises:
        UsageError: A folder or a pattern matches no file.
    """
    given = [path for path in paths if path != "-" and not path.startswith(HUB)]
    return [name for name in _named(given, split) if os.path.isfile(name)]


def _named(paths: Sequence[str], split: str) -> list[str]:
    return [name for path in paths for name in (expand(_split_of(path, split)) if split else expand(path))]


def _split_of(folder: str, split: str) -> list[str]:
    """Return the files of a split: a folder of that name, or files with that prefix (test-00000-of-00001.parquet).

    Raises:
        UsageError: The path is not a folder, or has no such split.
    """
    if not os.path.isdir(folder):
        raise UsageError(f"--split requires a folder or hf:ORG/NAME, got {folder}")
    whole = os.path.join(folder, split)
    if os.path.isdir(whole):
        return [whole]
    name = glob.escape(split)
    found = [
        path
        for ending in (".", "-", "_")
        for path in glob.glob(os.path.join(glob.escape(folder), "**", f"{name}{ending}*"), recursive=True)
        if os.path.isfile(path)
    ]
    folders = {os.path.dirname(path) for path in found}
    if not found:
        raise UsageError(f"{folder} has no split {split!r}", hint="name the files instead")
    if len(folders) > 1:
        raise UsageError(
            f"{split} is in several folders of {folder}", hint=f"name one: {', '.join(sorted(folders)[:5])}"
        )
    return found


def _with_golds(name: str) -> Rows:
    beside = Path(name).parent / GOLDS / Path(name).name
    golds: list[Any] = []
    if name != "-" and beside.is_file():
        golds = [row.get("ground_truth") if isinstance(row, dict) else None for _, _, row in read_rows(beside)]
    for index, (file, line, row) in enumerate(read_rows(name)):
        if isinstance(row, dict) and index < len(golds) and golds[index] is not None:
            row = {"ground_truth": golds[index], **row}
        yield file, line, row


def _streamed(path: str, config: str, split: str) -> Rows:
    """Stream a dataset with the package `datasets`, one row at a time.

    Raises:
        UsageError: The dataset is not available, the stream breaks off, or it has several splits.
        MissingExtra: datasets is not installed.
    """
    try:
        datasets: Any = import_module("datasets")
    except ImportError:
        raise MissingExtra("reading Hugging Face datasets", "frames") from None
    name, number = f"{HUB}{path}", 0
    try:
        found = datasets.load_dataset(path, config or None, split=split or None, streaming=True)
        for number, row in enumerate(found if split else _only_split(found, name), 1):
            yield name, number, plain_row(row)
    except UsageError:  # a ValueError too
        raise
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise _interrupted(name, number, error) from None
    if not number:
        raise UsageError(f"{name} has no rows")


def _only_split(splits: Any, name: str) -> Any:
    if len(splits) > 1:
        raise UsageError(f"{name} contains the splits {', '.join(splits)}", hint="--split names one")
    return next(iter(splits.values()))


def _interrupted(name: str, rows: int, error: Exception) -> UsageError:
    """The error of a dataset that could not be opened, or whose stream broke off after some rows."""
    problem = " ".join(str(error).split())[:300]
    if rows:
        return UsageError(f"{name} breaks off after row {rows}: {problem}", hint="fetch it again")
    return UsageError(f"{name} is not available: {problem}", hint="download it and give the files")
