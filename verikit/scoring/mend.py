"""Repairs a finished run with damaged rows: the prompts they belong to are rescored, the others are kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing
from heapq import merge
from operator import itemgetter
from pathlib import Path

from verikit.readers import IdIndex
from verikit.scoring.chunk import SCORES, Scorer
from verikit.scoring.folder import Folder
from verikit.scoring.input import Input
from verikit.scoring.pool import InFlight, score_chunks
from verikit.scoring.repeats import without_repeats
from verikit.scoring.sums import Commit, intact_lines

MEND = ".mend"
"""Folder of rescored rows, until they replace the damaged ones."""


def lost_lines(folder: Folder, commit: Commit) -> set[int]:
    """Return the lines of the input whose rows are damaged, or may be, if damage hides which rows there were."""
    lost: set[int] = set()
    for name in folder.damage:
        for first, last in _gaps(_intact(folder, name, commit), commit.line):
            lost.update(range(max(1, first), last + 1))
    return lost


def mend(
    source: Input, scorer: Scorer, jobs: int | str, folder: Folder, commit: Commit, lost: set[int], in_flight: InFlight
) -> Commit:
    """Rescore lost lines and put them back in place, all in one step. An interrupt leaves the damage unchanged."""
    shutil.rmtree(folder.path / MEND, ignore_errors=True)
    with (
        Folder(folder.path / MEND, folder.files) as spool,
        closing(IdIndex()) as ids,
        closing(score_chunks(source.chosen(sorted(lost)), scorer, jobs, in_flight)) as results,
    ):
        for line, row in _kept(folder, SCORES, commit, lost):
            ids.add(json.loads(row)["id"], line)
        spool.recover()
        for chunk, result in results:
            spool.append(without_repeats(result, scorer, ids, chunk.places).written, chunk.last_line)
        merged = {
            name: _merged(_kept(folder, name, commit, lost), _numbered(spool.path / name)) for name in folder.files
        }
        commit = folder.rewrite(merged, commit)
    shutil.rmtree(folder.path / MEND)
    return commit


def _kept(folder: Folder, name: str, commit: Commit, lost: set[int]) -> Iterator[tuple[int, bytes]]:
    """Return the undamaged rows of a file with their lines, except for lost lines."""
    return (pair for pair in _intact(folder, name, commit) if pair[0] and pair[0] not in lost)


def _merged(*parts: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    return (row for _, row in merge(*parts, key=itemgetter(0)))


def _numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    with open(path, "rb") as rows:
        for row in rows:
            yield json.loads(row)["line"], row


def _intact(folder: Folder, name: str, commit: Commit) -> Iterator[tuple[int, bytes]]:
    """Yield the undamaged rows of a file with their lines. 0 marks damaged rows."""
    path: Path = folder.path / name
    if path.exists():
        for row in intact_lines(path, folder.damage.get(name, set()), commit.sizes.get(name, 0)):
            yield (0, b"") if row is None else (json.loads(row)["line"], row)


def _gaps(rows: Iterable[tuple[int, bytes]], last: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of lines, inclusive, that contain damaged rows. Their neighbours may have lost rows as well."""
    before, gap = 0, False
    for line, _ in rows:
        if gap and line:
            yield before, line
        gap, before = not line, line or before
    if gap:
        yield before, last
