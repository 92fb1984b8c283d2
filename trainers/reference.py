"""The model at the start of training, for the KL: LoRA switched off where there is LoRA, else a frozen copy."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from verikit.trainers.batch import TrainRow
from verikit.trainers.config import BatchSection
from verikit.trainers.distributed import World
from verikit.trainers.learner import token_logprobs

FILE = "reference.pt"


class ReferenceModel:
    """Gives log-probabilities under the model as it was before the first step of training."""

    def __init__(self, module: Any, policy: Any, world: World, batch: BatchSection, folder: Path) -> None:
        """Take the policy as it is now, unless the run's folder has the weights it started from.

        Raises:
            OSError: they can't be written.
        """
        self._world, self._batch = world, batch
        self._lora_off = getattr(policy.model, "disable_adapter", None)
        self._module = module
        if self._lora_off is not None:
            return
        model = deepcopy(world.sampling_model(policy)).requires_grad_(False)
        path = folder / FILE
        if path.exists():
            model.load_state_dict(torch.load(path, weights_only=True, map_location=world.device))
        elif world.rank == 0:
            temporary = path.with_suffix(".tmp")
            torch.save(model.state_dict(), temporary)
            temporary.rename(path)
        world.barrier()
        self._module = world.share(type(policy)(model, policy.bf16)).eval()

    def __call__(self, rows: Sequence[TrainRow]) -> list[Tensor]:
        """Return each row's log-probabilities (learnt tokens,)."""
        if self._lora_off is None:
            return token_logprobs(self._module, rows, self._world, self._batch)
        with self._lora_off():
            return token_logprobs(self._module, rows, self._world, self._batch)
