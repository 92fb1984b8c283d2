"""A folder of Harbor's trials as rows: the workspace of each, its prompt and its messages."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from verikit.errors import SchemaError, WorkspaceError
from verikit.readers.parse import JsonRow
from verikit.types import WORKSPACE
from verikit.workspaces.atif import conversation, pictures_of, read_file
from verikit.workspaces.names import shown

RESULT, CONFIG, TASK = "result.json", "config.json", "task.toml"
DEPTH = 3
"""Maximum depth of a trial or a task below the folder."""


def is_trials(folder: str) -> bool:
    """Whether a folder is a trial, or contains trials."""
    return os.path.isdir(folder) and next(found_trials(folder), None) is not None


def trial_rows(folder: str) -> Iterator[JsonRow | SchemaError]:
    """Yield a row for each trial, with the task of its name if there is one.

    Paths are relative to the folder's parent.
    """
    trials = list(found_trials(folder))
    tasks = tasks_by_name(folder, {path for path, _ in trials})
    for path, result in trials:
        try:
            yield _row(folder, path, result, tasks)
        except WorkspaceError as error:
            yield SchemaError(str(error), file=folder)


def _steps(path: str) -> list[Any]:
    """Return the steps of a trial's trajectory. Empty if it has no trajectory."""
    if not os.path.isfile(os.path.join(path, "agent", "trajectory.json")):
        return []
    try:
        trajectory = json.loads(read_file(path, ("agent", "trajectory.json")))
    except (ValueError, RecursionError):
        raise WorkspaceError(f"{path}: the trajectory is not JSON") from None
    steps = trajectory.get("steps") if isinstance(trajectory, Mapping) else None
    return steps if isinstance(steps, list) else []


def _row(folder: str, path: str, result: Mapping[str, Any], tasks: Mapping[str, Sequence[str]]) -> JsonRow:
    steps = _steps(path)
    prompt, turns = conversation(steps, pictures_of(steps, path, ("agent",)))
    told = trial_keys(folder, path, result, tasks)
    row = {"id": str(result["trial_name"]), "prompt": prompt, WORKSPACE: told}
    return row | ({"completion": turns} if any(turn["role"] == "assistant" for turn in turns) else {})


def trial_keys(folder: str, path: str, result: Mapping[str, Any], tasks: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the keys of a trial's workspace: the trial, and the task of its name if there is one.

    Raises:
        WorkspaceError: Several tasks have its name.
    """
    named = result.get("task_id")
    names = [str(result.get("task_name"))]
    if isinstance(named, Mapping):
        names.append(os.path.basename(str(named.get("path"))))
    found = next((tasks[name] for name in names if name in tasks), ())
    if len(found) > 1:
        told = " and ".join(shown(_from(folder, task)) for task in found[:2])
        raise WorkspaceError(f"{shown(_from(folder, path))}: its task may be {told}", hint="keep one of these tasks")
    return {"trial": _from(folder, path)} | ({"task": _from(folder, found[0])} if found else {})


def tasks_by_name(folder: str, trials: Collection[str]) -> dict[str, list[str]]:
    """Return the task folders below a folder, by their names. Trials are not searched."""
    found: dict[str, list[str]] = {}
    for path in _tasks(folder, trials):
        found.setdefault(os.path.basename(path), []).append(path)
    return found


def _from(folder: str, path: str) -> str:
    """Return a path relative to the folder's parent."""
    return os.path.relpath(path, os.path.dirname(folder) or ".")


def found_trials(folder: str, depth: int = DEPTH) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the trials in a folder, with their results. A trial is not searched further."""
    result = _object(folder, RESULT)
    if "trial_name" in result:  # a job has a result too
        yield folder, result
        return
    for path in _below(folder) if depth else ():
        yield from found_trials(path, depth - 1)


def _tasks(folder: str, trials: Collection[str], depth: int = DEPTH) -> Iterator[str]:
    """Yield the tasks in a folder. A task is not searched further.

    Tasks within a trial are not used, because its agent may have written them.
    """
    if folder in trials or "trial_name" in _object(folder, CONFIG):
        return
    if os.path.isfile(os.path.join(folder, TASK)):
        yield folder
        return
    for path in _below(folder) if depth else ():
        yield from _tasks(path, trials, depth - 1)


def _below(folder: str) -> list[str]:
    """Return the folders in a folder, without links. Empty if it can't be listed, as in `os.walk`."""
    try:
        with os.scandir(folder) as found:
            return sorted(entry.path for entry in found if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _object(folder: str, name: str) -> Mapping[str, Any]:
    """Return the content of a JSON file. Empty if there is none, or it isn't an object."""
    if not os.path.isfile(os.path.join(folder, name)):
        return {}
    try:
        found = json.loads(read_file(folder, (name,)))
    except (WorkspaceError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}
