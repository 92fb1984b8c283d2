"""`verikit.score`: the command `verikit score` as a function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

from verikit.base import Verifier
from verikit.errors import UsageError
from verikit.platform.terminal import Watch
from verikit.replies.text import accepted
from verikit.report.curves import OVER_K, estimate
from verikit.report.items import conversation, leaves
from verikit.report.model import Cell, Run, Table
from verikit.results.columns import to_dataset, to_pandas, to_polars
from verikit.results.data import Data, are_paths, as_path
from verikit.results.folders import run_folder
from verikit.results.run import FinishedRun, estimate_of
from verikit.scoring.chunk import ERRORS, SCORES, SELECTED
from verikit.scoring.plan import DEFAULT_KS, ScoringPlan
from verikit.scoring.rereading import plan_of, read_groups
from verikit.scoring.rows import read_rows
from verikit.scoring.run import SUMMARY, score_file
from verikit.scoring.show import prompts_by_k, show
from verikit.scoring.slices import values_of
from verikit.scoring.watch import describe
from verikit.stats import Estimate, at_k
from verikit.tracking import read_trackers, track_run
from verikit.types import PASS_MARK, Group

if TYPE_CHECKING:
    import datasets
    import pandas
    import polars

INPUT, GOLD = "input.jsonl", "gold.jsonl"
"""Files that store the caller's rows."""
COLUMNS = (
    *("id", "index", "part", "value", "right", "status", "answer", "reason", "by"),
    *("prompt", "completion", "gold"),
)
"""Columns of a record, in addition to keys of the rows."""
WHOLE = ""
"""Name of a candidate's whole score among its parts."""


class ScoreRun(FinishedRun):
    """The result of `score`: estimates with intervals, and every candidate's score with its parts."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """summary.json: counts by status, reasons for unscored candidates, and all estimates."""
        return self._json(SUMMARY)

    @property
    def metrics(self) -> dict[str, Estimate]:
        """Each estimate by its name: `mean`, `pass@8`, `maj@8`, `bon@8`, `selected`."""
        rows = self.summary["metrics"]
        return {name: estimate_of(row) for name, row in rows.items()}

    def lines(self) -> Iterator[str]:
        """Yield the output of `verikit score`."""
        return show(self.summary, self.config)

    @property
    def slices(self) -> dict[str, dict[str, dict[str, Estimate]]]:
        """Estimates by key and value, for the keys in the run's `by_key`. The largest slice comes first."""
        return {
            key: {
                value: {name: estimate_of(row) for name, row in held["metrics"].items()}
                for value, held in values.items()
            }
            for key, values in self.summary.get("slices", {}).items()
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of scores.jsonl: one per candidate, with nested parts and steps."""
        return read_rows(self._path / SCORES)

    def selected(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of selected.jsonl: with `select`, the candidate kept for each prompt."""
        return read_rows(self._path / SELECTED)

    def bad_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of errors.jsonl: rows that could not be read, with their line and the problem."""
        return read_rows(self._path / ERRORS)

    def records(self, *, texts: bool = False, keys: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
        """Yield one record per candidate (`part` is "") and one per part of its score, with the part's path.

        Args:
            texts: Include `prompt`, `completion` and `gold`, read again from the input.
            keys: Include these keys of the rows, read again from the input. A key with the name of a column gets the
                prefix `row.`.

        Raises:
            UsageError: Texts or keys are requested, and the file is missing or now contains other rows.
        """
        groups: Iterator[tuple[int, Group]] = self._groups() if texts or keys else iter(())
        plan = plan_of(self.config)
        line = 0
        group: Group | None = None
        for row in self.rows():
            if (texts or keys) and row["line"] != line:
                line = row["line"]
                group = next((found for number, found in groups if number == line), None)
            own = {"id": row["id"], "index": row["index"]}
            more = {} if group is None or not texts else _texts(group, row["index"])
            if group is not None:
                told = {key: ", ".join(values_of(group, key, row["index"], plan)) or None for key in keys}
                more |= {f"row.{key}" if key in COLUMNS else key: value for key, value in told.items()}
            if "by" in row:
                more = {"by": row["by"]["value"], **more}
            yield _record(own, WHOLE, row, more)
            for path, part in leaves(row):
                yield _record(own, path, part, more)

    def to_pandas(self, *, texts: bool = False, keys: Sequence[str] = ()) -> pandas.DataFrame:
        """Return the records as a pandas data frame. See `records`.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return to_pandas(self.records(texts=texts, keys=keys))

    def to_polars(self, *, texts: bool = False, keys: Sequence[str] = ()) -> polars.DataFrame:
        """Return the records as a polars data frame. See `records`.

        Raises:
            MissingExtra: polars is not installed.
        """
        return to_polars(self.records(texts=texts, keys=keys))

    def to_dataset(self, *, texts: bool = False, keys: Sequence[str] = ()) -> datasets.Dataset:
        """Return the records as a dataset of the package datasets. See `records`.

        Raises:
            MissingExtra: It is not installed.
        """
        return to_dataset(self.records(texts=texts, keys=keys))

    def _groups(self) -> Iterator[tuple[int, Group]]:
        path = self.config.get("input")
        if path is None:
            raise UsageError("the run does not record the path of its input", hint="use records without text")
        return read_groups(path, plan_of(self.config))

    def _tables(self, page: Run) -> list[Table]:
        return [_over_k(self.summary), *super()._tables(page)]


def score(
    data: Data,
    verifier: str | Verifier = "answer",
    *,
    by: str | Verifier | None = None,
    select: str | None = None,
    k: int | Iterable[int] = DEFAULT_KS,
    out: str | PathLike[str] | None = None,
    gold: str | PathLike[str] | Data | None = None,
    mapping: Mapping[str, str] | None = None,
    format: str | None = None,
    jobs: int | str = 1,
    limit: int | None = None,
    seed: int = 0,
    resume: bool = True,
    retry_errors: bool = False,
    by_key: str | Sequence[str] = (),
    track: str | Sequence[str] = (),
    quiet: bool = False,
) -> ScoreRun:
    """Score candidates, rerank them, and estimate pass@k, maj@k and BoN@k with 95 % intervals.

    Does the same as `verikit score`. It can be called within a running event loop, such as in a notebook.

    Args:
        data: A path, a pattern, a folder or several of them. Or rows: dicts, `Sample`s, `Group`s, a pandas or polars
            data frame, a pyarrow table, a dataset of `datasets`. A row has a prompt with one completion or several, in
            any of the file formats.
        verifier: Decides which candidates are right: a spec such as "0.9*answer + 0.1*boxed", or a verifier.
        by: Ranks the candidates instead, without seeing the truth.
        select: Keeps one candidate per prompt: best, majority, weighted, first, random.
        k: One k or several, for pass@k, maj@k, bon@k.
        out: The run's folder. The same call resumes an interrupted run. None stores nothing.
        gold: Gold answers stored elsewhere, joined by id: a path or rows.
        mapping: Maps verikit's fields (prompt, completions, completion, answer, id) to the rows' keys. `FILE:prompt`
            applies to one of several files.
        format: The rows' format, if their keys don't determine it.
        jobs: Number of worker processes, or "ray". Requires specs, since a process can't see verifiers of a notebook.
        limit: Maximum number of rows. A prompt that starts within the limit is finished.
        seed: Random seed.
        resume: Resume from the content of `out`. False starts again.
        retry_errors: Rescore candidates that could not be scored.
        by_key: One key of the rows or several. The run then has estimates for each of their values. See
            `ScoreRun.slices`.
        track: Trackers that also receive the result: `wandb:PROJECT`, `tensorboard`, `trackio:PROJECT`,
            `mlflow:EXPERIMENT`.
        quiet: Show no progress on stderr.

    Returns:
        The finished run. Candidates that could not be scored have no value and are reported with the reason. They are
        never a zero.

    Raises:
        UsageError: Invalid rows, a spec that can't be read, a key that no row has, or a folder that contains another
            run.
        MissingExtra: A package that the verifier needs is not installed.
    """
    settings: dict[str, Any] = {
        "select": select,
        "ks": _ks(k),
        "seed": seed,
        "format": format,
        "mapping": dict(mapping or {}),
    }
    if jobs != 1 and any(isinstance(given, Verifier) for given in (verifier, by)):
        raise UsageError("a verifier that is an object can't go to other processes", hint="jobs=1, or 'my.py:name'")
    notes: list[str] = []
    trackers = read_trackers([track] if isinstance(track, str) else track)
    with run_folder(out, "the same call") as held, Watch(quiet=quiet) as watch:
        golds = None if gold is None else held.file(gold, GOLD, not resume)
        plan = ScoringPlan.of(verifier, by, gold=golds, **settings)
        score_file(
            [as_path(path) for path in data] if are_paths(data) else held.file(data, INPUT, not resume),
            plan,
            held.path,
            jobs=jobs,
            limit=limit,
            restart=not resume,
            retry_errors=retry_errors,
            by_key=[by_key] if isinstance(by_key, str) else by_key,
            watch=lambda progress: watch.start(partial(describe, progress)),
            note=notes.append,
            warn=notes.append,
        )
        track_run(held.path, trackers, kept=out is not None, restart=not resume, warn=notes.append)
    return ScoreRun(held, notes)


def _ks(k: int | Iterable[int]) -> tuple[int, ...]:
    ks = (k,) if isinstance(k, int) else tuple(sorted(set(k)))
    if not ks or not all(type(number) is int and number > 0 for number in ks):
        raise UsageError(f"k must be a list of integers >= 1, got {k!r}", hint="k=[1, 4, 16]")
    return ks


def _record(own: Mapping[str, Any], part: str, score: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    value = score["value"]
    verdict = {"value": value, "right": None if value is None else value >= PASS_MARK, "status": score["status"]}
    return {**own, "part": part, **verdict, "answer": score.get("answer"), "reason": score.get("reason", ""), **more}


def _texts(group: Group, index: int) -> dict[str, Any]:
    gold = " or ".join(accepted(group.answer)) or None
    return {"prompt": conversation(group.prompt), "completion": group.completions[index], "gold": gold}


def _over_k(summary: Mapping[str, Any]) -> Table:
    """The estimates over k, a row for each k, as the command prints them."""
    metrics = summary["metrics"]
    ks = sorted({found[1] for name in metrics if (found := at_k(name)) and found[0] in OVER_K})
    kinds = [kind for kind in OVER_K if any(f"{kind}{k}" in metrics for k in ks)]
    rows: list[Sequence[Cell]] = [
        (k, *(estimate("", row) if (row := metrics.get(f"{kind}{k}")) else None for kind in kinds)) for k in ks
    ]
    heads = ("k", *(f"{kind}k" for kind in kinds))
    if counts := prompts_by_k(summary, kinds, ks):
        heads = (*heads, "prompts")
        rows = [[*row, count] for row, count in zip(rows, counts, strict=True)]
    return Table("Over k candidates", heads, rows if len(ks) > 1 else [])
