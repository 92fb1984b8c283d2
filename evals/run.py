"""Run tasks one after the other and write them to a run's folder. A run can be resumed.

The folder contains samples_TASK.jsonl (in lm-eval's `--log_samples` format, which `verikit score` reads), results.json,
results_lm_eval.json (the same for lm-eval's tools), report.md, config.json and manifest.json. A finished task is not
repeated with the same settings and data. Within a task, the cache of generations has the replies received before an
interruption.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from lm_eval.api.task import ConfigurableTask
from lm_eval.evaluator import evaluate

from verikit.errors import UsageError
from verikit.evals.data import EmptySplit
from verikit.evals.groups import group_metrics
from verikit.evals.left import StoredFiles
from verikit.evals.lm import EngineLM
from verikit.evals.lm_results import LM_RESULTS, lm_results
from verikit.evals.loading import Settings, benchmarks, build, expand
from verikit.evals.ranker import Ranker
from verikit.evals.report import markdown
from verikit.evals.rollouts import RETRIEVING
from verikit.evals.run_folder import CONFIG, REPORT, RESULTS, samples_name
from verikit.evals.samples import read_samples, sample_rows
from verikit.evals.stored import Stored
from verikit.evals.summary import summarize
from verikit.evals.typed import LM
from verikit.platform.secrets import strike
from verikit.scoring.folder import Folder
from verikit.scoring.rows import encode
from verikit.scoring.sums import PROGRESS, changed, verify

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
Note = Callable[[str], None]


def run_tasks(
    names: Sequence[str],
    model: str,
    lm: LM,
    settings: Settings,
    out: Path,
    *,
    restart: bool = False,
    note: Note = lambda text: None,
    warn: Note = lambda text: None,
    begun: Note = lambda task: None,
) -> dict[str, Any]:
    """Run tasks, write them to a folder, and return the content of results.json.

    Args:
        names: Names of tasks and groups. A group's member without rows is skipped, with a note.
        model: The model's spec, for the records.
        lm: The model.
        settings: The settings that affect the results.
        out: The folder, which is created if missing.
        restart: Run all tasks again.
        note: Called with information for the user.
        warn: Called with each damaged file of the folder, which is then written again.
        begun: Called with the name of each task that starts, or of a group whose tasks are sent together.

    Raises:
        UsageError: The folder has another model's results, its results are damaged, or a task can't be run. Results of
            earlier tasks stay in the folder.
    """
    with Folder(out, ()) as folder, quiet():
        config = {"model": model, "tasks": list(names), "settings": settings.model_dump()}
        damaged = [] if restart else _damaged(out, warn)
        held = {} if restart else _held(folder, model)
        results: dict[str, Any] = {"model": strike(model), "tasks": {}, "groups": {}, "empty": []}
        tasks, results["empty"] = build_all(names, settings)
        if results["empty"]:
            note(f"no rows for {', '.join(results['empty'])}")
        for task in tasks:
            check_rollout(task, lm)
        folder.delete(PROGRESS)
        folder.write_json(CONFIG, config)
        for pool, together in pools(names, tasks, results["empty"]).items():
            asked: dict[str, str] = {}
            for task in together:
                digest = fingerprint(identity(model, lm), task, settings)
                file = samples_name(task.task_name)
                known = held.get(task.task_name, {})
                # Failed requests are retried: the cache has the rest.
                whole = (out / file).exists() and file not in damaged
                if known.get("digest") == digest and not known["unscored"] and whole:
                    note(f"{task.task_name} is done")
                    results["tasks"][task.task_name] = known
                else:
                    asked[task.task_name] = digest
            due = [task for task in together if task.task_name in asked]
            if due:
                begun(pool if len(due) > 1 else due[0].task_name)
            for task, samples in zip(due, run_pool(due, lm, settings), strict=True):
                file, rows = samples_name(task.task_name), list(sample_rows(samples))
                folder.replace(file, b"".join(encode(row).encode("utf-8", "replace") + b"\n" for row in rows))
                digest, summary = asked[task.task_name], summarize(task, read_samples(out / file))
                results["tasks"][task.task_name] = {"digest": digest, **summary}
            folder.write_json(RESULTS, results | {"tasks": held | results["tasks"]})
        rows_of = partial(_samples, out)
        results["groups"] = group_metrics(names, results["tasks"], rows_of)
        folder.write_json(RESULTS, results)
        folder.write_json(LM_RESULTS, lm_results(results, tasks, settings, rows_of))
        folder.replace(REPORT, markdown(results).encode())
        digests = {name: told["digest"] for name, told in results["tasks"].items()}
        written = (CONFIG, RESULTS, LM_RESULTS, REPORT, *(samples_name(task) for task in held | results["tasks"]))
        folder.seal(*written, inputs=_files(settings, model), specs=digests)
    return results


def _samples(out: Path, task: str) -> list[dict[str, Any]]:
    return read_samples(out / samples_name(task))


def _files(settings: Settings, model: str) -> list[str]:
    """Return the local files that a run reads: rows, examples, and stored outputs."""
    given = [settings.data, settings.shots]
    files = [file for value in given for file in (value.values() if isinstance(value, Mapping) else [value])]
    kind, _, path = model.partition(":")
    return [file for file in (*files, path if kind == "replay" else None) if file]


def _damaged(out: Path, warn: Note) -> list[str]:
    """Return the folder's files whose checksum differs, and warn about each. They are written again.

    Raises:
        UsageError: The results are among them.
    """
    damaged = changed(out)
    if RESULTS in damaged or PROGRESS in damaged:
        verify(out)
    for name in damaged:
        warn(f"{out / name} was changed or damaged (checksum mismatch). It is written again")
    return damaged


def _held(folder: Folder, model: str) -> dict[str, Any]:
    """Return the results by task that a folder already has.

    Raises:
        UsageError: The results are of another model.
    """
    before = folder.read_json(RESULTS) or {}
    if (other := before.get("model", strike(model))) != strike(model):
        raise UsageError(
            f"{folder.path} contains the results of {other}", hint="give another -o, or --restart to replace them"
        )
    return dict(before.get("tasks", {}))


def build_all(names: Sequence[str], settings: Settings) -> tuple[list[ConfigurableTask], list[str]]:
    """Build all tasks before any is run, so that an invalid task is found at no cost.

    Returns:
        The tasks, and the names of group members without rows.

    Raises:
        UsageError: A task can't be built, or there are no rows for a requested task or a whole group.
    """
    tasks, empty = [], []
    for name in expand(names):
        try:
            tasks.append(build(name, settings))
        except EmptySplit:
            if name in names:
                raise
            empty.append(name)
    if not tasks:
        raise EmptySplit(f"none of the tasks of {', '.join(names)} has any rows")
    return tasks, empty


def check_rollout(task: ConfigurableTask, lm: LM) -> None:
    """Reject a task that the model can't run: its replies take steps, or it is for another kind of model.

    Raises:
        UsageError: The model can't run the task.
    """
    told = task.get_config("metadata") or {}
    ranks, steps = bool(told.get("ranks")), bool(told.get("steps"))
    if not isinstance(lm, Stored) and not steps and ranks != isinstance(lm, Ranker):
        need = "scores replies" if ranks else "needs generated replies"
        raise UsageError(
            f"{type(lm).__name__} can't run {task.task_name}, which {need}",
            hint="--model \"rm('hf:DIR')\", or another verifier" if ranks else "--model is an engine",
        )
    rollout = (task.get_config("generation_kwargs") or {}).get("rollout")
    if not rollout or isinstance(lm, Stored):
        return
    if not isinstance(lm, EngineLM):
        raise UsageError(
            f"{task.task_name} takes several steps ({rollout}), which lm-eval's own models can't",
            hint="--model hf:PATH, vllm:PATH, openai:…",
        )
    if rollout in RETRIEVING and lm.retriever is None:
        raise UsageError(f"{task.task_name} retrieves passages", hint="--retriever bm25:DIR, or an http:// address")


def pools(
    names: Sequence[str], tasks: Sequence[ConfigurableTask], empty: Sequence[str]
) -> dict[str, list[ConfigurableTask]]:
    """Map each benchmark to its tasks of `build_all`. The members of a group of tasks are sent in one batch."""
    left = dict(zip([name for name in expand(names) if name not in empty], tasks, strict=True))
    parts = dict.fromkeys(part for name in names for part in benchmarks(name))
    found = {part: [left.pop(member) for member in expand([part]) if member in left] for part in parts}
    return {name: members for name, members in found.items() if members}


def run_task(task: ConfigurableTask, lm: LM, settings: Settings) -> list[dict[str, Any]]:
    """Run one task through lm-eval and return its sample rows.

    Raises:
        UsageError: The model does not support the settings.
    """
    return run_pool([task], lm, settings)[0]


def run_pool(tasks: Sequence[ConfigurableTask], lm: LM, settings: Settings) -> list[list[dict[str, Any]]]:
    """Run tasks through lm-eval with their requests in one batch, and return each task's sample rows.

    Raises:
        UsageError: The model does not support the settings.
    """
    if not tasks:
        return []
    names = [task.task_name for task in tasks]
    try:
        results = evaluate(
            lm,
            {"tasks": dict(zip(names, tasks, strict=True))},
            limit=settings.limit,
            bootstrap_iters=0,
            system_instruction=settings.system,
            apply_chat_template=settings.chat,
            fewshot_as_multiturn=settings.multiturn,
        )
    except NotImplementedError as error:
        raise UsageError(f"{', '.join(names)}: {error}") from None
    return [results["samples"][name] for name in names]


def identity(model: str, lm: LM) -> str:
    """Identify the model as far as possible: weights and stored outputs are identified by their files."""
    told = f"{model} {lm.engine.identity}" if isinstance(lm, EngineLM) else model
    told += f" {lm.verifier.fingerprint}" if isinstance(lm, Ranker) else ""
    kind, _, path = model.partition(":")
    if isinstance(lm, StoredFiles):
        told += f" {lm.identity}"
    elif kind == "replay" and Path(path).exists():
        stat = Path(path).stat()
        told += f" {stat.st_size} {stat.st_mtime_ns}"
    return told


def fingerprint(model: str, task: ConfigurableTask, settings: Settings) -> str:
    """Return 16 hex digits of a hash of everything that affects a task's results, including its documents."""
    told = _ADDRESS.sub("", encode([model, settings.model_dump(), task.dump_config()]))
    content = hashlib.sha256(told.encode("utf-8", "replace"))
    for doc in task.eval_docs:
        content.update(encode(doc).encode("utf-8", "replace"))
    return content.hexdigest()[:16]


@contextmanager
def quiet() -> Iterator[None]:
    """Limit lm-eval's log to errors: its warnings about metrics and data do not apply here."""
    logger = logging.getLogger("lm_eval")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
