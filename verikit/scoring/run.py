"""A score run from the input file to the finished folder. Resumable, see the package's docstring."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from heapq import merge
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from zlib import crc32

from verikit.errors import EngineError, UsageError
from verikit.readers import HeldRows, IdIndex, Paths, RowSource, expand
from verikit.scoring.chunk import ERRORS, SCORES, SELECTED, TREES, Scorer
from verikit.scoring.folder import Folder
from verikit.scoring.input import Input, OtherRowsError
from verikit.scoring.mend import lost_lines, mend
from verikit.scoring.plan import ScoringPlan, check_same
from verikit.scoring.pool import InFlight, score_chunks
from verikit.scoring.repeats import without_repeats
from verikit.scoring.rows import read_rows, to_line
from verikit.scoring.size import InputSize
from verikit.scoring.slices import check_keys, slices
from verikit.scoring.sums import Commit, changed, read_commits
from verikit.scoring.tally import LOST, Tally
from verikit.types import JsonObject

FILES = (ERRORS, SELECTED, SCORES, TREES)
RETRIED = (SELECTED, SCORES, TREES)
CONFIG, ENVIRONMENT, SUMMARY = "config.json", "environment.json", "summary.json"
RETRY = ".retry"
"""Folder of rescored rows, until they replace the old ones."""
CHUNK_SECONDS = 0.5
"""Target duration of a chunk: short enough to commit often, long enough that commits cost nothing."""


@dataclass
class Progress:
    """A run's progress, for display. Updated in place."""

    tally: Tally
    rows: int = 0
    """Input rows done in this session."""
    line: int = 0
    """The last input row that is done."""
    size: InputSize = field(default_factory=InputSize)
    in_flight: InFlight = field(default_factory=dict)


def score_file(
    source: Paths | RowSource,
    plan: ScoringPlan,
    out: Path,
    *,
    jobs: int | str = 1,
    limit: int | None = None,
    by_key: Sequence[str] = (),
    restart: bool = False,
    retry_errors: bool = False,
    watch: Callable[[Progress], None] = lambda progress: None,
    note: Callable[[str], None] = lambda text: None,
    warn: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Score a file into a folder, resuming an earlier run of the same plan, and return the summary.

    Args:
        source: Any input of `verikit.readers.read`: files, a pattern, a folder, "-" for stdin, or rows in memory.
        plan: The scoring plan.
        out: The output folder, created if it doesn't exist. It has no summary until the run is finished.
        jobs: Number of worker processes. 1 scores in this process. A string names a Ray cluster (see on_ray.py). The
            result does not depend on it.
        limit: Maximum number of rows. A prompt that starts within the limit is finished.
        by_key: Keys of the rows. The summary then includes estimates for each of their values.
        restart: Discard the folder's content.
        retry_errors: First rescore the rows whose candidates could not be scored.
        watch: Called once, with the object that is then updated in place.
        note: Called with each note for the user on how the file was read.
        warn: Called with each damaged file found in the folder, which is then repaired.

    Raises:
        EngineError: The engine of a verifier is unreachable. Committed rows are kept, and the same call resumes from
            them.
        UsageError: The file can't be read, no row has a key of `by_key`, or the folder is in use, was created with
            another plan or from other rows.
        VerikitError: A file of the folder can't be written. Committed rows are kept.
    """
    told = told_source(source)
    rereadable = told is not None or isinstance(source, HeldRows)
    if not rereadable:
        _check_read_once(retry_errors, by_key)
    check_keys(source, plan, by_key)
    scorer = Scorer(plan)
    batch = max(part.batch for part in scorer.parts())
    if scorer.selector is not None and scorer.selector.by_score and scorer.by is None:
        note(f"--select {plan.select} without --by ranks by the truth itself: an upper bound that no method reaches")
    rows, progress = Input(source, plan, limit, batch), Progress(scorer.tally())
    finished = (out / SUMMARY).is_file()
    stopped: EngineError | None = None
    with Folder(out, FILES, optional=(TREES,)) as folder, closing(IdIndex()) as ids:
        try:
            commit = _open(folder, told, plan, scorer, rows, restart, warn)
        except OtherRowsError:
            if not rereadable or folder.damage or _has_scores(out):
                raise
            warn(_replaced(out, "rows"))
            rows = Input(source, plan, limit, batch)
            commit = _open(folder, told, plan, scorer, rows, True, warn)
        progress.line, progress.size = commit.line, InputSize(told, limit)
        watch(progress)
        if folder.damage:
            lost = lost_lines(folder, commit)
            warn(f"rescoring prompts within the first {len(lost):,} lines of the input: their results are damaged")
            commit = mend(Input(source, plan, batch=batch), scorer, jobs, folder, commit, lost, progress.in_flight)
        commit = _fold(folder, commit)
        if retry_errors and commit.line:
            again = Input(source, plan, batch=batch)
            commit, stopped = _retry(again, scorer, jobs, folder, commit, progress, finished=finished)
        for id, line in progress.tally.read(*(read_rows(out / name) for name in (SCORES, SELECTED, ERRORS))):
            ids.add(id, line)
        if rows.beyond_limit:
            note(f"{out} holds rows up to line {commit.line} from earlier; they are kept beyond --limit {limit}")
        if stopped is None:
            _score_rest(rows, scorer, jobs, folder, progress, ids, _Notes(rows, note))
        folder.finish()
        summary = progress.tally.summary()
        if by_key:
            summary["slices"] = slices(out, by_key, plan, source, scorer.verifier)
        folder.write_json(SUMMARY, summary)
        _seal(folder, told, plan, scorer)
    if stopped is not None:
        raise stopped  # after the summary of a finished run is there again
    return summary


def _seal(folder: Folder, told: str | list[str] | None, plan: ScoringPlan, scorer: Scorer) -> None:
    """Write the manifest of a finished run."""
    read = () if told is None else filter(None, (*expand(told), plan.gold))
    fingerprints = plan.config(scorer.verifier, scorer.by)["fingerprints"]
    folder.seal(CONFIG, ENVIRONMENT, SUMMARY, inputs=read, specs=fingerprints)


def _open(
    folder: Folder,
    told: str | list[str] | None,
    plan: ScoringPlan,
    scorer: Scorer,
    rows: Input,
    restart: bool,
    warn: Callable[[str], None],
) -> Commit:
    """Start or resume a folder: position the input after the committed rows and delete the summary."""
    config = plan.config(scorer.verifier, scorer.by) | {"gold_digest": rows.gold_digest, "input": told}
    commit = _begin(folder, config, restart, warn)
    rows.skip(commit)
    folder.unseal(commit)
    folder.write_json(CONFIG, config)
    folder.delete(SUMMARY)
    if environment := _environment(scorer):
        folder.write_json(ENVIRONMENT, environment)
    return commit


def told_source(source: Paths | RowSource) -> str | list[str] | None:
    """Return the input's location for config.json, or None for stdin and rows in memory, which can't be found again."""
    if isinstance(source, RowSource):
        return None
    files = expand(source)
    if "-" in files:
        return None
    return fspath(source) if isinstance(source, str | PathLike) else [fspath(path) for path in source]


def _score_rest(
    source: Input, scorer: Scorer, jobs: int | str, folder: Folder, progress: Progress, ids: IdIndex, notes: _Notes
) -> None:
    """Score the rest of the input chunk by chunk, committing each chunk as it arrives."""
    with closing(score_chunks(source.chunks(), scorer, jobs, progress.in_flight)) as results:
        for chunk, result in results:
            result = without_repeats(result, scorer, ids, chunk.places)
            folder.append(result.written, chunk.last_line, source.checksum(chunk.last_line))
            progress.tally.merge(result.tally)
            progress.rows += len(chunk.rows)
            progress.line = chunk.last_line
            source.pace(len(chunk.rows), result.seconds, CHUNK_SECONDS)
            notes.tell()
    notes.tell()


def _environment(scorer: Scorer) -> dict[str, Any]:
    """Return the properties of this machine that scores depend on, from every verifier in use."""
    found: dict[str, Any] = {}
    for part in scorer.parts():
        found |= part.environment()
    return found


class _Notes:
    """Passes on each of the reader's notes once."""

    def __init__(self, source: Input, note: Callable[[str], None]) -> None:
        self._source, self._note, self._told = source, note, 0

    def tell(self) -> None:
        for text in self._source.notes[self._told :]:
            self._note(text)
        self._told = len(self._source.notes)


def _begin(folder: Folder, config: dict[str, Any], restart: bool, warn: Callable[[str], None]) -> Commit:
    """Open a folder for a plan. If no candidate in it has a score, its plan may change and it starts again.

    Reports changed files by name and writes their content again.

    Another k changes no score, because estimates are recomputed from the files each time. The input's location is
    stored only to display prompts and completions, so it may change too.

    Raises:
        UsageError: It contains scores of another plan, or is damaged and the input is stdin, which can't be read twice.
    """
    if restart:
        shutil.rmtree(folder.path / RETRY, ignore_errors=True)
        folder.clear()
        folder.delete(CONFIG, ENVIRONMENT, SUMMARY)
    damaged = changed(folder.path)
    for name in damaged:
        warn(f"{folder.path / name} was changed or damaged (checksum mismatch). Its content is written again")
    same = CONFIG in damaged and read_commits(folder.path)[0][-1].others[CONFIG] == crc32(folder.encode_json(config))
    commit = folder.recover(mend=True)
    if folder.damage and config["input"] is None:
        raise UsageError(f"{folder.path} is mended by reading the input twice, which stdin can't be", hint="--restart")
    return commit if same else _under_plan(folder, config, commit, warn)


def _under_plan(folder: Folder, config: Mapping[str, Any], commit: Commit, warn: Callable[[str], None]) -> Commit:
    """Resume from a commit if the folder has this plan, otherwise start from scratch.

    Raises:
        UsageError: It has another plan and contains scores.
    """
    if folder.size(SCORES) or folder.damage:
        decides = {key: config[key] for key in config if key not in ("ks", "input", "gold")}
        try:
            check_same(folder.read_json(CONFIG), decides, folder.path)
        except UsageError:
            if folder.damage or _has_scores(folder.path):
                raise
            warn(_replaced(folder.path, "settings"))
            shutil.rmtree(folder.path / RETRY, ignore_errors=True)
            folder.clear()
            return folder.recover()
    elif commit.line:
        folder.clear()
        return folder.recover()
    return commit


def _has_scores(run: Path) -> bool:
    """Whether the rows of a run, or of an interrupted retry, have any value, including values of parts."""
    return any(_has_value(row) for folder in (run, run / RETRY) for row in read_rows(folder / SCORES))


def _has_value(row: JsonObject) -> bool:
    below = (*row.get("parts", {}).values(), *row.get("steps", ()), *filter(None, [row.get("by")]))
    return row.get("value") is not None or any(map(_has_value, below))


def _replaced(run: Path, what: str) -> str:
    return f"the earlier run in {run} had other {what} and scored no candidate: it is replaced"


def _check_read_once(retry_errors: bool, by_key: Sequence[str]) -> None:
    """Reject options that read the input twice.

    Raises:
        UsageError: There is such an option.
    """
    rereading = ["--retry-errors"] * retry_errors + ["--by-key"] * bool(by_key)
    if rereading:
        raise UsageError(f"{rereading[0]} reads the input twice, which stdin can't be", hint="give a file")


def _retry(
    source: Input,
    scorer: Scorer,
    jobs: int | str,
    folder: Folder,
    commit: Commit,
    progress: Progress,
    *,
    finished: bool,
) -> tuple[Commit, EngineError | None]:
    """Rescore the rows that have an unscored candidate. An interrupt keeps the results so far.

    Returns the error if an engine can't be reached and the run was finished: its summary is written again before the
    error is raised.
    """
    chunks = (replace(chunk, again=True) for chunk in source.chosen(_failed(folder.path)))
    stopped = None
    with (
        Folder(folder.path / RETRY, RETRIED) as spool,
        closing(score_chunks(chunks, scorer, jobs, progress.in_flight)) as results,
    ):
        spool.recover()
        try:
            for chunk, result in results:
                spool.append({name: result.written[name] for name in spool.files}, chunk.last_line)
                progress.tally.merge(result.tally)
                progress.rows += len(chunk.rows)
                source.pace(len(chunk.rows), result.seconds, CHUNK_SECONDS)
        except EngineError as error:
            if not finished:
                raise
            stopped = error
    progress.tally = scorer.tally()
    return _fold(folder, commit), stopped


def _fold(folder: Folder, commit: Commit) -> Commit:
    """Replace the old rows with the rescored ones."""
    retried = folder.path / RETRY
    if retried.is_dir():
        with Folder(retried, RETRIED) as spool:
            spool.recover()
            contents = {name: _spliced(folder.path / name, retried / name) for name in spool.files}
            commit = folder.rewrite(contents, commit)
        shutil.rmtree(retried)
    return commit


def _failed(out: Path) -> Iterator[int]:
    """Lines, ascending, of the groups with a candidate that could not be scored or with no selection."""
    scores = (row["line"] for row in read_rows(out / SCORES) if _is_lost(row) or _is_lost(row.get("by", {})))
    return merge(scores, (row["line"] for row in read_rows(out / SELECTED) if row["selected"] is None))


def _is_lost(row: JsonObject) -> bool:
    return row.get("status") in LOST


def _spliced(old: Path, fresh: Path) -> Iterator[bytes]:
    """Yield the rows of a file, replaced by fresh ones that have the same line. Both are sorted by line."""
    anew = set(map(_line, read_rows(fresh)))
    kept = (row for row in read_rows(old) if row["line"] not in anew)
    yield from map(to_line, merge(kept, read_rows(fresh), key=_line))


def _line(row: JsonObject) -> int:
    return int(row["line"])
