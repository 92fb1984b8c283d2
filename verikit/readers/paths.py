"""Resolves a path: a file, stdin, a pattern's files, or a folder that contains one dataset.

A folder can be a dataset saved by `datasets` (`save_to_disk`), a snapshot from the Hugging Face Hub, or any folder of
files of one kind. A folder of several splits raises an error that names them: a test set must not be read together with
the training set.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from typing import Any

from verikit.errors import UsageError
from verikit.readers.compressed import ENDINGS
from verikit.readers.trials import is_trials

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
"""One path or several."""
_KINDS = {
    **dict.fromkeys((".jsonl", ".ndjson"), "JSON lines"),
    ".parquet": "parquet",
    ".arrow": "Arrow",
    ".csv": "CSV",
    ".tsv": "TSV",
}
_SPLITS = frozenset(("train", "test", "validation", "valid", "val", "dev", "eval"))
_PART = re.compile(r"^(.*?)[-_.]?(?:part[-_.]?)?\d+(?:[-_]of[-_]\d+)?$")
_MAX_LISTED = 10


def expand(paths: Paths) -> list[str]:
    """Return the files that paths refer to, in order. "-" is stdin.

    The name of an existing file is always that file. Otherwise `*`, `?` and `[…]` make it a pattern, and `**` matches
    nested folders. A pattern's files are in natural order (`part-2` before `part-10`). A file matched by several paths
    is read once.

    Raises:
        UsageError: There are no paths, a pattern matches nothing, or a folder contains no dataset or several.
    """
    given = [paths] if isinstance(paths, str | PathLike) else list(paths)
    if not given:
        raise UsageError("pass at least one file", hint="name one, or - for stdin")
    return list(dict.fromkeys(file for path in given for file in _files(fspath(path))))


def _files(path: str) -> list[str]:
    if path == "-":
        return [path]
    if os.path.isdir(path):
        return _folder(path)
    if os.path.lexists(path) or not glob.has_magic(path):
        return [path]
    matches = sorted(glob.glob(path, recursive=True), key=_natural)
    found = [file for match in matches for file in (_folder(match) if os.path.isdir(match) else [match])]
    if not found:
        raise UsageError(f"{path!r} matches no file", hint=f"the folder is {os.getcwd()}")
    return found


def _natural(name: str) -> list[tuple[int, str]]:
    return [(len(part.lstrip("0")), part) if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def _only_split(path: str, splits: list[Any]) -> str:
    """The folder of a saved dataset's only split."""
    if len(splits) == 1 and _is_name(splits[0]):
        return os.path.join(path, splits[0])
    raise _several(path, [os.path.join(path, split) for split in splits if _is_name(split)])


def _of_one_kind(path: str) -> list[str]:
    """A folder's data files, which must be of one kind."""
    by_kind: dict[str, list[str]] = {}
    for file in walk(path):
        if kind := _kind(file):
            by_kind.setdefault(kind, []).append(file)
    if not by_kind:
        raise UsageError(f"{path} is a directory without data files", hint="give a file")
    if len(by_kind) > 1:
        told = ", ".join(f"{len(files)} {kind}" for kind, files in by_kind.items())
        raise UsageError(f"{path} contains several kinds of files: {told}", hint=f"give a pattern: '{path}/*.jsonl'")
    return next(iter(by_kind.values()))


def _folder(path: str) -> list[str]:
    splits = _json(os.path.join(path, "dataset_dict.json")).get("splits")
    if isinstance(splits, list):
        return _folder(_only_split(path, splits))
    if os.path.exists(os.path.join(path, ".progress")):
        raise UsageError(f"{path} is the folder of a run", hint="give the file that was scored, or one of the folder's")
    saved = _json(os.path.join(path, "state.json")).get("_data_files")
    if isinstance(saved, list):
        return _saved(path, saved)
    if is_trials(path):
        return [path.rstrip("/") or path]
    files = _of_one_kind(path)
    groups: dict[str, list[str]] = {}
    for file in files:
        groups.setdefault(_data_set(file), []).append(file)
    if len(groups) > 1:
        raise _several(path, [found[0] if len(found) == 1 else f"{name}*" for name, found in groups.items()])
    return files


def _saved(path: str, files: Sequence[object]) -> list[str]:
    """Return the files of a dataset saved by `datasets`, which names them by number."""
    names = [file.get("filename") if isinstance(file, dict) else None for file in files]
    if not names or not all(map(_is_name, names)):
        raise UsageError(f"{path}/state.json names no files of the folder", hint="save the dataset again")
    return [os.path.join(path, str(name)) for name in names]


def _several(path: str, names: Sequence[str]) -> UsageError:
    shown = ", ".join(names[:_MAX_LISTED]) + (", …" if len(names) > _MAX_LISTED else "")
    return UsageError(f"{path} contains several splits or datasets", hint=f"name one, in quotes: {shown}")


def walk(path: str) -> Iterator[str]:
    """The files below a folder, in natural order, without hidden ones."""
    for parent, folders, files in os.walk(path):
        folders[:] = sorted((name for name in folders if name[:1] not in "._"), key=_natural)
        yield from (os.path.join(parent, name) for name in sorted(files, key=_natural) if name[:1] not in "._")


def _kind(file: str) -> str:
    stem, ending = os.path.splitext(file.lower())
    ending = os.path.splitext(stem)[1] if ending in ENDINGS else ending
    return _KINDS.get(ending, "")


def _data_set(file: str) -> str:
    """Return the dataset or split of a folder that a file belongs to.

    Parts that differ only in their number belong together.
    """
    folder, name = os.path.split(file)
    while "=" in os.path.basename(folder):  # partitions, such as year=2024
        folder = os.path.dirname(folder)
    stem = name.partition(".")[0]
    match = _PART.match(stem)
    stem = match[1] if match else stem
    # Files with different names are one dataset, except for names of splits or of the Hub (NAME-00000-of-00002).
    split = stem if "-of-" in name or stem.lower() in _SPLITS else ""
    return os.path.join(folder, split)


def _json(path: str) -> dict[str, object]:
    """Read a small JSON object stored next to the data, or return an empty one if there is none."""
    try:
        with open(path, "rb") as stream:
            found = json.loads(stream.read(2**24))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_name(name: object) -> bool:
    """Whether a value is a bare file name. Data must not refer to files elsewhere."""
    return isinstance(name, str) and name not in ("", ".", "..") and os.path.basename(name) == name and "\0" not in name
