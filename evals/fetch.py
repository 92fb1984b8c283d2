"""`verikit data fetch`: downloads the rows of benchmark tasks into the data folder, or says where to get them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from verikit.errors import MissingExtra, UsageError
from verikit.evals.sources import PinnedFile, RowSplit, instructions, task_splits
from verikit.platform.network import unreachable

MAX_BYTES = 2**30
"""Largest pinned file."""


def fetch(names: Sequence[str], told: Callable[[str], None]) -> None:
    """Download the rows of tasks that are not in the data folder yet.

    Args:
        names: Names of tasks and groups.
        told: Called with a line for each split.

    Raises:
        UsageError: A task doesn't exist or has no published rows, or a file can't be downloaded. The error says where
            to get it.
        MissingExtra: The package datasets is not installed.
    """
    splits = list(dict.fromkeys(split for name in names for split in task_splits(name)))
    if not splits:
        raise UsageError(f"{', '.join(names)}: no published rows are known", hint="eval reads them with --data FILE")
    left = []
    for split in splits:
        if split.local():
            told(f"{split.folder} has the rows already")
        else:
            left.append(split)
    problem = unreachable(left[0].url) if left else ""
    if problem:
        raise UsageError(f"can't download: {problem}", hint=instructions(left, most=len(left)))
    for split in left:
        file = _downloaded(split.pinned, split) if split.pinned else _exported(split)
        told(f"{file} ({file.stat().st_size:,} bytes, sha256 {_digest(file)})")


def _downloaded(pinned: PinnedFile, split: RowSplit) -> Path:
    """Download a file of known content."""
    import httpx  # takes longer to import than to find out that there is no network

    total, size = hashlib.sha256(), 0
    split.folder.mkdir(parents=True, exist_ok=True)
    path = split.folder / pinned.url.rpartition("/")[2]
    part = split.folder.parent / f".{split.split}.part"  # not in the folder, where it would count as rows
    try:
        plain = {"Accept-Encoding": "identity"}  # the checksum is of the file, not of a compressed reply
        request = httpx.stream("GET", pinned.url, headers=plain, follow_redirects=True, timeout=30)
        with request as reply, open(part, "wb") as stream:
            reply.raise_for_status()
            for data in reply.iter_bytes():
                size += len(data)
                if size > MAX_BYTES:
                    raise UsageError(f"{pinned.url} has more than {MAX_BYTES:,} bytes")
                total.update(data)
                stream.write(data)
        if total.hexdigest() != pinned.sha256:
            raise UsageError(f"{pinned.url} has the sha256 {total.hexdigest()} instead of {pinned.sha256}")
        os.replace(part, path)
    except httpx.HTTPError as error:
        raise UsageError(f"can't download {pinned.url}: {error}", hint=instructions([split])) from None
    finally:
        part.unlink(missing_ok=True)
    return path


def _exported(split: RowSplit) -> Path:
    """Load a dataset as the tasks do, and store it as one file."""
    try:
        import datasets
    except ImportError:
        raise MissingExtra("verikit data fetch", "eval") from None
    files = f"hf://datasets/{split.dataset}/{split.files}" if split.files else None
    kind = {".csv": "csv"}.get(Path(split.url).suffix, "json")
    try:
        if files or "://" in split.dataset:
            table = datasets.load_dataset(kind, split=split.split, data_files=files or split.dataset)
        else:
            table = datasets.load_dataset(split.dataset, split.config, split=split.split)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        problem = " ".join(str(error).split())[:200]
        raise UsageError(f"can't download {split.dataset}: {problem}", hint=instructions([split])) from None
    split.folder.mkdir(parents=True, exist_ok=True)
    part, path = split.folder.parent / f".{split.split}.part", split.folder / "0000.parquet"
    table.to_parquet(str(part))
    os.replace(part, path)
    return path


def _digest(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
