"""Count the bytes that training on one micro-batch takes, using tensors without data.

One-layer and two-layer models run forward and backward over rows of the given length. The difference is the cost of one
layer, so the full-size model is never built. Attention is replaced by a function that only saves the tensors that a
flash kernel would save.
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
"""Name of the replacement among transformers' attention functions."""


class _Held(TorchDispatchMode):
    """Track the current and peak bytes of all storages created in this mode."""

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
    """The memory of attention: queries, keys, values, the output, and one number per query and head."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Take (rows, heads, length, size); return (rows, length, heads, size)."""
        rows, heads, length, _ = query.shape
        output = query.new_empty(rows, length, heads, value.shape[-1])
        ctx.save_for_backward(query, key, value, output, query.new_empty(rows, heads, length, dtype=torch.float32))
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        """Return the gradients of queries, keys and values."""
        return tuple(torch.empty_like(tensor) for tensor in ctx.saved_tensors[:3])


def _attend(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **options: Any) -> tuple[Any, None]:
    parts, kind = [query, key, value], query.device.type
    if torch.is_autocast_enabled(kind):
        parts = [part.to(torch.get_autocast_dtype(kind)) for part in parts]
    return cast(Any, _Flash.apply)(*parts), None


def micro_batch_bytes(model: Any, config: Config, length: int, *, bf16: bool, device: torch.device) -> float:
    """Return the peak bytes of training on a micro-batch, in addition to weights, their gradients and optimizer states.

    Args:
        model: A transformers model, before `prepare_model`. It may be on the meta device.
        config: The run's settings.
        length: Tokens per row, prompt and completion. A row longer than `batch.tokens` is its own micro-batch.
        bf16: Whether products are computed in bf16.
        device: The device that the model will be on.
    """
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, _attend)
    layers = model.config.get_text_config().num_hidden_layers
    one, two = (_peak(_cut(model, count), config, length, bf16, device) for count in (1, 2))
    return one + (layers - 1) * (two - one)


def _cut(model: Any, layers: int) -> Any:
    """Return a model of the same shape with few layers, on the meta device. If layers differ, it has the last ones."""
    short = deepcopy(model.config)
    text = short.get_text_config()
    if getattr(text, "layer_types", None):
        text.layer_types = text.layer_types[-layers:]
    text.num_hidden_layers = layers
    short._attn_implementation = ATTENTION
    with torch.device("meta"):
        return type(model)._from_config(short, dtype=model.dtype)


def _peak(model: Any, config: Config, length: int, bf16: bool, device: torch.device) -> float:
    """Return the peak bytes that the second of two micro-batches adds. The first one allocates the gradients."""
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
    """Replace parameters and buffers on the meta device by empty tensors. Tied ones stay tied."""
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
