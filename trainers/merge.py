"""Merge adapters into a policy's weights, one weight at a time, and build the plain model that samples with the sums.

The policy's own weights are never written to. Adding and subtracting again rounds twice, and would change them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from verikit.trainers.distributed import own_state

ADAPTER = "default"
"""peft's name of the only adapter."""
BASE = ".base_layer"
"""peft's infix in the name of a weight that has an adapter."""


class SamplingCopy:
    """A plain transformers model that samples instead of a policy.

    It shares the policy's own weights if they are the right ones for sampling. It stores the others only while it
    samples. Those are weights with merged adapters, in another number format, or whole copies of sharded ones.
    """

    def __init__(self, frame: Any, shared: dict[str, nn.Parameter], device: torch.device) -> None:
        """Take a model with parameters on the meta device, and the policy's parameters to share, by their names."""
        self._own: dict[str, Tensor] = {}
        """The tensors stored here, by their names."""
        parameters = {id(parameter): name for name, parameter in frame.named_parameters()}

        def real(parameter: nn.Parameter) -> nn.Parameter:
            name = parameters[id(parameter)]
            if name in shared:
                return shared[name]
            self._own[name] = torch.empty_like(parameter, device=device)
            return nn.Parameter(self._own[name], requires_grad=False)

        replace_meta(frame, real)
        self.model: Any = frame.to(device).eval()
        self._own |= {name: buffer for name, buffer in own_state(self.model) if name not in parameters.values()}

    @torch.no_grad()
    def fill(self, weights: Iterable[PlainWeight]) -> None:
        """Copy the current weights. Shared ones are skipped."""
        for weight in weights:
            if (own := self._own.get(weight.name)) is None:
                continue
            storage = own.untyped_storage()
            if not storage.size():
                storage.resize_(own.numel() * own.element_size())
            own.copy_(weight.whole())

    def rest(self) -> None:
        """Release the memory until the next `fill`."""
        for tensor in self._own.values():
            tensor.untyped_storage().resize_(0)


def merged_weight(layer: Any) -> Any:
    """Return a layer's weight with its adapter merged, in fp32. The layer's own weight does not change."""
    return layer.get_delta_weight(ADAPTER).float() + layer.base_layer.weight


@dataclass(frozen=True, slots=True)
class PlainWeight:
    """A weight of a policy as a plain model has it."""

    name: str
    """transformers' name."""
    value: Tensor
    """The policy's value or its shard, without the adapter."""
    layer: Any
    """The layer whose adapter is to be merged; None without an adapter."""
    dtype: torch.dtype
    """The number format used for sampling."""

    @property
    def size(self) -> int:
        """Bytes of the whole."""
        return self.value.numel() * self.dtype.itemsize

    @torch.no_grad()
    def whole(self) -> Tensor:
        """Return the whole weight with its adapter merged. Under FSDP2 this is a collective."""
        value = (self.value if self.layer is None else merged_weight(self.layer)).to(self.dtype)
        whole: Tensor = value.full_tensor() if hasattr(value, "full_tensor") else value
        return whole


def plain_weights(model: Any, dtype: torch.dtype | None = None) -> Iterator[PlainWeight]:
    """Yield a policy's weights for a plain model: parameters, tied ones once, and their persistent buffers.

    Args:
        model: A transformers model, adapted or not.
        dtype: Parameters of higher precision are rounded to it. Buffers are not: an fp32 bias of an MoE's router
            decides which experts compute, and the policy routes by the exact value.
    """
    inner = plain_of(model)
    layers = adapted_layers(inner)
    parameters = {name for name, _ in inner.named_parameters()}
    for name, value in own_state(inner):
        if "lora_" in name:
            continue
        wider = dtype is not None and value.is_floating_point() and value.element_size() > dtype.itemsize
        kept = dtype if wider and dtype is not None and name in parameters else value.dtype
        adapted = layers.get(name.removesuffix(f"{BASE}.weight")) if name.endswith(f"{BASE}.weight") else None
        yield PlainWeight(name.replace(BASE, ""), value, adapted, kept)


def plain_of(model: Any) -> Any:
    """Return the transformers model, without peft's wrapper; its adapters stay in it."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def adapted_layers(model: Any) -> dict[str, Any]:
    """Return a mapping of names to the layers that have an adapter."""
    return {name: module for name, module in model.named_modules() if hasattr(module, "base_layer")}


def frame_of(model: Any, dtype: torch.dtype | None = None) -> Any:
    """Return a plain copy of a model without data: no adapters, parameters on the meta device.

    Parameters are frozen, and in `dtype` if it is given. Buffers are copied.
    """
    inner = plain_of(model)

    def bare(parameter: nn.Parameter) -> nn.Parameter:
        wanted = dtype if dtype is not None and parameter.is_floating_point() else parameter.dtype
        empty = torch.empty(parameter.shape, dtype=wanted, device="meta")
        return nn.Parameter(empty, requires_grad=False)

    copy = deepcopy(inner, {id(parameter): bare(parameter) for parameter in inner.parameters()})
    for name, layer in adapted_layers(copy).items():
        copy.set_submodule(name, layer.base_layer)
    return copy


def replace_meta(module: nn.Module, make: Any) -> None:
    """Replace a module's parameters on the meta device by the results of `make`. Tied ones stay tied."""
    made: dict[int, nn.Parameter] = {}
    for holder in module.modules():
        for key, parameter in holder._parameters.items():
            if parameter is not None and parameter.is_meta:
                if id(parameter) not in made:
                    made[id(parameter)] = make(parameter)
                holder._parameters[key] = made[id(parameter)]
