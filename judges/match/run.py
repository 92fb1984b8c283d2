"""Run bouts through a judge and write them to a folder. A run can be resumed.

Bouts go to the judge in batches. Each batch is committed with the sizes of the files, so a kill loses at most one
batch. Bouts that failed because of the engine are retried whenever the run is resumed. Unreadable replies are the
judge's answer and stay. If a whole batch fails, the engine is unreachable: the batch is discarded and the run stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from verikit.engines.usage import added
from verikit.errors import UsageError, raise_if_gone
from verikit.judges.asking.ask import PROBE
from verikit.judges.match.entrants import Bout
from verikit.judges.match.rows import to_row
from verikit.judges.pairwise import Comparer, Comparison
from verikit.scoring.folder import Folder
from verikit.scoring.plan import check_same
from verikit.scoring.rows import read_rows, to_line
from verikit.scoring.sums import Commit, verify

VERDICTS, CONFIG, SUMMARY = "verdicts.jsonl", "config.json", "summary.json"
BATCH = 64


def judge_bouts(
    bouts: Sequence[Bout],
    judge: Comparer,
    out: Path,
    config: Mapping[str, Any],
    *,
    files: Sequence[str] = (),
    batch: int = BATCH,
    restart: bool = False,
    progress: Callable[[int, Mapping[str, float]], None] = lambda done, usage: None,
) -> None:
    """Judge bouts into a folder's verdicts.jsonl, resuming where an earlier run stopped.

    Args:
        bouts: The bouts, in writing order.
        judge: Compares them.
        out: The folder. It is created if absent.
        config: The settings that affect the verdicts. A folder is resumed only with the same settings.
        files: Paths of the answers, recorded for reference.
        batch: Bouts per call of the judge.
        restart: Discard the folder's content.
        progress: Called with the number of finished bouts and the usage so far.

    Raises:
        UsageError: The folder is in use, was created under another config or from other answers, or is damaged. Or the
            judge never gives a verdict.
        EngineError: The engine is unreachable. Committed verdicts stay.
    """
    with Folder(out, (VERDICTS,)) as folder:
        if not restart:
            verify(out)
        commit = _begin(folder, config, restart)
        done, failed = _held(bouts, out)
        fresh, usage = _again(failed, bouts, judge, batch)  # if this raises, a finished run stays as it is
        _reopen(folder, commit, config, files)
        _replace(folder, commit, fresh)
        progress(done, usage)
        for chunk in _batches(bouts[done:], batch, first=PROBE if not done else batch):
            compared = _compare(judge, chunk)
            done += len(chunk)
            first = done - len(chunk) + 1
            judged = enumerate(zip(chunk, compared, strict=True), first)
            lines = [to_line(to_row(line, bout, comparison)) for line, (bout, comparison) in judged]
            folder.append({VERDICTS: b"".join(lines)}, done)
            usage = added(usage, *(comparison.usage for comparison in compared))
            progress(done, usage)
        folder.finish()


def _begin(folder: Folder, config: Mapping[str, Any], restart: bool) -> Commit:
    """Open a folder. Its config may change while it has no verdicts.

    Raises:
        UsageError: It contains verdicts under another config.
    """
    if restart:
        folder.clear()
    commit = folder.recover()
    if folder.size(VERDICTS):
        check_same(folder.read_json(CONFIG), dict(config), folder.path)
    return commit


def _reopen(folder: Folder, commit: Commit, config: Mapping[str, Any], files: Sequence[str]) -> None:
    """Mark the run as unfinished until its summary is written again."""
    folder.unseal(commit)
    folder.delete(SUMMARY)
    folder.write_json(CONFIG, {**config, "input": list(files)})


def _held(bouts: Sequence[Bout], out: Path) -> tuple[int, list[int]]:
    """The number of verdicts in the folder, and the indices of those that failed because of the engine.

    Raises:
        UsageError: They are verdicts on other answers.
    """
    held, failed = 0, []
    for held, row in enumerate(read_rows(out / VERDICTS), 1):
        if held > len(bouts):
            raise UsageError(f"{out} contains more verdicts than there are comparisons", hint="--restart, or -o")
        bout = bouts[held - 1]
        if (row["id"], row["a"], row["b"], row["digest"]) != (bout.id, bout.a, bout.b, bout.digest):
            raise UsageError(
                f"{out} contains a verdict on other answers to {row['id']!r} ({row['a']} against {row['b']})",
                hint="pass --restart to judge everything again, or choose another folder with -o",
            )
        if row.get("error") == "failed":
            failed.append(held - 1)
    return held, failed


def _again(
    failed: Sequence[int], bouts: Sequence[Bout], judge: Comparer, batch: int
) -> tuple[dict[int, dict[str, Any]], dict[str, float]]:
    """Judge the failed bouts again, and return their rows by index, and the usage.

    Raises:
        EngineError: The engine is unreachable.
    """
    fresh: dict[int, dict[str, Any]] = {}
    usage: dict[str, float] = {}
    for start in range(0, len(failed), batch):
        indices = failed[start : start + batch]
        chunk = [bouts[i] for i in indices]
        compared = _compare(judge, chunk, again=True)
        fresh |= {i: to_row(i + 1, bouts[i], comparison) for i, comparison in zip(indices, compared, strict=True)}
        usage = added(usage, *(comparison.usage for comparison in compared))
    return fresh, usage


def _replace(folder: Folder, commit: Commit, fresh: Mapping[int, dict[str, Any]]) -> None:
    """Write fresh rows in place of those with the same index."""
    if fresh:
        old = enumerate(read_rows(folder.path / VERDICTS))
        folder.rewrite({VERDICTS: (to_line(fresh.get(i, row)) for i, row in old)}, commit)


def _compare(judge: Comparer, chunk: Sequence[Bout], *, again: bool = False) -> list[Comparison]:
    """Compare one batch.

    Raises:
        EngineError: The whole batch failed, and a retry may succeed.
    """
    compared = judge.compare([bout.pair for bout in chunk])
    asked = [bout.pair.first != bout.pair.second for bout in chunk]
    raise_if_gone([comparison.error for comparison, live in zip(compared, asked, strict=True) if live], again=again)
    return compared


def _batches(bouts: Sequence[Bout], size: int, first: int) -> Iterator[Sequence[Bout]]:
    """Batches of bouts. The first is small, to detect a judge without verdicts before spending more."""
    start, stop = 0, min(first, size)
    while start < len(bouts):
        yield bouts[start:stop]
        start, stop = stop, stop + size
