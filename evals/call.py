"""`verikit.evaluate`: the command `verikit eval` as a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verikit.errors import UsageError
from verikit.evals.report import show
from verikit.evals.run_folder import RESULTS, samples_name
from verikit.evals.samples import grades_of, is_graded, read_samples, row_metric
from verikit.platform.terminal import Watch
from verikit.results.data import Data
from verikit.results.folders import CallFolder, run_folder
from verikit.results.run import FinishedRun, estimate_of
from verikit.stats import Estimate
from verikit.tracking import read_trackers, track_run
from verikit.types import PASS_MARK, JsonObject

if TYPE_CHECKING:
    from verikit.engines import Engine


class EvalRun(FinishedRun):
    """Result of `evaluate`: every task's and group's metrics with intervals, and every reply's grades."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """results.json: tasks and groups with their metrics, categories, and unscored counts."""
        return self._json(RESULTS)

    @property
    def metrics(self) -> dict[str, dict[str, Estimate]]:
        """Each task's and group's estimates by their names: `run.metrics["verikit_math500"]["acc"].value`."""
        units = {**self.summary["tasks"], **self.summary["groups"]}
        return {name: {key: estimate_of(row) for key, row in unit["metrics"].items()} for name, unit in units.items()}

    def lines(self) -> Iterator[str]:
        """What `verikit eval` prints."""
        return show(self.summary)

    def rows(self, task: str) -> list[dict[str, Any]]:
        """The rows of a task's samples file, in lm-eval's form: documents with prompts, replies and grades.

        Raises:
            UsageError: The run has no such task.
        """
        if task not in self.summary["tasks"]:
            raise UsageError(f"the run has no task {task!r}", hint=", ".join(self.summary["tasks"]))
        return read_samples(self.path / samples_name(task))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield one record per reply and metric: its task, the document's id, `index` among the repeats, and the value.

        An unscored reply has no value. Its status and reason explain why.
        """
        for task in self.summary["tasks"]:
            rows = self.rows(task)
            for row in rows:
                if row["filter"] == rows[0]["filter"]:
                    yield from _records(task, row)


def _records(task: str, row: JsonObject) -> Iterator[dict[str, Any]]:
    id = str(row["doc"].get("id", row["doc_id"]))
    metric = row_metric(row)
    plain = row.get(metric)
    value = float(plain) if isinstance(plain, (int, float)) else None
    alone = {metric: {"value": value, "status": "ok" if value is not None else "error"}}
    for index, grade in enumerate(grades_of(row) if is_graded(row) else [alone]):
        for name, score in grade.items():
            if isinstance(score, dict):
                yield {"task": task, "id": id, "index": index, "metric": name, **_verdict(score)}


def _verdict(score: JsonObject) -> dict[str, Any]:
    value = score["value"]
    found = {"value": value, "right": None if value is None else value >= PASS_MARK, "status": score["status"]}
    return found | {"answer": score.get("answer"), "reason": score.get("reason", "")}


def evaluate(
    model: str | Engine,
    tasks: str | Sequence[str],
    *,
    data: Data | Mapping[str, Data] | None = None,
    shots: Data | Mapping[str, Data] | None = None,
    fewshot: int | None = None,
    repeats: int | Mapping[str, int] | None = None,
    limit: int | None = None,
    since: str | None = None,
    until: str | None = None,
    chat: bool = False,
    system: str | None = None,
    generation: Mapping[str, Any] | None = None,
    columns: Mapping[str, str] | None = None,
    judge: str | None = None,
    by: str | None = None,
    retriever: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    seed: int = 0,
    out: str | PathLike[str] | None = None,
    cache: bool = True,
    resume: bool = True,
    track: str | Sequence[str] = (),
    quiet: bool = False,
) -> EvalRun:
    """Run benchmark tasks or groups on a model.

    The Python equivalent of `verikit eval`. For several models, call it once per model, then `compare` their runs.

    Args:
        model: An engine's spec (`hf:PATH`, `vllm:PATH`, `openai:URL#MODEL`), `replay:FILE` with stored outputs, a name
            of lm-eval's models, or an engine.
        tasks: Names of tasks or groups. `verikit list tasks` shows them.
        data: Local rows instead of a Hugging Face dataset: a path or rows for all tasks, or a mapping from tasks to
            them.
        shots: Likewise, for few-shot examples.
        fewshot: Number of examples per prompt.
        repeats: Number of replies per question, for all tasks or by task.
        limit: Use only the first `limit` rows of each task.
        since: Use only rows of this date or a later one, for tasks whose rows have dates.
        until: Use only rows of this date or an earlier one.
        chat: Send conversations, formatted with the model's chat template.
        system: The system message.
        generation: temperature, top_p, top_k, max_gen_toks, until. Overrides the tasks' settings.
        columns: The columns of a custom task: `question`, `answer`, `id`.
        judge: An engine that judges, or a whole judge.
        by: A verifier that ranks the repeats, for BoN.
        retriever: The source of passages for tasks that search: `bm25:DIR`, `http://…`.
        model_args: Options of the engine or of lm-eval's model.
        seed: Random seed for sampled replies and few-shot examples.
        out: The run's folder. Repeating the call resumes an interrupted run. With None, only the cache of generations
            is stored.
        cache: Cache generations in the user's cache folder and reuse them.
        resume: Resume from the results in `out`. False starts over.
        track: Trackers that also receive the result: `wandb:PROJECT`, `tensorboard`, `trackio:PROJECT`,
            `mlflow:EXPERIMENT`.
        quiet: Show no progress on stderr.

    Returns:
        The finished run. An unscored reply has a reason instead of a value, and is never a zero.

    Raises:
        MissingExtra: lm-eval (the extra `eval`) or a package that the model needs is not installed.
        UsageError: A task or model does not exist, or the folder has another model's results.
        ConfigError: A setting is out of range.
    """
    from verikit.evals.cli import need_lm_eval

    need_lm_eval("verikit.evaluate")
    from verikit.evals.loading import Settings
    from verikit.evals.session import run_model
    from verikit.names.settings import checked

    names = [tasks] if isinstance(tasks, str) else list(tasks)
    notes: list[str] = []
    trackers = read_trackers([track] if isinstance(track, str) else track)
    state = {"task": "loading", "done": 0, "of": 0}
    with run_folder(out, "the same call") as held, Watch(quiet=quiet) as watch:
        settings = checked(
            Settings,
            {
                "data": _files(data, "data", held, not resume),
                "shots": _files(shots, "shots", held, not resume),
                "repeats": dict(repeats) if isinstance(repeats, Mapping) else repeats,
                "generation": dict(generation or {}),
                "columns": dict(columns or {}),
                "fewshot": fewshot,
                "limit": limit,
                "since": since,
                "until": until,
                "chat": chat,
                "system": system,
                "seed": seed,
                "judge": judge,
                "by": by,
            },
        )
        watch.start(lambda seconds: "{task}: {done:,} of {of:,} replies".format(**state) + f", {seconds:,.0f} s")
        run_model(
            names,
            model,
            settings,
            held.path,
            options=dict(model_args or {}),
            retriever=retriever,
            cached=cache,
            restart=not resume,
            note=notes.append,
            warn=notes.append,
            begun=lambda task: state.update(task=task, done=0, of=0),
            told=lambda done, of: state.update(done=done, of=of),
        )
        track_run(held.path, trackers, kept=out is not None, restart=not resume, warn=notes.append)
    return EvalRun(held, notes)


def _files(data: Any, name: str, held: CallFolder, restart: bool) -> str | dict[str, str] | None:
    """The file of all tasks, or the files by task."""
    if data is None:
        return None
    if not isinstance(data, Mapping):
        return _file(data, f"{name}.jsonl", held, restart)
    files = {task: f"{name}-{task.replace('/', '_')}.jsonl" for task in data}
    return {task: _file(data[task], file, held, restart) for task, file in files.items()}


def _file(data: Data, name: str, held: CallFolder, restart: bool) -> str:
    path = Path(held.file(data, name, restart))
    if not path.exists():
        raise UsageError(f"{path}: the file does not exist", hint="pass a path, or rows")
    return str(path.resolve())
