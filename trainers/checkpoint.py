"""Checkpoints: a folder each, complete or not there at all.

A folder holds the weights and the optimizer (torch DCP, resharded when the number of processes changes) and one JSON
file with the rest. It is written under a temporary name, flushed to the disk, and renamed; older ones go after that. So
a kill at any moment leaves the last complete one.
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
"""What the state of a checkpoint holds."""


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
        TrainerError: it can't be written; older ones are still there.
    """
    temporary, path = folder / f".{name}.tmp", folder / name
    try:
        if world.rank == 0:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
        world.barrier()
        tensors: dict[str, Any] = {"model": get_model_state_dict(module)}
        if optimizer.state:  # asking for it would make one that never was
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
    """Put a checkpoint's weights and optimizer into these.

    Raises:
        TrainerError: it is damaged, of another model, or holds more than tensors and plain values.
    """
    tensors: dict[str, Any] = {"model": get_model_state_dict(module)}
    if read_state(path)["stepped"]:
        tensors["optimizer"] = get_optimizer_state_dict(module, optimizer)
    _read(tensors, path, world.size == 1)
    set_model_state_dict(module, tensors["model"])
    if "optimizer" in tensors:
        set_optimizer_state_dict(module, optimizer, tensors["optimizer"])


def save_weights(path: Path, module: Any, world: World) -> None:
    """Write a policy's weights alone, each process its share, into a folder that is complete or not there.

    Raises:
        TrainerError: they can't be written.
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
            temporary.rename(path)
        world.barrier()
    except (OSError, CheckpointException) as error:
        raise TrainerError(f"can't write {path}: {' '.join(str(error).split())[-300:]}", hint="make room") from error


def load_weights(path: Path, module: Any, world: World | None = None) -> None:
    """Put a checkpoint's weights into a policy: a whole one in this process alone, or the shares of a `world`'s.

    Raises:
        TrainerError: as `load` does.
    """
    tensors = {"model": get_model_state_dict(module)}
    _read(tensors, path, world is None or world.size == 1)
    set_model_state_dict(module, tensors["model"])


def _write(tensors: dict[str, Any], path: Path, world: World) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled")  # one process alone is what is meant
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
                f"can't read the checkpoint {path}: {told}", hint="delete it, and go on from the one before"
            ) from None


def read_state(path: Path) -> dict[str, Any]:
    """Return the JSON state of a checkpoint.

    Raises:
        TrainerError: it is no JSON, or lacks a part.
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
            f"can't read {path / STATE}: {told}", hint="delete the checkpoint, and go on from the one before"
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
