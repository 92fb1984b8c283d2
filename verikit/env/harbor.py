"""Harbor: a task is a folder (`task.toml`, `instruction.md`, `tests/`), a trial one with `result.json`. Runs nothing.

The formats are harbor 0.25's. The reward of a trial is the result of its tests (`verifier_result.rewards`), the
conversation its agent's `agent/trajectory.json` (ATIF).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from verikit.errors import SchemaError, WorkspaceError
from verikit.platform.numbers import number
from verikit.readers.trials import found_trials, tasks_by_name, trial_keys
from verikit.types import Sample
from verikit.workspaces.atif import conversation, pictures_of
from verikit.workspaces.config import parse_config
from verikit.workspaces.row import TaskWorkspace

CONFIG, TRAJECTORY = "task.toml", "agent/trajectory.json"
MAX_BYTES = 64 * 2**20
"""Maximum size of one file. Longer files are rejected."""
Judged = tuple[Sample, float | None, str]
"""A trial: the completion, its reward, and why there isn't one."""


def is_task(folder: Path) -> bool:
    """Whether a folder is a task or contains tasks."""
    return bool(_folders(folder, CONFIG))


def _folders(folder: Path, name: str) -> list[Path]:
    if (folder / name).is_file():
        return [folder]
    return sorted(path.parent for path in folder.glob(f"*/{name}") if path.is_file())


def task_rows(folder: Path) -> Iterator[dict[str, Any] | SchemaError]:
    """The tasks of a folder: the instruction as the prompt, and the names of the other files.

    Files of tests and of the solution are named, not read: they are for a container.
    """
    for path in _folders(folder, CONFIG):
        try:
            yield _task(path)
        except SchemaError as error:
            yield error


def _task(folder: Path) -> dict[str, Any]:
    text = _text(folder / CONFIG)
    try:
        config = parse_config(text.encode())
    except ValueError as error:
        raise SchemaError(f"must be TOML: {error}", file=folder / CONFIG) from None
    steps = config.get("steps")
    instruction = folder / "instruction.md"
    if not instruction.is_file() and isinstance(steps, list):
        raise SchemaError("must have one step: several are not a single prompt", file=folder / CONFIG, field="steps")
    task, verifier = (config[key] if isinstance(config.get(key), dict) else {} for key in ("task", "verifier"))
    meta = config.get("metadata")
    return {
        "id": str(task.get("name") or folder.name),
        "prompt": _text(instruction),
        "meta": {
            **(meta if isinstance(meta, dict) else {}),
            "path": str(folder),
            "timeout_s": verifier.get("timeout_sec", 600.0),
            "tests": _names(folder / "tests"),
            "environment": _names(folder / "environment"),
            "has_solution": (folder / "solution").is_dir(),
        },
    }


def _names(folder: Path) -> list[str]:
    """Files under a folder, by their path within; links are not followed."""
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
    )


def trials(folder: Path) -> Iterator[tuple[str, Judged | SchemaError]]:
    """The trials of a folder (a job's), each with its path. Its workspace has the files that the agent left.

    The task of a trial is looked for in the folder by its name.
    """
    root = os.path.realpath(folder)  # the user may name a link
    found = list(found_trials(root))
    own = tasks_by_name(root, {path for path, _ in found})
    for path, result in found:
        where = os.path.normpath(os.path.join(folder, os.path.relpath(path, root)))
        try:
            sample, reward, why = _trial(Path(path), result)
            left = TaskWorkspace(trial_keys(root, path, result, own), os.path.dirname(root))
            yield where, (replace(sample, workspace=left), reward, why)
        except SchemaError as error:
            yield where, error
        except WorkspaceError as error:
            yield where, SchemaError(str(error), hint=error.hint)


def _trial(folder: Path, result: Mapping[str, Any]) -> Judged:
    steps = _json(folder / TRAJECTORY).get("steps") if (folder / TRAJECTORY).is_file() else None
    steps = steps if isinstance(steps, list) else []
    prompt, turns = conversation(steps, pictures_of(steps, str(folder), ("agent",)))
    meta = {key: result[key] for key in ("task_name", "task_checksum", "source") if result.get(key) is not None}
    sample = Sample(prompt, turns, None, str(result["trial_name"]), meta)
    if isinstance(failed := result.get("exception_info"), Mapping):
        return sample, None, f"{failed.get('exception_type')}: {failed.get('exception_message')}"[:500]
    judged = result.get("verifier_result")
    rewards = judged.get("rewards") if isinstance(judged, Mapping) else None
    if not isinstance(rewards, Mapping) or not rewards:
        return sample, None, "its tests wrote no reward"
    if "reward" not in rewards and len(rewards) > 1:
        return sample, None, f"several rewards and none called 'reward': {', '.join(map(str, rewards))}"
    value = rewards.get("reward", next(iter(rewards.values())))
    reward = number(value)
    return sample, reward, "" if reward is not None else f"its reward is {value!r}"[:200]


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SchemaError(f"is larger than {MAX_BYTES >> 20} MiB", file=path)
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(f"can't be read: {error}", file=path) from None


def _json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"must be JSON: {error}", file=path) from None
    if not isinstance(found, Mapping):
        raise SchemaError("must be a JSON object", file=path)
    return found
