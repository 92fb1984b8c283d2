"""Tasks into a run's folder, one after the other; resumable.

The folder gets samples_TASK.jsonl (lm-eval's `--log_samples` form, which `verikit score` reads), results.json,
report.md and config.json. A task that is done is not done again under the same settings and data; within a task, the
cache of generations holds what was asked before a run was interrupted.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lm_eval.api.task import ConfigurableTask
from lm_eval.evaluator import evaluate

from verikit.errors import UsageError
from verikit.evals.data import EmptySplit
from verikit.evals.groups import group_metrics
from verikit.evals.lm import EngineLM
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
    """Run tasks into a folder and return what results.json holds.

    Args:
        names: Of tasks and groups. A member of a group without any rows is left out, with a note.
        model: The model's spec, for the records.
        lm: The model.
        settings: What decides the results.
        out: The folder; made if absent.
        restart: Do all tasks anew.
        note: Called with what a person should know.
        warn: Called with what was found damaged in the folder, and is made anew.
        begun: Called with the name of each task that begins, or of the group whose tasks are asked together.

    Raises:
        UsageError: the folder holds another model's results, these are damaged, or a task can't be run; what was done
            before it stays.
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
                # What failed is tried again: the cache holds the rest.
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
        results["groups"] = group_metrics(names, results["tasks"], lambda task: read_samples(out / samples_name(task)))
        folder.write_json(RESULTS, results)
        folder.replace(REPORT, markdown(results).encode())
        folder.seal(CONFIG, RESULTS, REPORT, *(samples_name(task) for task in held | results["tasks"]))
    return results


def _damaged(out: Path, warn: Note) -> list[str]:
    """Files of a folder that are not as they were written; each is told, and made anew.

    Raises:
        UsageError: the results are among them.
    """
    damaged = changed(out)
    if RESULTS in damaged or PROGRESS in damaged:
        verify(out)
    for name in damaged:
        warn(f"{out / name} was changed or damaged (checksum mismatch). It is written again")
    return damaged


def _held(folder: Folder, model: str) -> dict[str, Any]:
    """The results by task that a folder holds.

    Raises:
        UsageError: they are another model's.
    """
    before = folder.read_json(RESULTS) or {}
    if (other := before.get("model", strike(model))) != strike(model):
        raise UsageError(
            f"{folder.path} contains the results of {other}", hint="give another -o, or --restart to replace them"
        )
    return dict(before.get("tasks", {}))


def build_all(names: Sequence[str], settings: Settings) -> tuple[list[ConfigurableTask], list[str]]:
    """Make all tasks before any is run, so that what is wrong with one costs nothing.

    Returns:
        The tasks, and the names of those groups' members that have no rows.

    Raises:
        UsageError: a task can't be made; one that was asked for by name, or all of a group, have no rows.
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
    """Refuse a task whose replies take steps that the model can't take, or that is none for such a model.

    Raises:
        UsageError: it is one.
    """
    told = task.get_config("metadata") or {}
    ranks, steps = bool(told.get("ranks")), bool(told.get("steps"))
    if not isinstance(lm, Stored) and not steps and ranks != isinstance(lm, Ranker):
        raise UsageError(
            f"{task.task_name} {'scores replies' if ranks else 'asks for replies'}, which {type(lm).__name__} can't",
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
    """The tasks of `build_all` by benchmark: the members of a group of nothing but tasks are asked in one batch."""
    left = dict(zip([name for name in expand(names) if name not in empty], tasks, strict=True))
    parts = [part for name in names for part in benchmarks(name)]
    found = {part: [left.pop(member) for member in expand([part]) if member in left] for part in parts}
    return {name: members for name, members in found.items() if members}


def run_task(task: ConfigurableTask, lm: LM, settings: Settings) -> list[dict[str, Any]]:
    """Run one task through lm-eval and return its sample rows.

    Raises:
        UsageError: the model can't do what the settings ask for.
    """
    return run_pool([task], lm, settings)[0]


def run_pool(tasks: Sequence[ConfigurableTask], lm: LM, settings: Settings) -> list[list[dict[str, Any]]]:
    """Run tasks through lm-eval, their requests in one batch, and return each one's sample rows.

    Raises:
        UsageError: the model can't do what the settings ask for.
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
    """What decides a model's replies, as far as can be told: weights by their files, stored outputs by theirs."""
    told = f"{model} {lm.engine.identity}" if isinstance(lm, EngineLM) else model
    told += f" {lm.verifier.fingerprint}" if isinstance(lm, Ranker) else ""
    kind, _, path = model.partition(":")
    if kind == "replay" and Path(path).exists():
        stat = Path(path).stat()
        told += f" {stat.st_size} {stat.st_mtime_ns}"
    return told


def fingerprint(model: str, task: ConfigurableTask, settings: Settings) -> str:
    """16 hex digits of all that decides a task's results, its documents included."""
    told = _ADDRESS.sub("", encode([model, settings.model_dump(), task.dump_config()]))
    content = hashlib.sha256(told.encode("utf-8", "replace"))
    for doc in task.eval_docs:
        content.update(encode(doc).encode("utf-8", "replace"))
    return content.hexdigest()[:16]


@contextmanager
def quiet() -> Iterator[None]:
    """Keep lm-eval's log to errors: what its warnings say of metrics and data is settled here."""
    logger = logging.getLogger("lm_eval")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
