"""Adapters merged into a copy that samples: as fast as a model without any, while the adapters go on learning.

The copy holds weights of its own for the adapted layers only; all else (embeddings, norms, head) is the policy's.
"""

from __future__ import annotations

from copy import deepcopy
from itertools import chain
from typing import Any

import torch
from torch import nn

from verikit.trainers.precision import in_bf16

ADAPTER = "default"
"""peft's name of the one adapter there is."""


class MergedCopy:
    """A plain transformers model with the weights of a peft model, its adapters added in."""

    def __init__(self, model: Any, *, bf16: bool) -> None:
        """Copy the adapted weights of a peft model, or all of them where the copy is in bf16 and the model is not."""
        inner = model.get_base_model()
        shares = not bf16 or inner.dtype == torch.bfloat16
        kept = {id(tensor): tensor for tensor in chain(inner.parameters(), inner.buffers()) if shares}
        copy: Any = deepcopy(inner, kept)
        for name, layer in adapted_layers(copy).items():
            plain = layer.base_layer
            plain.weight = nn.Parameter(plain.weight.detach().clone(), requires_grad=False)
            copy.set_submodule(name, plain)
        self.model: Any = (copy if shares else in_bf16(copy)).eval()
        if not shares:
            self.model.requires_grad_(False)

    @torch.no_grad()
    def refresh(self, model: Any) -> None:
        """Merge the adapters of the peft model anew; one weight at a time is added up, in fp32."""
        modules = dict(self.model.named_modules())
        for name, layer in adapted_layers(model.get_base_model()).items():
            modules[name].weight.copy_(merged_weight(layer))


def merged_weight(layer: Any) -> torch.Tensor:
    """Return the weight of a layer with its adapter added in, in fp32; the layer's own stays what it is."""
    delta: torch.Tensor = layer.get_delta_weight(ADAPTER).float()
    return delta.add_(layer.base_layer.weight)


def adapted_layers(model: Any) -> dict[str, Any]:
    """Return the layers that have an adapter, by name."""
    return {name: module for name, module in model.named_modules() if hasattr(module, "base_layer")}
