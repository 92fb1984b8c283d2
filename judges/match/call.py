"""`verikit.judge_answers`: the command `verikit judge` as a function call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, TypeAlias

from verikit.base import Verifier
from verikit.errors import UsageError
from verikit.judges.match.run import BATCH, SUMMARY, VERDICTS
from verikit.judges.match.session import MatchSession, MatchSettings
from verikit.judges.match.show import show
from verikit.names.spec import load
from verikit.platform.terminal import Watch
from verikit.results.data import Data, are_paths, as_path, is_path, write_rows
from verikit.results.folders import CallFolder, run_folder
from verikit.results.run import FinishedRun
from verikit.scoring.rows import read_rows
from verikit.tracking import read_trackers, track_run

Answers: TypeAlias = Data | Mapping[str, Data] | Sequence[str | PathLike[str]]
"""A mapping from model names to rows or paths, several paths, or one path or rows of pairs or candidates."""
LABELS = "labels.jsonl"


class JudgeRun(FinishedRun):
    """The result of `judge_answers`: win rates with intervals, the judge's reliability, and every verdict."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """The content of summary.json: pairs with win rates, bias, ratings, agreement with labels, canaries."""
        return self._json(SUMMARY)

    @property
    def win_rates(self) -> dict[tuple[str, str], float]:
        """Fraction of comparisons that the first of two models wins, by their names. Ties count as half."""
        return {(row["a"], row["b"]): row["win_rate"]["value"] for row in self.summary["pairs"] if "win_rate" in row}

    def lines(self) -> Iterator[str]:
        """The lines that `verikit judge` prints."""
        return show(self.summary)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of verdicts.jsonl: one per comparison, with the judge's replies in both orders."""
        return read_rows(self.path / VERDICTS)

    def records(self) -> Iterator[dict[str, Any]]:
        """One record per comparison: `preference` is 1 if `a` wins, 0 if `b` wins, 0.5 for a tie.

        A comparison without a verdict has no preference and an `error`: `unread` (caused by the judge) or `failed`
        (caused by the engine).
        """
        for row in self.rows():
            lengths = {"length_a": row["lengths"][0], "length_b": row["lengths"][1]}
            verdict = {"preference": row["preference"], "reason": row["reason"], "error": row.get("error")}
            replies = {f"reply_{number}": order["reply"] for number, order in enumerate(row["orders"], 1)}
            label = {"label": row["label"]} if "label" in row else {}
            yield {"id": row["id"], "a": row["a"], "b": row["b"], **verdict, **lengths, **label, **replies}


def judge_answers(
    answers: Answers,
    judge: str | Verifier,
    *,
    labels: str | PathLike[str] | Mapping[str, Any] | Data | None = None,
    out: str | PathLike[str] | None = None,
    gold: Data | None = None,
    mapping: Mapping[str, str] | None = None,
    format: str | None = None,
    limit: int | None = None,
    batch: int = BATCH,
    length_control: bool = False,
    canaries: int = 0,
    by_key: str | Sequence[str] = (),
    resume: bool = True,
    track: str | Sequence[str] = (),
    quiet: bool = False,
) -> JudgeRun:
    """Compare models' answers with a judge: win rates with intervals, and evidence of the judge's reliability.

    This is `verikit judge` as a function call. Each pair is judged in both orders.

    Args:
        answers: A mapping from models' names to their rows or files, or several files. Or one file or rows of pairs
            (`output_1`, `output_2`) or of several completions per prompt.
        judge: A judge, a jury or any verifier, as a spec or an object.
        labels: Which answer people preferred, for some prompts. A file or rows of `id` and `label` (1, 2, or 0 for a
            tie), or a mapping from ids to labels.
        out: The run's folder. To continue an interrupted run, repeat the call. It also retries comparisons that failed
            because of the engine. None: nothing is saved.
        gold: Reference answers that are stored apart from the answers, joined by id: a path or rows.
        mapping: From verikit's fields (prompt, completion, id) to the rows' keys.
        format: The rows' format, if it can't be inferred from their keys.
        limit: Only the first `limit` comparisons.
        batch: Comparisons per call of the judge.
        length_control: Also compute win rates at equal lengths. Requires numpy.
        canaries: Number of prompts for ten attacks on the judge.
        by_key: One key of the rows or several. `summary["slices"]` then has win rates for each of their values.
        resume: Continue the run in `out`. False starts again.
        track: Trackers that also receive the result: `wandb:PROJECT`, `tensorboard`, `trackio:PROJECT`,
            `mlflow:EXPERIMENT`.
        quiet: Show no progress on stderr.

    Returns:
        The finished run. Comparisons without a verdict are excluded from the win rates and reported with their reason.

    Raises:
        UsageError: Answers can't be read or joined, a spec can't be read, or the folder contains another run.
        EngineError: The judge's engine is unreachable. With `out`, finished comparisons stay saved.
    """
    loaded, spec = load(judge), judge if isinstance(judge, str) else repr(judge)
    trackers = read_trackers([track] if isinstance(track, str) else track)
    with run_folder(out, "the same call") as held, Watch(quiet=quiet) as watch:
        names, files = _files(answers, held, not resume)
        settings = MatchSettings(
            format,
            dict(mapping or {}),
            None if labels is None else _labels(labels, held),
            limit,
            batch,
            length_control,
            canaries=canaries,
            gold=None if gold is None else held.file(gold, "gold.jsonl", not resume),
            names=names,
            keys=[by_key] if isinstance(by_key, str) else by_key,
        )
        match = MatchSession(files, loaded, spec, settings)
        state = [(0, len(match.bouts))]
        watch.start(lambda seconds: f"{state[-1][0]:,} of {state[-1][1]:,} comparisons in {seconds:,.0f} s")
        match.run(held.path, restart=not resume, progress=lambda done, of, usage: state.append((done, of)))
        notes = list(match.entrants.notes)
        track_run(held.path, trackers, kept=out is not None, restart=not resume, warn=notes.append)
    return JudgeRun(held, notes)


def _files(answers: Answers, held: CallFolder, restart: bool) -> tuple[list[str] | None, list[str]]:
    """The models' names, if they differ from the files' names, and the files."""
    if isinstance(answers, Mapping):
        if len(answers) < 2:
            raise UsageError("a comparison requires at least two models", hint='{"ours": rows, "theirs": rows}')
        rows = enumerate(answers.values(), 1)
        return list(map(str, answers)), [held.file(data, f"answers-{i}.jsonl", restart) for i, data in rows]
    if are_paths(answers):
        return None, [as_path(path) for path in answers]
    return None, [held.file(answers, "answers.jsonl", restart)]


def _labels(labels: Any, held: CallFolder) -> str:
    if is_path(labels):
        return as_path(labels)
    if isinstance(labels, Mapping):
        labels = [{"id": id, "label": label} for id, label in labels.items()]
    path = (held.scratch or held.path) / LABELS
    path.parent.mkdir(parents=True, exist_ok=True)
    write_rows(labels, path)
    return str(path)
