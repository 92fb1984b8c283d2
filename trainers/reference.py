"""The initial model for the KL: the policy with LoRA switched off, or without LoRA a frozen copy."""

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
    """Computes log-probabilities under the model before the first training step.

    Under FSDP2 each process stores its shard of those weights, and swaps it with the policy's shard for the
    computation. There is no second model, and the weights stay sharded.
    """

    def __init__(self, module: Any, policy: Any, world: World, batch: BatchSection, folder: Path) -> None:
        """Copy the current policy, or load the initial weights from the run's folder if they exist.

        Raises:
            TrainerError: They can't be written or read.
        """
        self._world, self._batch = world, batch
        self._lora_off = getattr(policy.model, "disable_adapter", None)
        self._module, self._put_in = module, self._lora_off
        """The module that computes, and the context manager that turns it into the reference."""
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
        """Return each row's log-probabilities (trained tokens,)."""
        if self._put_in is None:
            return token_logprobs(self._module, rows, self._world, self._batch)
        with self._put_in():
            return token_logprobs(self._module, rows, self._world, self._batch)
