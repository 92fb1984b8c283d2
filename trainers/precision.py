"""Number formats and memory: preparing a model for training, the matching optimizer, and CPU threads.

`master = "float32"` keeps fp32 weights for the optimizer and runs the model in bf16 (autocast). `"stochastic"` keeps
only bf16 weights. With `optimizer.kind = "adamw-stochastic"` updates are rounded at random, so small ones are not lost
(torchao). `"auto"` never loses small updates: fp32 weights, and bf16 products on devices that are fast at them. LoRA is
peft's. Its adapters train in fp32. With `"auto"` the frozen weights are bf16 if products are.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn

from verikit.engines.hf.head import head_of
from verikit.errors import ConfigError, MissingExtra
from verikit.platform.system import processors
from verikit.trainers.config import Config, OptimizerSection
from verikit.trainers.merge import adapted_layers

WORTH_BF16 = 2**24
"""Minimum number of parameters for an fp32 model to use bf16 products with `auto`."""
CPU = "/proc/cpuinfo"
OPTIMIZERS = ("adamw", "adamw8bit", "adamw4bit", "adamw-stochastic")


def set_threads(threads: int) -> int:
    """Set torch's CPU threads: `threads`, or OMP_NUM_THREADS, or the cores divided among this machine's processes.

    More threads than cores spin at barriers. Tiny models on a busy machine then run tens of times slower.
    """
    if not threads:
        local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        threads = int(os.environ.get("OMP_NUM_THREADS", "0")) or max(1, processors() // local)
    torch.set_num_threads(threads)
    return threads


def multiplies_bf16() -> bool:
    """Whether this CPU multiplies bf16 matrices (AMX, AVX512-BF16), several times as fast as fp32 ones."""
    try:
        with open(CPU, encoding="utf-8") as stream:
            flags = next((line.split() for line in stream if line.startswith("flags")), [])
    except OSError:
        return False
    return not {"amx_bf16", "avx512_bf16"}.isdisjoint(flags)


def computes_in_bf16(model: Any, config: Config, device: torch.device | None = None) -> bool:
    """Whether to compute a model's products in bf16 while the trained weights are fp32.

    With `auto`: if the device is fast at them, except for fp32 models so small that casting costs more than it saves.
    `device`: the model's future device. None: its current one.
    """
    master = config.precision.master
    if master != "auto":
        return master == "float32"
    fast = (device or model.device).type == "cuda" or multiplies_bf16()
    return fast and (model.dtype != torch.float32 or model.num_parameters() >= WORTH_BF16)


def in_bf16(model: Any) -> Any:
    """Return the model with bf16 weights and unchanged buffers: a rotary embedding's frequencies stay fp32.

    Rounded frequencies rotate positions by more than a degree per thousand tokens, which makes a different policy.
    """
    for weight in model.parameters():
        if weight.is_floating_point():
            weight.data = weight.data.bfloat16()
    return model


def in_fp32(model: Any) -> Any:
    """Return the model with fp32 weights and buffers. Frozen weights keep their number format."""
    for tensor in (*model.parameters(), *model.buffers()):
        learns = tensor.requires_grad or not isinstance(tensor, nn.Parameter)
        if learns and tensor.is_floating_point():
            tensor.data = tensor.data.float()
    return model


def beside_text(model: Any) -> list[str]:
    """Return the names of the outermost modules that token ids never reach, for images and audio.

    Their weights never receive a gradient, and DDP would wait for one.
    """
    config = model.config
    if config.is_encoder_decoder or config.get_text_config() is config:
        return []
    parts = (model.get_decoder(), model.get_input_embeddings(), head_of(model))
    reached = {id(weight) for part in parts for weight in part.parameters()}
    found: list[str] = []
    for name, module in model.named_modules():
        weights = list(module.parameters())
        inside = any(name.startswith(f"{outer}.") for outer in found)
        if weights and not inside and reached.isdisjoint(map(id, weights)):
            found.append(name)
    return found


def _in_master_format(model: Any, config: Config, device: torch.device | None) -> Any:
    """The model with its weights in the format of `precision.master`. `same` leaves them as they are."""
    master = config.precision.master
    if master == "float32":
        return in_fp32(model)
    if master == "stochastic":
        return in_bf16(model)
    if master != "auto":
        return model
    # LoRA freezes these weights, so they need no more than bf16. peft keeps its adapters, which are trained, in fp32.
    frozen = bool(config.precision.lora_rank)
    return in_bf16(model) if frozen and computes_in_bf16(model, config, device) else in_fp32(model)


def prepare_model(model: Any, config: Config, device: torch.device | None = None) -> Any:
    """Return the model ready for training: adapters inserted, activation checkpointing on, layers compiled.

    Modules for images and audio are frozen, keep their number format and get no adapters.

    Args:
        model: A transformers model.
        config: The run's settings.
        device: The model's future device. None: its current one.

    Raises:
        MissingExtra: peft is not installed.
        ConfigError: The model lacks the layers that the adapters target.
    """
    precision = config.precision
    unreached = beside_text(model)
    for name in unreached:
        model.get_submodule(name).requires_grad_(False)
    model = _in_master_format(model, config, device)
    if precision.lora_rank:
        model = _with_lora(model, config, unreached)
    if precision.checkpointing:
        # transformers 5.23 renamed it
        enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
        enable({"use_reentrant": False})
        model.train()  # transformers checkpoints activations in this mode only; dropout is zero
    if precision.compile:
        for layer in _layers(model):
            layer.compile()
    return model


def merged(model: Any) -> Any:
    """Return the model with its adapters merged into the weights."""
    return model.merge_and_unload() if hasattr(model, "merge_and_unload") else model


def make_optimizer(policy: nn.Module, options: OptimizerSection) -> torch.optim.Optimizer:
    """Return the optimizer. Vectors (biases, norms) are decayed like the rest.

    Raises:
        ConfigError: The optimizer doesn't exist.
        MissingExtra: torchao is not installed.
    """
    if options.kind not in OPTIMIZERS:
        raise ConfigError(f"optimizer.kind must be one of {', '.join(OPTIMIZERS)}, got {options.kind!r}")
    parameters = [parameter for parameter in policy.parameters() if parameter.requires_grad]
    shared: dict[str, Any] = {
        "lr": options.lr, "betas": options.betas, "eps": options.epsilon, "weight_decay": options.weight_decay
    }  # fmt: skip
    if options.kind == "adamw":
        try:
            return torch.optim.AdamW(parameters, fused=True, **shared)
        except RuntimeError:  # a device or a number format without the fused kernel
            return torch.optim.AdamW(parameters, foreach=True, **shared)
    if find_spec("torchao") is None:
        raise MissingExtra(f"optimizer.kind {options.kind}", "train")
    refuse_uneven(policy, options, _shards(policy))
    from torchao import optim

    if options.kind == "adamw-stochastic":
        rounding: torch.optim.Optimizer = optim._AdamW(parameters, bf16_stochastic_round=True, **shared)
        return rounding
    made: torch.optim.Optimizer = {"adamw8bit": optim.AdamW8bit, "adamw4bit": optim.AdamW4bit}[options.kind](
        parameters, **shared
    )
    return made


def refuse_uneven(policy: nn.Module, options: OptimizerSection, shards: int) -> None:
    """Reject weights that FSDP2 can't shard evenly if the optimizer is torchao's, whose step fails on them.

    Raises:
        ConfigError: There is such a weight.
    """
    if options.kind == "adamw" or shards == 1:
        return
    for name, weight in policy.named_parameters():
        if weight.requires_grad and weight.dim() and len(weight) % shards:
            raise ConfigError(
                f"optimizer.kind = {options.kind} needs equal shares, and the {len(weight):,} rows of {name} can't be"
                f" divided by {shards} processes",
                hint="set optimizer.kind = adamw, or use a number of processes that divides them, such as 2, 4 or 8",
            )


def _shards(policy: nn.Module) -> int:
    """Return the number of processes that FSDP2 has sharded the weights over."""
    meshes: list[Any] = [weight.device_mesh for weight in policy.parameters() if hasattr(weight, "device_mesh")]
    return int(meshes[0].size(meshes[0].ndim - 1)) if meshes else 1


def _with_lora(model: Any, config: Config, unreached: Sequence[str]) -> Any:
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise MissingExtra("precision.lora_rank", "train") from None
    precision = config.precision
    options = LoraConfig(
        r=precision.lora_rank,
        lora_alpha=precision.lora_alpha,  # type: ignore[arg-type]  # peft only divides it by the rank
        target_modules=precision.lora_targets or "all-linear",
        bias="none",
        exclude_modules=rf"({'|'.join(map(re.escape, unreached))})(\..*)?" if unreached else None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # transformers' names that peft still uses
                warnings.filterwarnings("ignore", "Model has .tie_word")  # rejected below
                warnings.filterwarnings("ignore", "You have passed exclude_modules")  # they may contain no target
                made = get_peft_model(model, options)
        except ValueError as error:
            raise ConfigError(f"precision.lora_targets: {' '.join(str(error).split())[:200]}") from None
    _refuse_tied(model)
    return made


def _refuse_tied(model: Any) -> None:
    """Reject adapters over one of two tied weights. Merged, the two would have to differ."""
    layers = adapted_layers(model)
    adapted = {id(layer.base_layer.weight): name for name, layer in layers.items()}
    bases = {id(layer.base_layer) for layer in layers.values()}
    for module in model.modules():
        weight = module._parameters.get("weight")
        if weight is not None and id(module) not in bases and id(weight) in adapted:
            raise ConfigError(
                f"precision.lora_targets: the weight of {adapted[id(weight)]} is another module's too",
                hint="leave tied embeddings out",
            )


def _layers(model: Any) -> Any:
    """Return the repeated blocks of a decoder. They compile once, in the same way."""
    return next(
        (module for module in model.modules() if isinstance(module, nn.ModuleList) and len(module) > 0), [model]
    )
