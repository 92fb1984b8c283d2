"""Estimate the memory that each process of a run needs, from the shape of its model, without loading it.

The estimate includes weights, gradients, the optimizer's state, FSDP2's gathered weights, the reference and the
sampling copy. Activations are extra: they grow with `batch.tokens`. `activations` estimates them with checkpointing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from verikit.engines.hf.head import head_of
from verikit.platform.system import peak_memory_mb
from verikit.trainers.config import Config
from verikit.trainers.merge import plain_of, plain_weights
from verikit.trainers.shards import blocks_of

STATES = {"adamw": 8.0, "adamw-stochastic": 4.0, "adamw8bit": 2.1, "adamw4bit": 1.1}
"""Bytes of an optimizer's state per trained number; adamw's are two numbers in the weight's own format."""


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes on each process (GPU)."""

    weights: float
    """The trained weights, or this process's shard of them."""
    gradients: float
    buckets: float
    """DDP's exchange buffers. Gradients are views of them while training, and the buffers remain afterwards."""
    optimizer: float
    reference: float
    """The weights at the start, for a KL."""
    gathered: float
    """Temporary memory while training: FSDP2's whole blocks, their gradients and the outermost weights.

    Without FSDP2: bf16 copies of fp32 weights, if products are in bf16.
    """
    copy: float
    """The sampling copy of the weights. It is released while training, unless the next batch is sampled then."""
    ahead: bool
    """Whether the next batch is sampled while training (`batch.ahead`)."""
    activations: float
    """A micro-batch's activations with `precision.checkpointing`: each layer's input, and logits."""

    @property
    def kept(self) -> float:
        """Bytes allocated all the time."""
        return self.weights + self.optimizer + self.reference + self.buckets

    @property
    def learning(self) -> float:
        """Peak bytes while the policy trains, before activations."""
        return self.kept + self.gradients - self.buckets + self.gathered + (self.copy if self.ahead else 0.0)

    @property
    def sampling(self) -> float:
        """Bytes while sampling completions, before the cache of keys and values."""
        return self.kept + self.copy

    @property
    def peak(self) -> float:
        """The larger of `learning` and `sampling`."""
        return max(self.learning, self.sampling)


def expected_memory(policy: nn.Module, config: Config, processes: int, *, bf16: bool) -> MemoryEstimate:
    """Return the bytes that a prepared model takes on each process. Its parameters may be on the meta device.

    Args:
        policy: The result of `precision.prepare_model`.
        config: The run's settings.
        processes: The number of processes.
        bf16: Whether products are in bf16 with fp32 weights (`precision.computes_in_bf16`).
    """
    sharded = config.distributed.kind == "fsdp2"
    shares = (config.distributed.shards or processes) if sharded else 1
    weights = sum(_bytes(parameter) for parameter in policy.parameters())
    trained = [parameter for parameter in policy.parameters() if parameter.requires_grad]
    learnt = sum(_bytes(parameter) for parameter in trained)
    state = STATES.get(config.optimizer.kind, 8.0) * sum(parameter.numel() for parameter in trained)
    apart = config.kl.coefficient > 0 and not config.precision.lora_rank
    if sharded:
        gathered = _gathered(policy, config, bf16)
    elif bf16:
        gathered = _rounded(policy, config)
    else:
        gathered = 0.0
    return MemoryEstimate(
        weights=weights / shares,
        gradients=learnt / shares,
        buckets=learnt if processes > 1 and not sharded else 0.0,
        optimizer=state / shares,
        reference=weights / shares if apart else 0.0,
        gathered=gathered,
        copy=_sampling_copy(policy, config, bf16) if _has_copy(config) else 0.0,
        ahead=config.batch.ahead,
        activations=_activations(policy, config, bf16),
    )


def _has_copy(config: Config) -> bool:
    """Whether the engine may sample from its own weights in this process."""
    return config.engine.kind == "hf" and config.precision.lora_merged


def _sampling_copy(policy: nn.Module, config: Config, bf16: bool) -> float:
    """Return the bytes of the sampling copy: all sharded weights, otherwise only weights that differ for sampling."""
    whole = config.distributed.kind == "fsdp2" or config.batch.ahead
    plain = plain_weights(policy, torch.bfloat16 if bf16 else None)
    return float(
        sum(weight.size for weight in plain if whole or weight.layer is not None or weight.dtype != weight.value.dtype)
    )


def _gathered(policy: nn.Module, config: Config, bf16: bool) -> float:
    """Return FSDP2's unsharded bytes: outermost weights and their gradients, two blocks, one block's gradients.

    The next block's weights are fetched while a block runs, into a buffer that they are then copied from. A gradient is
    computed in the format of the products, and copied into an fp32 buffer to be summed.
    """
    blocks = blocks_of(policy)
    inside = {id(parameter) for block in blocks for parameter in block.parameters()}
    outer = [parameter for parameter in policy.parameters() if id(parameter) not in inside]
    largest = max((list(block.parameters()) for block in blocks), key=_computed_of(bf16), default=[])
    if config.distributed.whole_gradients:
        whole = sum(4 * parameter.numel() for parameter in policy.parameters() if parameter.requires_grad)
    else:
        whole = 0
    computed = _computed_of(bf16)
    return float(computed(outer) + _gradients(outer, bf16) + 3 * computed(largest) + _gradients(largest, bf16) + whole)


def _rounded(policy: nn.Module, config: Config) -> float:
    """Return the bytes of autocast's copies of fp32 weights: the whole model, or with checkpointing one block."""

    def rounded(module: nn.Module) -> float:
        return float(sum(2 * weight.numel() for weight in module.parameters() if weight.element_size() > 2))

    modules = blocks_of(policy) if config.precision.checkpointing else [policy]
    return max([rounded(module) for module in modules], default=0.0)


def _computed_of(bf16: bool) -> Any:
    return lambda parameters: sum(2 * item.numel() if bf16 else _bytes(item) for item in parameters)


def _gradients(parameters: list[nn.Parameter], bf16: bool) -> float:
    """Return the bytes of gradients as computed, and of the buffer that sums them."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    made = _computed_of(bf16)(trained)
    return float(made + sum(4 * parameter.numel() for parameter in trained))


def _activations(policy: nn.Module, config: Config, bf16: bool) -> float:
    settings = plain_of(policy).config.get_text_config()
    width = 2 if bf16 else head_of(plain_of(policy)).weight.element_size()
    return float(config.batch.tokens * settings.hidden_size * (settings.num_hidden_layers + 2) * width)


def _bytes(parameter: torch.Tensor) -> int:
    return parameter.numel() * parameter.element_size()


def memory_mb() -> float:
    """Return the peak memory of this process, or of its GPU, in MiB."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**20
    return peak_memory_mb()
