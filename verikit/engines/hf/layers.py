"""One decoder layer of a family: the model's own modules, called in order, and attention over given keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from verikit.engines.hf.families import ModelFamily

MAX_SCORES = 2**26
"""Maximum number of attention scores in memory if they are computed explicitly."""
Rotations = Mapping[str, tuple[Tensor, Tensor]]
"""Cosines and sines by kind of rotary embedding."""
Change = Callable[[Tensor], Tensor]


class Layer:
    """A layer of a loaded model. Its modules are looked up once, its weights read at each call."""

    def __init__(
        self, module: Any, family: ModelFamily, config: Any, *, width: int, rope: str | None, window: int | None
    ) -> None:
        """Look up the modules.

        Args:
            module: The layer.
            family: Its structure.
            config: The model's config.
            width: Size of a head.
            rope: Its kind of rotary embedding. None: it isn't rotated.
            window: How many tokens it attends to, including the current one. None: all.
        """
        attention = module.self_attn
        self.window = window
        self.scale: float = attention.scaling
        self._cap: float | None = config.attn_logit_softcapping if family.score_cap else None
        self._rope, self._width = rope, width
        kv = config.num_key_value_heads * width
        self._sizes = (config.num_attention_heads * width, kv, kv)
        self._fused: Change | None = attention.qkv_proj if "qkv_proj" in family.attention else None
        if self._fused is None:
            self._separate: tuple[Change, ...] = (attention.q_proj, attention.k_proj, attention.v_proj)
        self._output: Change = attention.o_proj
        self._mlp: Change = _experts(module.mlp) if hasattr(module.mlp, "experts") else module.mlp
        self._before_attention, self._after_attention, self._before_mlp, self._after_mlp = (
            norm(getattr(module, name), family.centred) if name else None
            for name in (family.before_attention, family.after_attention, family.before_mlp, family.after_mlp)
        )
        self._norm_heads = family.norm_heads
        if family.norm_heads:
            self._query_norm, self._key_norm = (
                norm(part, family.centred) for part in (attention.q_norm, attention.k_norm)
            )

    def project(self, hidden: Tensor, rotations: Rotations) -> tuple[Tensor, Tensor, Tensor]:
        """Return query (…, heads, width), key and value (…, kv heads, width), rotated to their positions."""
        hidden = _through(self._before_attention, hidden)
        if self._fused is not None:
            query, key, value = self._fused(hidden).split(self._sizes, -1)
        else:
            query, key, value = (project(hidden) for project in self._separate)
        if self._norm_heads == "all":
            query, key = self._query_norm(query), self._key_norm(key)
        query, key, value = (tensor.unflatten(-1, (-1, self._width)) for tensor in (query, key, value))
        if self._norm_heads == "each":
            query, key = self._query_norm(query), self._key_norm(key)
        if self._rope is not None:
            both = _rotate(torch.cat((query, key), -2), *rotations[self._rope])
            query, key = both.split((query.shape[-2], key.shape[-2]), -2)
        return query, key, value

    def finish(self, hidden: Tensor, mixed: Tensor) -> Tensor:
        """Add the output of attention (…, heads x width), then that of the feed-forward part."""
        hidden = hidden + _through(self._after_attention, self._output(mixed))
        return hidden + _through(self._after_mlp, self._mlp(_through(self._before_mlp, hidden)))

    def attend(self, query: Tensor, keys: Tensor, values: Tensor, seen: Tensor | None, causal: bool = False) -> Tensor:
        """Attend to the values. All are (batch, heads, tokens, width).

        `seen` is boolean, `causal` is for equal lengths.
        """
        if self._cap is None:
            return functional.scaled_dot_product_attention(
                query, keys, values, seen, is_causal=causal and seen is None, scale=self.scale
            )
        if causal and seen is None:
            seen = torch.ones(query.shape[2], keys.shape[2], dtype=torch.bool, device=query.device).tril()
        at_once = max(1, MAX_SCORES // (query.shape[0] * query.shape[1] * keys.shape[2]))
        mixed = []
        for start in range(0, query.shape[2], at_once):
            part = query[:, :, start : start + at_once]
            scores = self.capped(part * self.scale @ keys.mT)
            if seen is not None:
                among = seen if seen.shape[-2] == 1 else seen[..., start : start + at_once, :]
                scores = scores.masked_fill(~among, float("-inf"))
            mixed.append(scores.float().softmax(-1).to(values.dtype) @ values)
        return mixed[0] if len(mixed) == 1 else torch.cat(mixed, 2)

    def capped(self, scores: Tensor) -> Tensor:
        """Return attention scores, capped if the layer caps them."""
        return scores if self._cap is None else soft_cap(scores, self._cap)


def norm(module: Any, centred: bool) -> Change:
    """Return an RMS norm as one torch operation, if it rounds like the module."""
    if centred:
        scale, epsilon = 1.0 + module.weight.float(), module.eps

        def centred_norm(hidden: Tensor) -> Tensor:
            return functional.rms_norm(hidden.float(), hidden.shape[-1:], scale, epsilon).type_as(hidden)

        return centred_norm

    def plain_norm(hidden: Tensor) -> Tensor:
        if hidden.dtype != torch.float32:
            normed: Tensor = module(hidden)
            return normed
        return functional.rms_norm(hidden, hidden.shape[-1:], module.weight, module.variance_epsilon)

    return plain_norm


def soft_cap(x: Tensor, cap: float) -> Tensor:
    """Limit numbers smoothly to (-cap, cap)."""
    return torch.tanh(x / cap) * cap


def softmax_values(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Return attention over some columns, and the log-sum-exp of their scores (…, 1) to join it with others."""
    scores = scores.float()
    return scores.softmax(-1).to(values.dtype) @ values, scores.logsumexp(-1, keepdim=True)


def _through(change: Change | None, x: Tensor) -> Tensor:
    return x if change is None else change(x)


def _experts(block: Any) -> Change:
    """Wrap a block of routed experts, which requires (batch, tokens, width)."""
    return lambda hidden: block(hidden) if hidden.dim() == 3 else block(hidden[None])[0]


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the first numbers of each head, as many as there are cosines."""
    size = cos.shape[-1]
    turned = x if size == x.shape[-1] else x[..., :size]
    first, second = turned.chunk(2, -1)
    turned = (turned * cos + torch.cat((-second, first), -1) * sin).to(x.dtype)
    return turned if size == x.shape[-1] else torch.cat((turned, x[..., size:]), -1)
