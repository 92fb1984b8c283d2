"""A folder of Harbor's trials as rows: the workspace of each, its prompt and its messages."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from verikit.errors import SchemaError, WorkspaceError
from verikit.readers.parse import JsonRow
from verikit.types import WORKSPACE
from verikit.workspaces.atif import conversation, read_file

RESULT, TASK = "result.json", "task.toml"
DEPTH = 3
"""How deep below the folder a trial or a task may lie."""


def is_trials(folder: str) -> bool:
    """Whether a folder is a trial, or holds trials."""
    return os.path.isdir(folder) and next(_trials(folder), None) is not None


def trial_rows(folder: str) -> Iterator[JsonRow | SchemaError]:
    """A row for each trial; its paths start from where the folder lies. A task of its name, if there is one, goes along."""
    tasks = {os.path.basename(path): path for path in _holding(folder, TASK)}
    for path, result in _trials(folder):
        try:
            yield _row(folder, path, result, tasks)
        except WorkspaceError as error:
            yield SchemaError(str(error), file=folder)


def _row(folder: str, path: str, result: Mapping[str, Any], tasks: Mapping[str, str]) -> JsonRow:
    named = result.get("task_id")
    names = [str(result.get("task_name"))]
    if isinstance(named, Mapping):
        names.append(os.path.basename(str(named.get("path"))))
    task = next((tasks[name] for name in names if name in tasks), None)
    prompt, turns = "", list[dict[str, Any]]()
    if os.path.isfile(os.path.join(path, "agent", "trajectory.json")):
        try:
            steps = json.loads(read_file(path, ("agent", "trajectory.json")))
        except (ValueError, RecursionError):
            raise WorkspaceError(f"{path}: the trajectory is no JSON") from None
        found = steps.get("steps") if isinstance(steps, Mapping) else None
        prompt, turns = conversation(found if isinstance(found, list) else [])
    told = {"trial": _from(folder, path)} | ({"task": _from(folder, task)} if task else {})
    row = {"id": str(result["trial_name"]), "prompt": prompt, WORKSPACE: told}
    return row | ({"completion": turns} if any(turn["role"] == "assistant" for turn in turns) else {})


def _from(folder: str, path: str) -> str:
    """A path as it is from where the folder lies."""
    return os.path.relpath(path, os.path.dirname(folder) or ".")


def _trials(folder: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path in _holding(folder, RESULT):
        yield path, _result(path)


def _holding(folder: str, name: str, depth: int = DEPTH) -> Iterator[str]:
    """The folders that hold a file of a name, from a folder on; one that does is not searched further."""
    if os.path.isfile(os.path.join(folder, name)) and (name != RESULT or _is_trial(folder)):
        yield folder
        return
    if not depth:
        return
    with os.scandir(folder) as found:
        below = sorted(entry.path for entry in found if entry.is_dir(follow_symlinks=False))
    for path in below:
        yield from _holding(path, name, depth - 1)


def _is_trial(folder: str) -> bool:
    """Whether a `result.json` is a trial's: a job has one too."""
    return "trial_name" in _result(folder)


def _result(folder: str) -> Mapping[str, Any]:
    """What a folder's `result.json` holds; nothing where it is no object."""
    try:
        found = json.loads(read_file(folder, (RESULT,)))
    except (WorkspaceError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}
