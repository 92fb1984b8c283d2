"""One stage of a synthesis: items in, rows out, resumable.

Items go to the work in batches; a batch's rows are committed together, so a kill loses one batch at most. Draws are
keyed by item, so where batches are cut changes no result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from verikit.scoring.folder import Folder
from verikit.scoring.rows import to_line

ROWS = "rows.jsonl"
Item = TypeVar("Item")
Row = dict[str, Any]


def run_stage(
    folder: Path,
    items: Sequence[Item],
    work: Callable[[Sequence[Item]], list[Row]],
    batch: int,
    progress: Callable[[int, int], None],
) -> list[dict[str, Any]]:
    """Work through items into a folder, going on where an earlier run stopped; return all rows.

    Args:
        folder: Made if absent.
        items: The same, in the same order, as when the folder was made.
        work: Returns a batch's rows, any number an item.
        batch: Items to a call.
        progress: Called with the number of items done, and of all.

    Raises:
        UsageError: another run has the folder open, or it holds something else.
        VerikitError: it can't be written.
    """
    with Folder(folder, (ROWS,)) as kept:
        done = kept.recover().line
        progress(done, len(items))
        while done < len(items):
            rows = work(items[done : done + batch])
            done = min(done + batch, len(items))
            kept.append({ROWS: b"".join(map(to_line, rows))}, done)
            progress(done, len(items))
        if items:
            kept.finish()
    return [json.loads(line) for line in (folder / ROWS).read_bytes().splitlines()]
