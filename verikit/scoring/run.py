"""A score run from the input file to the finished folder; resumable, see the package's docstring."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from verikit.readers import IdIndex
from verikit.scoring.chunk import ERRORS, SCORES, SELECTED, Chunk, Result, Scorer
from verikit.scoring.folder import Commit, Folder
from verikit.scoring.input import Input
from verikit.scoring.plan import Plan, check_same
from verikit.scoring.pool import score_chunks
from verikit.scoring.rows import from_row, read_rows, to_line
from verikit.scoring.tally import Tally

FILES = (ERRORS, SELECTED, SCORES)
CHUNK_SECONDS = 1.0
"""Work a chunk grows or shrinks towards: often enough to commit, seldom enough to cost nothing."""


@dataclass
class Progress:
    """What a run is doing, for whoever watches; updated in place."""

    tally: Tally
    rows: int = 0
    """Input rows done in this session."""
    in_flight: deque[tuple[Chunk, float]] = field(default_factory=deque)
    """Chunks being scored and when they were handed out (monotonic seconds), oldest first."""


def score_file(
    path: str,
    plan: Plan,
    out: Path,
    *,
    jobs: int = 1,
    limit: int | None = None,
    restart: bool = False,
    retry_errors: bool = False,
    watch: Callable[[Progress], None] = lambda progress: None,
    note: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Score a file into a folder, going on where an earlier run of the same plan stopped; return the summary.

    Args:
        path: The input; "-" is stdin.
        plan: What is scored, and how.
        out: The folder; made if absent.
        jobs: Worker processes; 1 scores in this one. The result does not depend on it.
        limit: Only the first so many rows.
        restart: Forget what the folder holds.
        retry_errors: First score the rows again whose candidates could not be scored.
        watch: Called once, with what is then updated in place.
        note: Called with each thing a person should know about how the file was read.

    Raises:
        UsageError: the file can't be read, or the folder is in use, was made under another plan, or from other rows.
        VerikitError: a file of the folder can't be written; what was committed stays.
    """
    scorer, config = Scorer(plan), plan.config()
    source = Input(path, plan, limit)
    with Folder(out, FILES, restart=restart) as folder, closing(IdIndex()) as ids:
        if (old := folder.read_json("config.json")) is not None:
            check_same(old, config, out)
        commit = folder.recover()
        folder.write_json("config.json", config)
        progress = Progress(Tally(plan, scorer.verifier))
        watch(progress)
        if retry_errors and commit.line:
            commit = _retry(Input(path, plan, limit), scorer, jobs, folder, commit, progress)
        reload(out, progress.tally, ids)
        for chunk, result in score_chunks(source.chunks(commit.line, commit.id), scorer, jobs, progress.in_flight):
            result = _without_repeats(chunk, result, scorer, ids)
            last_id = result.ids[-1][0] if result.ids and result.ids[-1][1] == chunk.last_line else ""
            folder.append(result.written, chunk.last_line, last_id)
            progress.tally.merge(result.tally)
            progress.rows += len(chunk.rows)
            source.pace(len(chunk.rows), result.seconds, CHUNK_SECONDS)
        for text in source.notes:
            note(text)
        folder.finish()
        summary = progress.tally.summary()
        folder.write_json("summary.json", summary)
    return summary


def _retry(source: Input, scorer: Scorer, jobs: int, folder: Folder, commit: Commit, progress: Progress) -> Commit:
    """Score the rows again that have an unscored candidate, and put the new scores in the place of the old."""
    failed = {row["line"] for row in read_rows(folder.path / SCORES) if _failed(row) or _failed(row.get("by", {}))}
    fresh: dict[str, dict[int, list[bytes]]] = {SCORES: {}, SELECTED: {}}
    for chunk, result in score_chunks(source.chunks(only=failed), scorer, jobs, progress.in_flight):
        for name, lines in fresh.items():
            for row in result.written[name].splitlines(keepends=True):
                lines.setdefault(json.loads(row)["line"], []).append(row)
        progress.rows += len(chunk.rows)
    return folder.rewrite({name: _spliced(folder.path / name, lines) for name, lines in fresh.items()}, commit)


def _failed(row: Mapping[str, Any]) -> bool:
    return row.get("status") in ("error", "timeout")


def _spliced(old: Path, fresh: Mapping[int, Sequence[bytes]]) -> Iterator[bytes]:
    """The rows of a file, with fresh ones in the place of those of their line."""
    for line, rows in groupby(read_rows(old), key=lambda row: int(row["line"])):
        yield from fresh.get(line) or map(to_line, rows)


def _without_repeats(chunk: Chunk, result: Result, scorer: Scorer, ids: IdIndex) -> Result:
    """Score a chunk again without the rows whose id occurred before; they are errors."""
    repeats = {line: seen for id, line in result.ids if (seen := ids.add(id, line))}
    return scorer(chunk, repeats) if repeats else result


def reload(out: Path, tally: Tally, ids: IdIndex) -> None:
    """Count what a folder already holds."""
    selections = read_rows(out / SELECTED)
    for id, rows in groupby(read_rows(out / SCORES), key=lambda row: str(row["id"])):
        group = list(rows)
        ids.add(id, group[0]["line"])
        ranking = [from_row(row["by"]) for row in group] if "by" in group[0] else None
        selected = next(selections)["selected"] if tally.selects else None
        tally.add([from_row(row) for row in group], ranking, selected)
    for _ in read_rows(out / ERRORS):
        tally.bad_row()
