"""A run's checkpoint as a plain transformers folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import transformers
from torch.nn import ModuleDict

from verikit.errors import ConfigError
from verikit.folders import refuse_links
from verikit.trainers import checkpoint
from verikit.trainers.config import Config, find_recipe
from verikit.trainers.precision import merged, prepare_model
from verikit.trainers.run import CHECKPOINTS, MODEL


def export_run(run: Path, config: Config, out: Path, step: int | None = None) -> str:
    """Write the model (in the number format it came in) and tokenizer of a checkpoint; return the checkpoint's name.

    Raises:
        ConfigError: there is no such checkpoint, or the folder can't be written or holds something else.
        UsageError: a folder holds a link that leads out of it.
    """
    found = checkpoint.checkpoints(run / CHECKPOINTS)
    if step is not None:
        found = [path for path in found if checkpoint.read_state(path)["step"] == step]
    if not found:
        kept = ", ".join(path.name for path in checkpoint.checkpoints(run / CHECKPOINTS)) or "none"
        raise ConfigError(f"{run} has no such checkpoint", hint=f"it keeps {kept}")
    if out.resolve() == (run / MODEL).resolve():
        raise ConfigError(f"{out} holds the model the run began with", hint="choose another folder with -o")
    try:
        out.mkdir(parents=True, exist_ok=True)
        refuse_links(out)
    except OSError as error:
        raise ConfigError(f"can't write to {out}: {error.strerror}", hint="choose another folder with -o") from None
    if any(out.iterdir()) and not _is_model(out):
        raise ConfigError(f"{out} holds something that is no model", hint="choose another folder with -o")
    kind: Any = getattr(transformers, find_recipe(config.recipe).model_class)
    model = kind.from_config(transformers.AutoConfig.from_pretrained(run / MODEL, trust_remote_code=False))
    dtype = model.config.dtype or model.dtype
    same = config.precision.model_copy(update={"master": "same"} if config.precision.lora_rank else {})
    prepared = prepare_model(model, config.model_copy(update={"precision": same}))
    checkpoint.load_weights(found[-1], ModuleDict({"model": prepared}))  # as PolicyModel names them
    merged(prepared).to(dtype).save_pretrained(out)
    for path in (run / MODEL).iterdir():
        if path.name != "config.json":
            shutil.copy(path, out / path.name)
    return found[-1].name


def _is_model(folder: Path) -> bool:
    """Whether a folder holds a model; runs of verikit have a config.json too."""
    try:
        return "model_type" in json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError, TypeError):
        return False
