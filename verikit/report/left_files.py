"""The files that an agent left, for a sample of the page. A run's folder has them in `workspaces.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from verikit.report.model import LeftFile, SampleItem
from verikit.scoring.chunk import TREES
from verikit.scoring.rows import read_rows
from verikit.types import JsonObject

BUDGET, SHORTEST = 100_000, 20
"""Maximum files on a page, and the number of files of a sample that are always shown."""
MOST_CHECKS = 20
"""Maximum checks next to a file."""
LONGEST = 200
"""Characters of a path, as a run stores it."""


def add_files(run: Path, items: Mapping[tuple[int, int], SampleItem]) -> None:
    """Add the files of a run's workspaces to its samples, which are given by line and index."""
    most = max(SHORTEST, BUDGET // max(1, len(items)))
    for row in read_rows(run / TREES):
        item = items.get((row["line"], row["index"]))
        if item is not None and "files" in row:
            files = row["files"]
            item.files = [_file(file, row["checks"]) for file in islice(files, most)]
            item.more_files = int(row.get("more", 0)) + max(0, len(files) - most)


def _file(file: JsonObject, checks: Any) -> LeftFile:
    size = f"{file['bytes']:,} bytes" if file["kind"] == "file" else file["kind"]
    read = [_check(*checks[number]) for number in file.get("checks", ())[:MOST_CHECKS]]
    return LeftFile(file["path"][:LONGEST], size, file.get("change", ""), file.get("problem", ""), read)


def _check(name: str, result: float | str) -> tuple[str, float | None, str]:
    return (name, None, result) if isinstance(result, str) else (name, result, "ok")
