"""The model at the start of training, for the KL: LoRA switched off where there is LoRA, else a frozen copy."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from torch import Tensor

from verikit.trainers import checkpoint
from verikit.trainers.batch import TrainRow
from verikit.trainers.config import BatchSection
from verikit.trainers.distributed import World
from verikit.trainers.learner import token_logprobs
from verikit.trainers.run import REFERENCE


class ReferenceModel:
    """Gives log-probabilities under the model as it was before the first step of training.

    Under FSDP2 each process holds its share of those weights, which takes the place of its share of the policy's
    while they are asked: no second model, nothing whole.
    """

    def __init__(self, module: Any, policy: Any, world: World, batch: BatchSection, folder: Path) -> None:
        """Take the policy as it is now, unless the run's folder has the weights it started from.

        Raises:
            TrainerError: they can't be written, or read.
        """
        self._world, self._batch = world, batch
        self._lora_off = getattr(policy.model, "disable_adapter", None)
        self._module, self._put_in = module, self._lora_off
        """What computes, and what makes it the reference meanwhile."""
        if self._lora_off is not None:
            return
        path = folder / REFERENCE
        resumed = path.exists()
        if not resumed:
            checkpoint.save_weights(path, policy, world)
        if not world.sharded:
            self._module = deepcopy(policy).requires_grad_(False).eval()
            if resumed:
                checkpoint.load_weights(path, self._module)
            return
        from verikit.trainers.shards import HeldWeights

        held = HeldWeights(policy)
        self._put_in = held.put_in
        if resumed:
            with held.put_in():
                checkpoint.load_weights(path, policy, world)

    def __call__(self, rows: Sequence[TrainRow]) -> list[Tensor]:
        """Return each row's log-probabilities (learnt tokens,)."""
        if self._put_in is None:
            return token_logprobs(self._module, rows, self._world, self._batch)
        with self._put_in():
            return token_logprobs(self._module, rows, self._world, self._batch)
