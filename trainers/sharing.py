"""Compute shared prompts once: layers see each distinct prefix of the rows once, and only attention sees the rows.

A token's state depends only on the tokens before it. Rows with the same start therefore have the same states there, and
their gradients add up. The distinct tokens form one sequence. They are laid out as rows again only inside attention, so
the family's own kernel, including windows, sees the same input as without sharing. This is exact (up to the order of
sums) for any model whose layers mix tokens only by causal attention. `can_share` checks this.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

ATTENTIONS = ("sdpa", "flash_attention_2", "flash_attention_3", "flash_attention_4")
"""transformers' attentions that need no mask if rows have no padding on the left. `eager` needs one."""


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """The positions of the rows' tokens in a sequence that includes each prefix only once."""

    ids: list[int]
    """The distinct tokens, (tokens,)."""
    positions: list[int]
    """The position of each distinct token in its rows, (tokens,)."""
    rows: list[list[int]]
    """For each row, the indices of its tokens among the distinct ones."""

    def gathered(self) -> list[list[int]]:
        """Return `rows` padded on the right to one length. The padding is token 0, which no real token sees."""
        longest = max(map(len, self.rows))
        return [[*row, *[0] * (longest - len(row))] for row in self.rows]

    def scattered(self) -> list[int]:
        """Return each distinct token's index in `gathered`, flattened."""
        longest = max(map(len, self.rows))
        found = [0] * len(self.ids)
        for number, row in enumerate(self.rows):
            for index, token in enumerate(row):
                found[token] = number * longest + index
        return found


def shared_layout(rows: Sequence[Sequence[int]]) -> SharedLayout:
    """Return the layout of rows of ids, each prefix once. In sorted order a row shares most with its predecessor."""
    ids: list[int] = []
    positions: list[int] = []
    placed: list[list[int]] = [[] for _ in rows]
    last_ids: list[int] = []
    last: list[int] = []
    for number, row in sorted(enumerate(map(list, rows)), key=lambda pair: pair[1]):
        common = _common(row, last_ids)
        placed[number] = [*last[:common], *range(len(ids), len(ids) + len(row) - common)]
        ids += row[common:]
        positions += range(common, len(row))
        last_ids, last = row, placed[number]
    return SharedLayout(ids, positions, placed)


def _common(left: list[int], right: list[int]) -> int:
    """Return the number of equal leading ids of two lists."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[low:middle] == right[low:middle] else (low, middle - 1)
    return low


def gather_rows(values: Tensor, index: Tensor) -> Any:
    """Return rows of a matrix by index. Gradients of the same row are added up in fp32 or higher precision."""
    apply: Any = _Gather.apply
    return apply(values, index)


class _Gather(torch.autograd.Function):
    """See `gather_rows`."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Tensor) -> Tensor:
        """Gather the rows."""
        ctx.save_for_backward(index)
        ctx.count = len(values)
        return values.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Add up the gradients of each row."""
        (index,), gradient = ctx.saved_tensors, gradients[0]
        exact = torch.promote_types(gradient.dtype, torch.float32)
        total = torch.zeros(ctx.count, *gradient.shape[1:], dtype=exact, device=gradient.device)
        return total.index_add_(0, index, gradient.to(exact)).to(gradient.dtype), None


def _in_rows(
    attend: Callable[..., Any],
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Any,
    *,
    shared_rows: Tensor | None = None,
    shared_back: Tensor | None = None,
    **options: Any,
) -> Any:
    """Attend within rows. Without shared tokens, call `attend` unchanged.

    Args:
        attend: One of transformers' attention functions.
        module: The attention layer.
        query: (1, heads, tokens, size), as key and value are.
        key: See query.
        value: See query.
        attention_mask: Not used with shared tokens.
        shared_rows: (rows, length), the index of each row's tokens.
        shared_back: (tokens,), the index of each token in the flattened rows.
        options: Options that the family passes to its attention.
    """
    if shared_rows is None or shared_back is None:
        return attend(module, query, key, value, attention_mask, **options)
    index, shape = shared_rows.flatten(), shared_rows.shape
    laid = [gather_rows(part[0].transpose(0, 1), index).unflatten(0, shape).transpose(1, 2)
            for part in (query, key, value)]  # fmt: skip
    window, length = options.get("sliding_window"), shape[1]
    mask = None
    if window is not None and window < length and module.config._attn_implementation == "sdpa":
        mask = torch.ones(length, length, dtype=torch.bool, device=query.device).tril().triu(1 - window)[None, None]
    output, weights = attend(module, *laid, mask, **options | {"position_ids": None})
    return output.flatten(0, 1).index_select(0, shared_back)[None], weights


def _install(name: str) -> None:
    """Add support for shared tokens to one of transformers' attention functions, without changing other calls."""
    from transformers import AttentionInterface

    attend = AttentionInterface()[name]
    if getattr(attend, "func", None) is not _in_rows:
        AttentionInterface.register(name, functools.partial(_in_rows, attend))


def shared_options(rows: Tensor, back: Tensor) -> dict[str, Any]:
    """Return the arguments of a transformers model in addition to ids and positions; see `SharedLayout`.

    transformers passes a four-dimensional mask on unchanged and builds no other mask. The attention builds its own.
    """
    nothing = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=rows.device)
    return {"attention_mask": nothing, "shared_rows": rows, "shared_back": back}


def _passes_options_on(model: Any, config: Any) -> bool:
    """Whether a model calls an attention function of transformers with options, and on the whole sequence."""
    if config._attn_implementation not in ATTENTIONS or not getattr(model, "_supports_attention_backend", False):
        return False
    return not config.is_encoder_decoder and not getattr(config, "attention_chunk_size", None)


@torch.no_grad()
def can_share(model: Any, body: Any) -> bool:
    """Whether a model computes the same states for shared tokens as for separate rows.

    It must pass options on to transformers' attention functions. It must call one in every layer, causal and with the
    window in its config. It must also return the same states for two short rows.

    Args:
        model: The transformers model.
        body: Its part from ids to hidden states.
    """
    config = model.config.get_text_config()
    name = config._attn_implementation
    if not _passes_options_on(model, config):
        return False
    _install(name)
    ids = [[0, 1, 2, 3], [0, 1, 3, 2]]
    layout, device = shared_layout(ids), next(model.parameters()).device
    rows, back, flat, positions = (
        torch.tensor(values, device=device)
        for values in (layout.rows, layout.scattered(), [layout.ids], [layout.positions])
    )
    try:
        with _watched(name) as seen:
            shared = body(input_ids=flat, position_ids=positions, use_cache=False, **shared_options(rows, back))[0]
        plain = body(input_ids=torch.tensor(ids, device=device), use_cache=False)[0]
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
        return False  # each family reports in its own way that it does not support this
    if len(seen) != config.num_hidden_layers or not all(causal for causal, _ in seen):
        return False
    if getattr(config, "sliding_window", None) not in {None, *(window for _, window in seen)}:
        return False
    close = 1e-4 if torch.finfo(plain.dtype).bits > 16 else 0.05
    return torch.allclose(shared[0][rows], plain, rtol=close, atol=close * float(plain.abs().max()))


@contextmanager
def _watched(name: str) -> Iterator[list[tuple[bool, int | None]]]:
    """Record for each call of an attention function whether it is causal, and its window."""
    from transformers import AttentionInterface

    attend, seen = AttentionInterface()[name], []

    def watch(module: Any, *tensors: Any, **options: Any) -> Any:
        causal = options.get("is_causal")
        seen.append((getattr(module, "is_causal", False) if causal is None else causal, options.get("sliding_window")))
        return attend(module, *tensors, **options)

    AttentionInterface.register(name, watch)
    try:
        yield seen
    finally:
        AttentionInterface.register(name, attend)
