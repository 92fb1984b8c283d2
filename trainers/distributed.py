"""The processes of a run: which one this is, what they share, and what each does with the model.

`World` is one process alone; torchrun's processes get `join()`'s. The loop asks nothing but this interface.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from verikit.trainers.config import DistributedSection


class World:
    """One process by itself."""

    rank = 0
    size = 1

    def __init__(self) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def gather(self, value: Any) -> list[Any]:
        """Return every process's value, by rank (pickled)."""
        return [value]

    def wrap(self, policy: nn.Module) -> nn.Module:
        """Return the module whose forward and backward keep the processes' weights equal (DDP, FSDP2)."""
        return policy

    def sampling_model(self, policy: nn.Module) -> Any:
        """Return the transformers model to sample from, with the policy's present weights; never a collective after."""
        return policy.model

    def refresh(self, policy: nn.Module) -> None:
        """Bring the sampling model up to date after an update."""
        return

    def accumulating(self, policy: nn.Module, *, last: bool) -> AbstractContextManager[Any]:
        """Hold the exchange of gradients back until the last backward pass of a step."""
        return nullcontext()

    def clip_gradients(self, policy: nn.Module, limit: float) -> Tensor:
        """Clip the gradient to a total norm and return the norm it had."""
        return nn.utils.clip_grad_norm_(policy.parameters(), limit)

    def barrier(self) -> None:
        """Wait for all processes."""
        return

    def close(self) -> None:
        """Leave."""
        return


def join(options: DistributedSection) -> World:
    """Return this process's world: one process alone, unless torchrun started it."""
    return World()
