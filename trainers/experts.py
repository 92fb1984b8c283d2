"""Experts of a mixture (MoE) under autocast: compute their products in its number format, as in all other layers.

transformers multiplies the weights of all experts in one operation, which torch's autocast does not convert. With fp32
weights these products would be fp32. That is many times slower on a GPU, and a different policy from the one that
samples.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

GROUPED = "grouped_mm"
"""transformers' name of the operation."""


class _Rounded:
    """A module of experts as transformers' functions see it. Parameters are read in another number format."""

    def __init__(self, experts: nn.Module, dtype: torch.dtype) -> None:
        self._experts, self._dtype = experts, dtype

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._experts, name)
        return value.to(self._dtype) if isinstance(value, nn.Parameter) else value


def _rounding(
    compute: Callable[..., Tensor], experts: Any, hidden: Tensor, *routing: Tensor, **named: Tensor
) -> Tensor:
    """Call `compute`; under autocast, convert the weights to its number format.

    Args:
        compute: transformers' function for experts.
        experts: The module.
        hidden: (tokens, hidden size).
        routing: Which experts a token goes to, and their weights.
        named: The same, as keyword arguments.
    """
    kind = hidden.device.type
    if torch.is_autocast_enabled(kind):
        experts = _Rounded(experts, torch.get_autocast_dtype(kind))
    return compute(experts, hidden, *routing, **named)


def has_experts(model: nn.Module) -> bool:
    """Whether a router chooses which experts compute a token."""
    return any(hasattr(module, "_apply_gate") for module in model.modules())


def round_experts(model: Any) -> None:
    """Make the one operation that computes all experts of a model follow autocast. Other operations already do."""
    if not has_experts(model):
        return
    from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

    compute = ALL_EXPERTS_FUNCTIONS[GROUPED]
    if getattr(compute, "func", None) is not _rounding:
        ALL_EXPERTS_FUNCTIONS.register(GROUPED, functools.partial(_rounding, compute))
