"""Log-probabilities of given tokens: one forward pass over prompts sorted by length, padded on the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from verikit.engines.hf.sampler import FLOOR

MAX_LOGITS = 2**26
"""Most logits held at once (256 MB in fp32)."""
Scored = tuple[list[float], list[list[tuple[int, float]]]]


@torch.no_grad()
def score_tokens(model: Any, prompts: Sequence[Sequence[int]], top_k: int = 0) -> list[Scored]:
    """Return for each prompt the log-probability of every token but the first, and the `top_k` likeliest there."""
    device = model.get_input_embeddings().weight.device
    results: dict[int, Scored] = {}
    batch: list[int] = []
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    for position, i in enumerate(order):
        batch.append(i)
        following = len(prompts[order[position + 1]]) if position + 1 < len(order) else 0
        if not following or (len(batch) + 1) * following * model.config.get_text_config().vocab_size > MAX_LOGITS:
            longest = len(prompts[i])
            ids = torch.tensor([[*prompts[j], *[0] * (longest - len(prompts[j]))] for j in batch], device=device)
            # No mask: with the padding on the right, no real token sees it.
            logprobs = model(ids, use_cache=False).logits.float().log_softmax(-1).clamp(min=FLOOR)
            for row, j in enumerate(batch):
                results[j] = _read(logprobs[row, : len(prompts[j]) - 1], ids[row, 1 : len(prompts[j])], top_k)
            batch = []
    return [results[i] for i in range(len(prompts))]


def _read(logprobs: torch.Tensor, ids: torch.Tensor, top_k: int) -> Scored:
    chosen = logprobs.gather(1, ids[:, None]).squeeze(1).tolist()
    if not top_k:
        return chosen, []
    tops = logprobs.topk(min(top_k, logprobs.shape[-1]))
    pairs = zip(tops.indices.tolist(), tops.values.tolist(), strict=True)
    return chosen, [list(zip(best, values, strict=True)) for best, values in pairs]
