"""Runs a model on tasks, from its spec to the results, for both the command and the Python call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from verikit.engines import Engine
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings, check_data, expand
from verikit.evals.models import opened_model
from verikit.evals.run import Note, run_tasks
from verikit.evals.typed import LM
from verikit.retrieval import load_retriever


def run_model(
    names: Sequence[str],
    model: str | Engine,
    settings: Settings,
    out: Path,
    *,
    options: Mapping[str, Any],
    retriever: str | None = None,
    cached: bool = True,
    restart: bool = False,
    note: Note = lambda text: None,
    warn: Note = lambda text: None,
    begun: Note = lambda task: None,
    told: Callable[[int, int], None] = lambda done, of: None,
    spent: Callable[[Mapping[str, float]], None] = lambda usage: None,
) -> dict[str, Any]:
    """Run a model on tasks and groups, write to a folder and return the content of results.json. Runs are resumable.

    Args:
        names: Names of tasks and groups.
        model: A spec as `opened_model` accepts it, or an engine, which stays open.
        settings: The settings that affect the results.
        out: The folder, which is created if missing.
        options: Options of the engine or of lm-eval's model.
        retriever: A retriever's spec, for the tasks that search.
        cached: Cache generations in the user's cache folder and reuse them.
        restart: Run all tasks again.
        note: Called with information for the user.
        warn: Called with each damaged file of the folder, which is then written again.
        begun: Called with the name of each task that starts.
        told: Called with the number of finished replies and the total.
        spent: Called at the end with the requests' cost: tokens, calls, seconds.

    Raises:
        UsageError: A model or task does not exist, or the folder has another model's results.
        MissingExtra: A package that the model needs is not installed.
    """
    expand(names)  # before a model is loaded for tasks that there are not
    check_data(names, settings)
    spec = model if isinstance(model, str) else model.identity
    opened = (
        _engine_model(model, settings.seed, retriever, told)
        if isinstance(model, Engine)
        else opened_model(model, options, seed=settings.seed, retriever=retriever, cached=cached, told=told)
    )
    with opened as lm:
        results = run_tasks(names, spec, lm, settings, out, restart=restart, note=note, warn=warn, begun=begun)
        spent(getattr(lm, "usage", {}))
    return results


@contextmanager
def _engine_model(engine: Engine, seed: int, retriever: str | None, told: Callable[[int, int], None]) -> Iterator[LM]:
    yield EngineLM(engine, seed=seed, retriever=load_retriever(retriever) if retriever else None, told=told)
