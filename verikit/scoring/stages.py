"""One stage of a synthesis: it turns items into rows, and can be resumed.

Items are processed in batches. A batch's rows are committed together, so a kill loses at most one batch. Samples are
keyed by item, so batch boundaries do not affect results.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from verikit.scoring.folder import Folder
from verikit.scoring.plan import check_same
from verikit.scoring.rows import to_line

CONFIG, ROWS = "config.json", "rows.jsonl"
Item = TypeVar("Item")
Row = dict[str, Any]


def begin(folder: Folder, config: Mapping[str, Any], out: Path) -> None:
    """Write the config into a new folder. A folder with a different config is rejected."""
    old = folder.read_json(CONFIG)
    if old is not None:
        check_same(old, dict(config), out)
    folder.write_json(CONFIG, config)


def run_stage(
    folder: Path,
    items: Sequence[Item],
    work: Callable[[Sequence[Item]], list[Row]],
    batch: int,
    progress: Callable[[int, int], None],
) -> list[dict[str, Any]]:
    """Process items into a folder, resuming where an earlier run stopped, and return all rows.

    Args:
        folder: The folder. It is created if absent.
        items: The same items, in the same order, as when the folder was created.
        work: Returns a batch's rows, any number per item.
        batch: Items per call.
        progress: Called with the number of finished items, and the total.

    Raises:
        UsageError: Another run has the folder open, or the folder contains something else.
        VerikitError: The folder can't be written.
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
