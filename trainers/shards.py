"""FSDP2: each process stores a shard of every weight, and gathers the other shards one block at a time.

A process stores its shard of the fp32 weights, of the gradients and of the optimizer's state. While a block runs, it
also has that whole block, in bf16 if the policy computes in bf16. Gradients are sharded after each micro-batch, so they
are never whole between two. With fewer shards than processes (HSDP) each group of processes has a model. Weights are
gathered within a group, over the fast links of a machine. Gradients are summed over the groups once per step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method

from verikit.errors import ConfigError, TrainerError
from verikit.trainers.distributed import Ranks, WeightSource, own_state
from verikit.trainers.merge import frame_of, replace_meta
from verikit.trainers.sections import DistributedSection


class Shards(Ranks):
    """One of torchrun's processes, each with a shard of every weight (FSDP2)."""

    sharded = True

    def __init__(self, options: DistributedSection) -> None:
        """Join the other processes.

        Raises:
            ConfigError: The processes can't be divided into groups of `distributed.shards`.
        """
        super().__init__()
        self._mesh = _mesh(self.device.type, self.size, options.shards)
        self._whole_gradients = options.whole_gradients

    def wrap(self, policy: Any, source: WeightSource | None = None) -> Any:
        """Shard the weights block by block. Weights on the meta device come from rank 0's `source`."""
        self.frame = frame_of(policy.model, torch.bfloat16 if policy.bf16 else None)
        bare = any(parameter.is_meta for parameter in policy.parameters())
        names = {id(parameter): name for name, parameter in policy.model.named_parameters()}
        # Weights are gathered in the format of the products, and gradients are summed in fp32. Inputs keep
        # their format, because a temperature must not be in bf16.
        precision = MixedPrecisionPolicy(torch.bfloat16, torch.float32, cast_forward_inputs=False)
        for module in [*blocks_of(policy), policy]:
            self._fill(module, names, source)
            # Also for the outermost module: a forward pass without a backward pass leaves no gathered weights.
            options: dict[str, Any] = {"mp_policy": precision} if policy.bf16 else {}
            fully_shard(module, mesh=self._mesh, reshard_after_forward=True, **options)
        self._fill_buffers(policy.model, source, bare)
        if policy.chunked is None:
            register_fsdp_forward_method(policy, "find_head")
            policy.find_head()
        return policy

    def _fill(self, module: nn.Module, names: dict[int, str], source: WeightSource | None) -> None:
        """Replace a module's weights on the meta device by rank 0's."""

        def sent(parameter: nn.Parameter) -> nn.Parameter:
            value = self._sent(names[id(parameter)], parameter, source)
            return nn.Parameter(value, requires_grad=parameter.requires_grad)

        replace_meta(module, sent)

    def _fill_buffers(self, model: nn.Module, source: WeightSource | None, bare: bool) -> None:
        """Move buffers to the device, and fill persistent ones if the weights came from rank 0."""
        parameters = {name for name, _ in model.named_parameters()}
        saved = {name for name, _ in own_state(model)} - parameters
        for prefix, holder in model.named_modules():
            for key, buffer in list(holder._buffers.items()):
                name = f"{prefix}.{key}".lstrip(".")
                if buffer is not None and buffer.device.type != self.device.type:
                    holder._buffers[key] = buffer.to(self.device)
                if buffer is not None and bare and name in saved:
                    holder._buffers[key] = self._sent(name, buffer, source)

    def _sent(self, name: str, like: Tensor, source: WeightSource | None) -> Tensor:
        """Return a weight that rank 0 reads and sends to all processes.

        Raises:
            TrainerError: Its shape differs from the model's. Continuing would block the other processes.
        """
        if self.rank == 0:
            assert source is not None
            read = source(name)
            if read.shape != like.shape:
                raise TrainerError(f"{name} is stored as {tuple(read.shape)}, the model's is {tuple(like.shape)}")
            whole = read.detach().to(self.device, like.dtype, copy=True).contiguous()
        else:
            whole = torch.empty(like.shape, dtype=like.dtype, device=self.device)
        torch.distributed.broadcast(whole, 0)
        return whole

    @contextmanager
    def accumulating(self, policy: Any, *, last: bool) -> Iterator[None]:
        """Shard gradients after each backward pass, and sum them over the groups of processes in the last one.

        With `distributed.whole_gradients`, exchange them only in the last one, and keep them whole until then.
        """
        if self._whole_gradients:
            policy.set_requires_gradient_sync(last)
        else:
            policy.set_requires_all_reduce(last)
        yield

    def _sum(self, squares: Tensor) -> Tensor:
        torch.distributed.all_reduce(squares, group=self._mesh.get_group("shards"))
        return squares


class HeldWeights:
    """This process's shard of a policy's current weights, stored to replace the policy's weights temporarily."""

    def __init__(self, policy: nn.Module) -> None:
        """Copy this process's shards."""
        self._parameters = list(policy.parameters())
        self._held = [_local(parameter).clone() for parameter in self._parameters]

    @contextmanager
    def put_in(self) -> Iterator[None]:
        """Swap the current weights for the stored ones, one after another, and back at the end."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        for parameter, held in zip(self._parameters, self._held, strict=True):
            present = _local(parameter)
            kept = present.clone()
            present.copy_(held)
            held.copy_(kept)


def blocks_of(module: nn.Module) -> list[nn.Module]:
    """Return the modules to gather one at a time: members of the outermost module lists, a decoder's layers."""
    found: list[nn.Module] = []
    for child in module.children():
        found += list(child) if isinstance(child, nn.ModuleList) else blocks_of(child)
    return [block for block in found if next(block.parameters(), None) is not None]


def _mesh(device: str, processes: int, shards: int) -> DeviceMesh:
    shards = shards or processes
    if processes % shards:
        raise ConfigError(
            f"{processes} processes can't be divided into groups of distributed.shards = {shards}",
            hint="use the number of processes per machine, such as 8. 0 means all",
        )
    if shards == processes:
        return init_device_mesh(device, (processes,), mesh_dim_names=("shards",))
    return init_device_mesh(device, (processes // shards, shards), mesh_dim_names=("replicas", "shards"))


@torch.no_grad()
def _local(tensor: Any) -> Tensor:
    local: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return local.detach()
