"""What a device wants: copies that don't wait, and pieces of logits of its own size."""

from __future__ import annotations

import torch
from torch import Tensor

HOST_LOGITS = 2**22
"""Most logits held at once on a CPU: 16 MB in fp32, about a cache."""
DEVICE_LOGITS = 2**28
"""Most logits held at once on an accelerator: 1 GiB in fp32. At a vocabulary of 152k that is 1,766 tokens a product.

A product of t tokens with the head reads the head once: t operations a byte (bf16), and GPUs need 200 to 300 to compute
rather than to wait for memory.
"""
DEVICE_SHARE = 64
"""The device's memory is at least so many times what the held logits take in fp32."""


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a tensor of the host's on a device, without waiting for what the device is at."""
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


def logits_at_once(device: torch.device) -> int:
    """Return how many logits to hold at once, so that products with the head are as fast as the device allows."""
    if device.type == "cpu":
        return HOST_LOGITS
    if device.type != "cuda":
        return DEVICE_LOGITS
    memory = torch.cuda.get_device_properties(device).total_memory
    return min(DEVICE_LOGITS, int(memory) // DEVICE_SHARE // 4)
