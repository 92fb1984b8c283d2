"""Checkpoints: one folder each, either complete or absent.

A folder contains the weights and the optimizer (torch DCP, resharded when the number of processes changes) and one JSON
file with the rest. It is written under a temporary name, flushed to disk and renamed. Only then are older ones removed.
A kill at any moment therefore leaves the last complete checkpoint.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.state_dict import (
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.checkpoint.state_dict_loader import load as dcp_load
from torch.distributed.checkpoint.state_dict_saver import save as dcp_save

from verikit.errors import TrainerError
from verikit.trainers.distributed import World
from verikit.trainers.plain import PlainPlanner, PlainReader

STATE = "state.json"
_KINDS: dict[str, type] = {
    "phase": str, "step": int, "seconds": float, "unscored_steps": int, "idle_steps": int, "updates": int,
    "bad_steps": int, "recipe": dict, "logs": dict, "environment": dict, "stepped": bool,
}  # fmt: skip
"""The keys of a checkpoint's state, with their types."""


def save(
    folder: Path,
    name: str,
    module: Any,
    optimizer: torch.optim.Optimizer,
    state: dict[str, Any],
    keep: int,
    world: World,
) -> Path:
    """Write a checkpoint and remove all but the newest `keep`; names sort by age.

    Raises:
        TrainerError: It can't be written. Older checkpoints remain.
    """
    temporary, path = folder / f".{name}.tmp", folder / name
    try:
        if world.rank == 0:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
        world.barrier()
        tensors: dict[str, Any] = {"model": get_model_state_dict(module)}
        if optimizer.state:  # reading the state would create one for an optimizer that never stepped
            tensors["optimizer"] = get_optimizer_state_dict(module, optimizer)
        _write(tensors, temporary, world)
        if world.rank == 0:
            text = json.dumps(state | {"stepped": "optimizer" in tensors}, ensure_ascii=False)
            (temporary / STATE).write_text(text, "utf-8")
            _flush(temporary / STATE)
            _flush(temporary)
            shutil.rmtree(path, ignore_errors=True)
            temporary.rename(path)
            _flush(folder)
            for old in checkpoints(folder)[:-keep]:
                shutil.rmtree(old)
        world.barrier()
    except (OSError, CheckpointException) as error:
        if world.rank == 0:
            shutil.rmtree(temporary, ignore_errors=True)
        reason = " ".join(str(error).split())[-300:]
        raise TrainerError(
            f"can't write the checkpoint {path}: {reason}",
            hint="free disk space, then run `verikit train --resume`. The last complete checkpoint is intact",
        ) from error
    return path


def load(path: Path, module: Any, optimizer: torch.optim.Optimizer, world: World) -> None:
    """Load a checkpoint's weights and optimizer state into `module` and `optimizer`.

    Raises:
        TrainerError: It is damaged, belongs to another model, or contains more than tensors and plain values.
    """
    tensors: dict[str, Any] = {"model": get_model_state_dict(module)}
    if read_state(path)["stepped"]:
        tensors["optimizer"] = get_optimizer_state_dict(module, optimizer)
    _read(tensors, path, world.size == 1)
    set_model_state_dict(module, tensors["model"])
    if "optimizer" in tensors:
        set_optimizer_state_dict(module, optimizer, tensors["optimizer"])


def save_weights(path: Path, module: Any, world: World) -> None:
    """Write only a policy's weights, each process its shard, into a folder that is either complete or absent.

    Raises:
        TrainerError: They can't be written.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        if world.rank == 0:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
        world.barrier()
        _write({"model": get_model_state_dict(module)}, temporary, world)
        if world.rank == 0:
            _flush(temporary)
            shutil.rmtree(path, ignore_errors=True)
            temporary.rename(path)
        world.barrier()
    except (OSError, CheckpointException) as error:
        raise TrainerError(f"can't write {path}: {' '.join(str(error).split())[-300:]}", hint="make room") from error


def load_weights(path: Path, module: Any, world: World | None = None) -> None:
    """Load a checkpoint's weights into a policy: a whole one in this process only, or the shards of a `world`.

    Raises:
        TrainerError: See `load`.
    """
    tensors = {"model": get_model_state_dict(module)}
    _read(tensors, path, world is None or world.size == 1)
    set_model_state_dict(module, tensors["model"])


def _write(tensors: dict[str, Any], path: Path, world: World) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled")  # a single process is intended here
        dcp_save(tensors, checkpoint_id=path, no_dist=world.size == 1)
    world.barrier()


def _read(tensors: dict[str, Any], path: Path, alone: bool) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled")
        try:
            dcp_load(tensors, storage_reader=PlainReader(path), planner=PlainPlanner(), no_dist=alone)
        except CheckpointException as error:
            told = "; ".join(
                dict.fromkeys(" ".join(str(failure).split())[:300] for failure, _ in error.failures.values())
            )
            raise TrainerError(
                f"can't read the checkpoint {path}: {told}", hint="delete it, and resume from the checkpoint before it"
            ) from None


def read_state(path: Path) -> dict[str, Any]:
    """Return the JSON state of a checkpoint.

    Raises:
        TrainerError: It isn't valid JSON, or lacks a key.
    """
    problem = ""
    try:
        state = json.loads((path / STATE).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        state, problem = {}, str(error)[:200]
    if not problem and not isinstance(state, dict):
        problem = "it is not an object"
    wrong = [] if problem else [key for key, kind in _KINDS.items() if not _is(state.get(key), kind)]
    if problem or wrong:
        told = problem or f"{wrong[0]!r} must be {_KINDS[wrong[0]].__name__}, got {state.get(wrong[0])!r:.80}"
        raise TrainerError(
            f"can't read {path / STATE}: {told}", hint="delete the checkpoint, and resume from the one before it"
        )
    return dict(state)


def _is(value: Any, kind: type) -> bool:
    number = kind is float and isinstance(value, int) and not isinstance(value, bool)
    return number or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool)))


def checkpoints(folder: Path) -> list[Path]:
    """Return the complete checkpoints, oldest first."""
    return sorted(path for path in folder.glob("[!.]*") if (path / STATE).exists()) if folder.is_dir() else []


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
