"""Export a run's checkpoint as a plain transformers folder, or only its adapter in peft's format."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import transformers
from torch.nn import ModuleDict

from verikit.errors import ConfigError
from verikit.platform.folders import refuse_links
from verikit.trainers import checkpoint
from verikit.trainers.best import best_weights
from verikit.trainers.config import Config, find_recipe
from verikit.trainers.precision import merged, prepare_model
from verikit.trainers.run import CHECKPOINTS, MODEL

ADAPTER = "adapter_config.json"
"""peft's file that identifies an adapter's folder."""


def _untrained(folder: Path, kind: Any) -> Any:
    try:
        return kind.from_config(transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{folder} contains no model: {' '.join(str(error).split())[:200]}") from None


def export_run(
    run: Path, config: Config, out: Path, step: int | None = None, *, adapter: bool = False, best: bool = False
) -> str:
    """Write a checkpoint's model (in its original number format) and tokenizer; return the checkpoint's name.

    Args:
        run: The run's folder.
        config: Its settings.
        out: The output folder.
        step: The checkpoint's step. Default: the last one.
        adapter: Write only the LoRA adapter. peft and vLLM load it on top of the run's base model.
        best: Write the weights that `run.best` kept, instead of a checkpoint's.

    Raises:
        ConfigError: The checkpoint doesn't exist, or the folder can't be written or contains other files. With
            `adapter`, the run has no adapter or its base model is not published.
        UsageError: The folder contains a link that leads out of it.
    """
    if adapter:
        _check_adapter(run, config)
    if best and step is not None:
        raise ConfigError("--best and --step can't be combined")
    found = best_weights(run) if best else _checkpoint(run, step)
    _check_out(out, run, adapter=adapter)
    kind: Any = getattr(transformers, find_recipe(config.recipe).model_class)
    model = _untrained(run / MODEL, kind)
    dtype = model.config.dtype or model.dtype
    same = config.precision.model_copy(update={"master": "same"} if config.precision.lora_rank else {})
    prepared = prepare_model(model, config.model_copy(update={"precision": same}))
    checkpoint.load_weights(found, ModuleDict({"model": prepared}))  # the same names as in PolicyModel
    if adapter:
        _write_adapter(prepared, config, kind, out)
        return found.name
    merged(prepared).to(dtype).save_pretrained(out)
    for path in (run / MODEL).iterdir():
        if path.name != "config.json":
            shutil.copy(path, out / path.name)
    return found.name


def _check_adapter(run: Path, config: Config) -> None:
    """Raise if a run has no adapter, or if its base model is not available to others."""
    if not config.precision.lora_rank:
        raise ConfigError(f"{run} trained all weights: it has no adapter", hint="export without --adapter")
    if not config.model.path:
        hint = "export without --adapter: the merged model needs no base model"
        raise ConfigError(f"{run} started from a custom model, so the adapter has no published base", hint=hint)


def _checkpoint(run: Path, step: int | None) -> Path:
    """Return the checkpoint of a step, or the last one.

    Raises:
        ConfigError: It doesn't exist.
    """
    kept = checkpoint.checkpoints(run / CHECKPOINTS)
    found = [path for path in kept if step is None or checkpoint.read_state(path)["step"] == step]
    if not found:
        names = ", ".join(path.name for path in kept) or "none"
        raise ConfigError(f"{run} has no such checkpoint", hint=f"it keeps {names}")
    return found[-1]


def _check_out(out: Path, run: Path, *, adapter: bool) -> None:
    """Create the output folder.

    Raises:
        ConfigError: It can't be written, or contains the run's first model or other files.
    """
    hint = "choose another folder with -o"
    if out.resolve() == (run / MODEL).resolve():
        raise ConfigError(f"{out} contains the model that the run started from", hint=hint)
    try:
        out.mkdir(parents=True, exist_ok=True)
        refuse_links(out)
    except OSError as error:
        raise ConfigError(f"can't write to {out}: {error.strerror}", hint=hint) from None
    if any(out.iterdir()) and not ((out / ADAPTER).exists() if adapter else _is_model(out)):
        wanted = "adapter" if adapter else "model"
        raise ConfigError(f"{out} contains files, but no {wanted}", hint=hint)


def _write_adapter(model: Any, config: Config, kind: Any, out: Path) -> None:
    """Write peft's two files. The base is named as in the run's settings, and a folder by its absolute path."""
    options = model.peft_config[model.active_adapter]
    base = Path(config.model.path)
    options.base_model_name_or_path = str(base.resolve()) if base.is_dir() else config.model.path
    if kind is transformers.AutoModelForCausalLM:
        options.task_type = "CAUSAL_LM"  # peft's Auto classes choose the model class by it
    # Otherwise peft queries the Hugging Face Hub for a resized vocabulary.
    # Embeddings are never part of an adapter here.
    model.save_pretrained(out, save_embedding_layers=False)
    (out / "README.md").unlink(missing_ok=True)  # an empty template of peft's


def _is_model(folder: Path) -> bool:
    """Whether a folder contains a model. Runs of verikit have a config.json too."""
    try:
        return "model_type" in json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError, TypeError):
        return False
