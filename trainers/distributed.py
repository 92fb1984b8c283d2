"""The processes of a run: this process's rank, communication between processes, and distribution of the model.

`World` is a single process. torchrun's processes use `Ranks` with DDP (a whole model each), or `shards.Shards` with
FSDP2 (a shard each). The training loop uses only this interface. Generation never goes through FSDP. The sampler
receives whole weights after every update. Sampling therefore needs no collective, and each process may finish it at any
time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, nn

from verikit.errors import ConfigError
from verikit.trainers.sections import DistributedSection

WeightSource = Callable[[str], Tensor]
"""Returns a weight, given its name in transformers."""
TIMEOUT = timedelta(minutes=30)
"""Timeout for the gradients of the other processes. All of them are training then."""
COLLECTING = timedelta(days=30)
"""Timeout for other processes' rollouts. It is long, since judges may be slow. torchrun handles dead processes."""


class World:
    """A single process."""

    rank = 0
    size = 1
    sharded = False
    """Whether a process stores one shard of each weight."""
    frame: Any = None
    """Under FSDP2, the model before wrapping, plain and without data. A wrapped model can't be copied."""

    device: torch.device

    def __init__(self) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._counters: dict[str, int] = {}

    def gather(self, value: Any) -> list[Any]:
        """Return every process's value, by rank (pickled)."""
        return [value]

    def gather_rollouts(self, value: Any) -> list[Any]:
        """Like `gather`, with a much longer timeout. It can run in parallel with another thread's `gather`."""
        return [value]

    def add(self, name: str, amount: int) -> int:
        """Add to a counter shared by all processes, which starts at 0, and return its sum."""
        self._counters[name] = self._counters.get(name, 0) + amount
        return self._counters[name]

    def wrap(self, policy: nn.Module, source: WeightSource | None = None) -> nn.Module:
        """Return the module whose forward and backward keep the processes' weights equal (DDP, FSDP2).

        `source` returns weights by their name, on rank 0. It is needed if the policy has no weights yet (FSDP2).
        """
        return policy

    def accumulating(self, policy: nn.Module, *, last: bool) -> AbstractContextManager[Any]:
        """Delay the exchange of gradients until the last backward pass of a step."""
        return nullcontext()

    def clip_gradients(self, policy: nn.Module, limit: float) -> float:
        """Clip the gradient to a total norm and return the norm it had.

        The norm is summed in float64. In float32 its last bit would depend on how the weights are sharded.
        """
        gradients = [_own(parameter.grad) for parameter in policy.parameters() if parameter.grad is not None]
        squares = torch.stack(torch._foreach_norm(gradients, 2, dtype=torch.float64)).square().sum()
        norm = float(self._sum(squares).sqrt())
        if norm > limit:
            torch._foreach_mul_(gradients, limit / (norm + 1e-6))
        return norm

    def _sum(self, squares: Tensor) -> Tensor:
        """Add up the parts of the gradient that only one process has."""
        return squares

    def barrier(self) -> None:
        """Wait for all processes."""
        return

    def close(self) -> None:
        """Leave the process group."""
        return


class Ranks(World):
    """One of torchrun's processes, each with a whole model (DDP)."""

    rank: int
    size: int

    def __init__(self) -> None:
        local = int(os.environ.get("LOCAL_RANK", "0"))
        cuda = torch.cuda.is_available()
        self.device = torch.device("cuda", local) if cuda else torch.device("cpu")
        if cuda:
            torch.cuda.set_device(self.device)
        # Objects are gathered on the CPU, gradients on the model's device.
        torch.distributed.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", timeout=TIMEOUT)
        self.rank, self.size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        self._objects = torch.distributed.new_group(backend="gloo", timeout=TIMEOUT)
        self._rollouts = torch.distributed.new_group(backend="gloo", timeout=COLLECTING)
        self._store: Any = torch.distributed.distributed_c10d._get_default_store()

    def gather(self, value: Any) -> list[Any]:
        """Return every process's value, by rank; the processes trust one another."""
        return self._gather(value, self._objects)

    def gather_rollouts(self, value: Any) -> list[Any]:
        """Like `gather`, with a much longer timeout. It can run in parallel with another thread's `gather`."""
        return self._gather(value, self._rollouts)

    def _gather(self, value: Any, group: Any) -> list[Any]:
        found: list[Any] = [None] * self.size
        torch.distributed.all_gather_object(found, value, group=group)
        return found

    def add(self, name: str, amount: int) -> int:
        """Add to a counter shared by all processes, which starts at 0, and return its sum."""
        return int(self._store.add(f"verikit {name}", amount))

    def wrap(self, policy: nn.Module, source: WeightSource | None = None) -> nn.Module:
        """Copy rank 0's weights to all processes, and average gradients."""
        options: dict[str, Any] = {"device_ids": [self.device.index]} if self.device.type == "cuda" else {}
        # Otherwise the exchange allocates separate buffers for gradients: 4 more bytes per weight.
        return nn.parallel.DistributedDataParallel(policy, gradient_as_bucket_view=True, **options)

    def accumulating(self, policy: Any, *, last: bool) -> AbstractContextManager[Any]:
        """Exchange gradients in the last backward pass only."""
        return nullcontext() if last else policy.no_sync()

    def barrier(self) -> None:
        """Wait for all processes."""
        torch.distributed.barrier(group=self._objects)

    def close(self) -> None:
        """Leave the group."""
        torch.distributed.destroy_process_group()


def own_state(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield a model's parameters (tied ones once) and its persistent buffers."""
    own = {name for name, _ in model.named_parameters()} | {name for name, _ in model.named_buffers()}
    for name, tensor in model.state_dict().items():
        if name in own:
            yield name, tensor.detach()


def _own(gradient: Any) -> Tensor:
    """Return this process's shard of a gradient."""
    own: Tensor = gradient.to_local() if hasattr(gradient, "to_local") else gradient
    return own


def join(options: DistributedSection) -> World:
    """Return this process's world: a single process, unless torchrun started it.

    Raises:
        ConfigError: FSDP2 is requested for a single process, without torchrun, or the processes can't be divided.
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ and "RANK" not in os.environ:
        if options.kind == "fsdp2":
            hint = "torchrun --nproc-per-node 2 -m verikit train …"
            raise ConfigError("distributed.kind = fsdp2 shares the model out to several processes", hint=hint)
        return World()
    if options.kind == "fsdp2":
        from verikit.trainers import shards

        sharing: Any = shards.Shards(options)
        joined: World = sharing
        return joined
    return Ranks()
