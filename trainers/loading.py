"""Load a run's model: whole, or under FSDP2 as a frame without data that rank 0 then sends the weights for.

Rank 0 reads one weight at a time from safetensors. If those files don't exist or use other names than the model, rank 0
loads the whole model into main memory, in its stored format. No other process does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from verikit.errors import ConfigError
from verikit.trainers.config import Config
from verikit.trainers.distributed import WeightSource, World, own_state
from verikit.trainers.policy import load_model, load_tokenizer, refuse_quantised, without_dropout
from verikit.trainers.precision import prepare_model
from verikit.trainers.recipe import Recipe


def load_in(world: World, config: Config, recipe: type[Recipe], options: Any) -> tuple[Any, Any]:
    """Return the model, on the world's device or as a frame that `world.wrap` fills, and its tokenizer.

    Raises:
        ConfigError: The config names no model, or it can't be loaded.
    """
    if world.sharded and config.model.path:
        return load_frame(config, recipe.model_class), load_tokenizer(config)
    model, tokenizer = load_model(config, recipe, options)
    return model.to(world.device), tokenizer


def load_frame(config: Config, model_class: str) -> Any:
    """Return the model that a config names, with parameters on the meta device and real buffers.

    Raises:
        ConfigError: It can't be read.
    """
    import transformers

    path = config.model.path
    options = {"attn_implementation": config.model.attention} if config.model.attention else {}
    try:
        settings = transformers.AutoConfig.from_pretrained(path, attention_dropout=0.0, trust_remote_code=False)
        refuse_quantised(settings, path)
        dtype = settings.dtype if config.model.dtype == "auto" else getattr(torch, config.model.dtype)
        with without_numbers():
            kind: Any = getattr(transformers, model_class)
            model = kind.from_config(settings, dtype=dtype or torch.float32, trust_remote_code=False, **options)
        with suppress(OSError):  # the model may have none, and the end token may be defined only there
            model.generation_config = transformers.GenerationConfig.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"model.path {path!r}: {' '.join(str(error).split())[:300]}") from None
    return without_dropout(model)


@contextmanager
def without_numbers() -> Iterator[None]:
    """Create parameters on the meta device inside this context, and leave buffers on their device."""
    register = nn.Module.register_parameter

    def registered(self: nn.Module, name: str, param: nn.Parameter | None) -> None:
        if param is not None and not param.is_meta:
            param = nn.Parameter(param.to("meta"), requires_grad=param.requires_grad)
        register(self, name, param)

    nn.Module.register_parameter = registered  # type: ignore[method-assign]
    try:
        yield
    finally:
        nn.Module.register_parameter = register  # type: ignore[method-assign]


def weight_source(world: World, config: Config, recipe: type[Recipe], options: Any, model: Any) -> WeightSource | None:
    """Return a function that gives rank 0 a frame's weights; None on other ranks and if the model has its weights.

    Raises:
        ConfigError: The model can't be loaded.
    """
    if world.rank or not any(parameter.is_meta for parameter in model.parameters()):
        return None
    if not config.precision.lora_rank:
        stored = StoredWeights(config.model.path)
        if all(name in stored for name, _ in own_state(model)):
            return stored
    whole, _ = load_model(config, recipe, options)
    as_stored = config.precision.model_copy(update={"master": "same"})
    weights = prepare_model(whole, config.model_copy(update={"precision": as_stored})).state_dict()
    return lambda name: weights[name]


class StoredWeights:
    """The weights in the safetensors of a folder or a Hugging Face Hub model, read on demand."""

    def __init__(self, path: str, cache_dir: str | None = None) -> None:
        """Read which file contains which weight (empty without safetensors). `cache_dir` replaces the default cache."""
        self._path, self._cache = path, cache_dir
        self._file_of: dict[str, str] = {}
        if index := self._found("model.safetensors.index.json"):
            self._file_of = dict(json.loads(Path(index).read_bytes())["weight_map"])
        elif self._found("model.safetensors"):
            with self._opened("model.safetensors") as stored:
                self._file_of = dict.fromkeys(stored.keys(), "model.safetensors")

    def __contains__(self, name: str) -> bool:
        return name in self._file_of

    def __call__(self, name: str) -> Tensor:
        """Return a weight."""
        with self._opened(self._file_of[name]) as stored:
            tensor: Tensor = stored.get_tensor(name)
            return tensor

    def _found(self, name: str) -> str | None:
        """Return a file's path in the folder or in the Hugging Face cache, after a download if needed."""
        from transformers.utils.hub import cached_file

        try:
            return cached_file(self._path, name, cache_dir=self._cache, _raise_exceptions_for_missing_entries=False)
        except OSError:
            return None

    def _opened(self, name: str) -> Any:
        from safetensors import safe_open

        return safe_open(self._found(Path(name).name), framework="pt")
