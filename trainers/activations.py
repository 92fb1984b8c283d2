"""Bytes that one micro-batch takes while it is learnt from, counted on tensors without numbers.

Models of one layer and of two run forward and backward over rows of the length that is asked about. The difference is a
layer, so nothing of the model's size is made. Attention is a stand-in that keeps what a flash kernel keeps.
"""

from __future__ import annotations

import weakref
from copy import deepcopy
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from verikit.trainers.config import Config
from verikit.trainers.policy import PolicyModel
from verikit.trainers.precision import prepare_model

ATTENTION = "verikit-counted"
"""The stand-in's name among transformers' attention functions."""


class _Held(TorchDispatchMode):
    """The bytes of all storages made under it that are still there, and the most there were."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._seen: weakref.WeakSet[Any] = weakref.WeakSet()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(made):
            if isinstance(leaf, Tensor):
                self._count(leaf.untyped_storage())
        return made

    def _count(self, storage: Any) -> None:
        if storage not in self._seen:
            self._seen.add(storage)
            self.now += storage.nbytes()
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._free, storage.nbytes())

    def _free(self, size: int) -> None:
        self.now -= size


class _Flash(torch.autograd.Function):
    """The memory of attention: queries, keys, values, the output, and a number for each query of a head."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Take (rows, heads, length, size); return (rows, length, heads, size)."""
        rows, heads, length, _ = query.shape
        output = query.new_empty(rows, length, heads, value.shape[-1])
        ctx.save_for_backward(query, key, value, output, query.new_empty(rows, heads, length, dtype=torch.float32))
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        """Return the gradients of all three."""
        return tuple(torch.empty_like(tensor) for tensor in ctx.saved_tensors[:3])


def _attend(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **options: Any) -> tuple[Any, None]:
    parts, kind = [query, key, value], query.device.type
    if torch.is_autocast_enabled(kind):
        parts = [part.to(torch.get_autocast_dtype(kind)) for part in parts]
    return cast(Any, _Flash.apply)(*parts), None


def micro_batch_bytes(model: Any, config: Config, length: int, *, bf16: bool, device: torch.device) -> float:
    """Return the most bytes that learning from a micro-batch takes beside weights, their gradients and states.

    Args:
        model: A transformers model, as it is before it is prepared; it may be on the meta device.
        config: The run's settings.
        length: Tokens of a row, prompt and completion. A row longer than `batch.tokens` is a micro-batch alone.
        bf16: Whether products are of bf16 numbers.
        device: Where the model will be.
    """
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, _attend)
    layers = model.config.get_text_config().num_hidden_layers
    one, two = (_peak(_cut(model, count), config, length, bf16, device) for count in (1, 2))
    return one + (layers - 1) * (two - one)


def _cut(model: Any, layers: int) -> Any:
    """A model of the same shape with a few layers, on the meta device; the last ones, where layers differ."""
    short = deepcopy(model.config)
    text = short.get_text_config()
    if getattr(text, "layer_types", None):
        text.layer_types = text.layer_types[-layers:]
    text.num_hidden_layers = layers
    short._attn_implementation = ATTENTION
    with torch.device("meta"):
        return type(model)._from_config(short, dtype=model.dtype)


def _peak(model: Any, config: Config, length: int, bf16: bool, device: torch.device) -> float:
    """The most bytes that the second of two micro-batches adds: the first one leaves gradients behind."""
    eager = config.precision.model_copy(update={"compile": False})
    policy = PolicyModel(prepare_model(model, config.model_copy(update={"precision": eager}), device), bf16)
    policy.chunked = True
    gathered = bf16 and config.distributed.kind == "fsdp2"
    rows = max(1, config.batch.tokens // length)
    with FakeTensorMode(), _Held() as held:
        _put(policy, device, torch.bfloat16 if gathered else None)
        ids = torch.empty(rows, length, dtype=torch.int64, device=device)
        where = torch.empty(rows * (length - 1), dtype=torch.int64, device=device)
        before = 0
        for _ in range(2):
            before = held.peak = held.now
            logp, _ = policy(ids, where, where)
            logp.sum().backward()
            del logp
    return float(held.peak - before)


def _put(policy: nn.Module, device: torch.device, dtype: torch.dtype | None) -> None:
    """Give parameters and buffers of the meta device a place without numbers; tied ones stay one."""
    made: dict[int, Any] = {}
    for module in policy.modules():
        for store in (module._parameters, module._buffers):
            for name, old in store.items():
                if old is not None and id(old) not in made:
                    learnt = isinstance(old, nn.Parameter)
                    new = torch.empty(old.shape, dtype=dtype if dtype and learnt else old.dtype, device=device)
                    made[id(old)] = nn.Parameter(new, old.requires_grad) if learnt else new
                if old is not None:
                    store[name] = made[id(old)]
