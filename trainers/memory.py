"""How much memory each process of a run needs, from the shape of its model alone: nothing is loaded.

Counted are weights, gradients, the optimizer's state, what FSDP2 gathers, the reference and the copy that samples.
Activations come on top: they grow with `batch.tokens`, and `activations` says what checkpointing leaves of them.
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
"""Bytes of an optimizer's state for each number that is trained; adamw's are two numbers of the weight's own format."""


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes on each process (GPU)."""

    weights: float
    """The weights that are trained, or this process's share of them."""
    gradients: float
    buckets: float
    """What DDP exchanges gradients in: they are views of it while learning, and it stays when they are gone."""
    optimizer: float
    reference: float
    """The weights at the start, for a KL."""
    gathered: float
    """What is there for a moment while learning: of FSDP2 whole blocks, their gradients, the outermost weights; else
    fp32 weights in bf16, where products are."""
    copy: float
    """What samples beside the policy; given back while learning, unless the next batch is sampled then."""
    ahead: bool
    """Whether it is."""
    activations: float
    """Of a micro-batch, with `precision.checkpointing`: each layer's input, and logits."""

    @property
    def kept(self) -> float:
        """Bytes held all the time."""
        return self.weights + self.optimizer + self.reference + self.buckets

    @property
    def learning(self) -> float:
        """Most bytes while the policy learns, before activations."""
        return self.kept + self.gradients - self.buckets + self.gathered + (self.copy if self.ahead else 0.0)

    @property
    def sampling(self) -> float:
        """Bytes while completions are drawn, before the cache of keys and values."""
        return self.kept + self.copy

    @property
    def peak(self) -> float:
        """The larger of the two."""
        return max(self.learning, self.sampling)


def expected_memory(policy: nn.Module, config: Config, processes: int, *, bf16: bool) -> MemoryEstimate:
    """Return the bytes that a prepared model takes on each process; its parameters may be on the meta device.

    Args:
        policy: What `precision.prepare_model` makes of a model.
        config: The run's settings.
        processes: How many take part.
        bf16: Whether products are of bf16 numbers over fp32 weights (`precision.computes_in_bf16`).
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
        copy=_sampling_copy(policy, config, bf16) if config.engine.kind == "hf" else 0.0,
        ahead=config.batch.ahead,
        activations=_activations(policy, config, bf16),
    )


def _sampling_copy(policy: nn.Module, config: Config, bf16: bool) -> float:
    """Bytes of the weights that sampling needs a copy of: all of sharded ones, else those that it sees otherwise."""
    whole = config.distributed.kind == "fsdp2" or config.batch.ahead
    plain = plain_weights(policy, torch.bfloat16 if bf16 else None)
    return float(
        sum(weight.size for weight in plain if whole or weight.layer is not None or weight.dtype != weight.value.dtype)
    )


def _gathered(policy: nn.Module, config: Config, bf16: bool) -> float:
    """What FSDP2 has whole at once: the outermost weights and their gradients, two blocks, one block's gradients.

    The next block's weights are fetched while a block runs, into a buffer that they are then copied from. A gradient is
    made in the format of the products, and put into a buffer of fp32 to be summed.
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
    """What autocast makes of fp32 weights: all of them until the backward pass, or a block's, with checkpointing."""

    def rounded(module: nn.Module) -> float:
        return float(sum(2 * weight.numel() for weight in module.parameters() if weight.element_size() > 2))

    modules = blocks_of(policy) if config.precision.checkpointing else [policy]
    return max([rounded(module) for module in modules], default=0.0)


def _computed_of(bf16: bool) -> Any:
    return lambda parameters: sum(2 * item.numel() if bf16 else _bytes(item) for item in parameters)


def _gradients(parameters: list[nn.Parameter], bf16: bool) -> float:
    """Gradients as they are made, and the buffer they are summed in."""
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
