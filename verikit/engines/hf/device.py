"""Device-specific helpers: non-blocking copies, and the number of logits to compute together."""

from __future__ import annotations

import torch
from torch import Tensor

HOST_LOGITS = 2**22
"""Maximum number of logits in memory on a CPU: 16 MB in fp32, about a cache."""
DEVICE_LOGITS = 2**28
"""Maximum number of logits in memory on an accelerator: 1 GiB in fp32.

At a vocabulary of 152k, that is 1,766 tokens per product. A product of t tokens with the head reads the head once: t
operations per byte (bf16). GPUs need 200 to 300 to be limited by computation rather than by memory.
"""
DEVICE_SHARE = 64
"""The device's memory is at least this many times the size of the logits in fp32."""


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor from the host to a device, without waiting for the device's current work."""
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


def logits_at_once(device: torch.device) -> int:
    """Return how many logits to compute together, to make products with the head as fast as the device allows."""
    if device.type == "cpu":
        return HOST_LOGITS
    if device.type != "cuda":
        return DEVICE_LOGITS
    memory = torch.cuda.get_device_properties(device).total_memory
    return min(DEVICE_LOGITS, int(memory) // DEVICE_SHARE // 4)
