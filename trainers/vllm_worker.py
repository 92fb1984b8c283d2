"""New weights for a vLLM in a separate process, one bucket at a time through shared memory.

Only names, shapes and slots go over vLLM's own channel. It would pack a tensor, which vLLM can't read as a weight. The
memory is a file in /dev/shm on a CPU, and a CUDA allocation opened by its IPC handle on a GPU, as in verl
(bucketed_weight_transfer.py). `WeightReceiver` extends vLLM's worker (`worker_extension_cls`).
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from verikit.errors import TrainerError

if TYPE_CHECKING:  # vLLM's worker imports this module, and nothing of the trainer
    from verikit.trainers.merge import PlainWeight

BUCKET = 2**28
"""Bytes per transfer. A larger weight gets its own bucket."""
ALIGNMENT = 64
Slot = tuple[str, str, list[int], int]
"""A weight's name, number format and shape, and its offset in the bucket."""


class WeightReceiver:
    """Methods that extend vLLM's worker: begin, then one call per bucket, then end."""

    verikit_buffer: Tensor | None = None
    verikit_loaded: set[str]
    verikit_wanted: set[str]

    def verikit_begin(self, handle: bytes, size: int) -> None:
        """Open the shared memory and prepare the model's layers to be loaded again."""
        from vllm.config import set_current_vllm_config
        from vllm.model_executor.model_loader.reload import initialize_layerwise_reload

        worker: Any = self
        self.verikit_buffer = open_buffer(handle, size)
        self.verikit_loaded, model = set(), worker.get_model()
        self.verikit_wanted = {name for name, _ in model.named_parameters()}
        with set_current_vllm_config(worker.vllm_config):
            initialize_layerwise_reload(model)

    def verikit_load(self, slots: list[Slot]) -> None:
        """Load copies of the bucket's weights, since a layer stores its weights until it has them all."""
        from vllm.config import set_current_vllm_config

        worker: Any = self
        assert self.verikit_buffer is not None
        weights = [(name, tensor.to(worker.device, copy=True)) for name, tensor in unpacked(self.verikit_buffer, slots)]
        if worker.device.type == "cuda":
            torch.cuda.synchronize(worker.device)
        with set_current_vllm_config(worker.vllm_config):
            self.verikit_loaded |= worker.get_model().load_weights(weights) or self.verikit_wanted

    def verikit_end(self) -> list[str]:
        """Release the memory and convert the layers to their computing format; return the names of missing weights."""
        from vllm.config import set_current_vllm_config
        from vllm.model_executor.model_loader.reload import finalize_layerwise_reload

        worker: Any = self
        self.verikit_buffer = None
        with set_current_vllm_config(worker.vllm_config):
            finalize_layerwise_reload(worker.get_model(), worker.model_config)
            if worker.device.type == "cpu":
                _pack_heads(worker.get_model())
        if worker.device.type == "cuda":
            cuda: Any = torch.cuda
            cuda.ipc_collect()
        quantized = worker.model_config.quantization is not None  # its scales are computed here, not sent
        return [] if quantized else sorted(self.verikit_wanted - self.verikit_loaded)


def _pack_heads(model: Any) -> None:
    """Pack heads again. A CPU computes from a packed copy, and a tied head keeps the old one after a new embedding."""
    from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead

    for module in model.modules():
        if isinstance(module, ParallelLMHead):
            module.quant_method.process_weights_after_loading(module)


class WeightSender:
    """The trainer's side."""

    def __init__(self, call: Callable[..., Iterable[Any]], device: torch.device) -> None:
        """Take the function that calls a method of every worker (`LLM.collective_rpc`)."""
        self._call, self._device = call, device

    @torch.no_grad()
    def send(self, weights: Sequence[PlainWeight]) -> None:
        """Replace the workers' weights. Each is unsharded, in the sampler's format, only when its turn comes.

        Raises:
            TrainerError: The workers have a weight that is not among these.
        """
        size = buffer_size(weights)
        with tempfile.TemporaryDirectory(dir=shared_folder()) as folder:
            buffer, handle = make_buffer(self._device, size, Path(folder) / "weights")
            self._call("verikit_begin", args=(handle, size))
            for slots in packed(buffer, weights):
                if self._device.type == "cuda":
                    torch.cuda.synchronize(self._device)
                self._call("verikit_load", args=(slots,))
            lacking = next(iter(self._call("verikit_end")))
        if lacking:
            raise TrainerError(f"vLLM's model has weights that the policy has not: {', '.join(lacking[:5])}")


def buffer_size(weights: Iterable[PlainWeight]) -> int:
    """Return the bytes of a bucket: all weights if they are small, and at least the largest one."""
    sizes = [_aligned(weight.size) for weight in weights]
    return max(max(sizes), min(sum(sizes), BUCKET))


def packed(buffer: Tensor, weights: Iterable[PlainWeight]) -> Iterator[list[Slot]]:
    """Fill the buffer repeatedly; yield its slots each time."""
    slots: list[Slot] = []
    begin = 0
    for weight in weights:
        tensor, form, size = weight.whole(), weight.dtype, weight.size
        if begin + size > len(buffer):
            yield slots
            slots, begin = [], 0
        buffer[begin : begin + size].view(form).view(tensor.shape).copy_(tensor)
        slots.append((weight.name, str(form).removeprefix("torch."), list(tensor.shape), begin))
        begin += _aligned(size)
    if slots:
        yield slots


def unpacked(buffer: Tensor, slots: Iterable[Slot]) -> Iterator[tuple[str, Tensor]]:
    """Yield the weights in a buffer, as views of it."""
    for name, form, shape, begin in slots:
        dtype = getattr(torch, form)
        size = torch.Size(shape).numel() * dtype.itemsize
        yield name, buffer[begin : begin + size].view(dtype).view(shape)


def make_buffer(device: torch.device, size: int, path: Path) -> tuple[Tensor, bytes]:
    """Return shared memory of `size` bytes, and the handle that `open_buffer` needs in the other process."""
    if device.type == "cuda":
        from torch.multiprocessing import reductions

        shared: Any = reductions
        buffer = torch.empty(size, dtype=torch.uint8, device=device)
        return buffer, pickle.dumps(shared.reduce_tensor(buffer))
    return torch.from_file(str(path), shared=True, size=size, dtype=torch.uint8), os.fsencode(path)


def open_buffer(handle: bytes, size: int) -> Tensor:
    """Open another process's shared memory: a file by its path, a CUDA allocation by its IPC handle."""
    if handle.startswith(b"/"):
        return torch.from_file(os.fsdecode(handle), shared=True, size=size, dtype=torch.uint8)
    rebuild, arguments = pickle.loads(handle)  # noqa: S301 - from the trainer that started this process
    buffer: Tensor = rebuild(*arguments)
    return buffer


def shared_folder() -> str | None:
    """Return the folder in memory, if there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
