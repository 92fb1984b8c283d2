"""Log-probabilities of given tokens: one forward pass over prompts sorted by length, padded on the right.

The body runs over whole sequences, the head over some positions at a time, so long texts with large vocabularies never
have all their logits in memory. If a model's logits are more than head(body(ids)), they are all in memory in the
model's own number format, and some positions at a time in fp32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from verikit.engines.hf.device import logits_at_once, to_device
from verikit.engines.hf.head import is_head_of_body
from verikit.engines.hf.sampler import FLOOR

TOKENS_AT_ONCE = 2**15
"""Maximum number of tokens per forward pass, including padding (or one sequence)."""
Scored = tuple[list[float], list[list[tuple[int, float]]]]
_plain: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()


@torch.no_grad()
def score_tokens(model: Any, prompts: Sequence[Sequence[int]], top_k: int = 0) -> list[Scored]:
    """Return for each prompt the log-probability of every token except the first, and the `top_k` most likely there."""
    device = model.get_input_embeddings().weight.device
    plain = bool(prompts) and _is_plain(model)
    width = 1 if plain else model.config.get_text_config().vocab_size
    most = TOKENS_AT_ONCE if plain else max(TOKENS_AT_ONCE, 8 * logits_at_once(device))
    results: dict[int, Scored] = {}
    for batch in _batches(list(map(len, prompts)), most // width):
        longest = len(prompts[batch[-1]])
        ids = to_device(torch.tensor([[*prompts[j], *[0] * (longest - len(prompts[j]))] for j in batch]), device)
        # No mask: with the padding on the right, no real token sees it.
        states = model.get_decoder()(ids, use_cache=False)[0] if plain else model(ids, use_cache=False).logits
        for row, j in enumerate(batch):
            length = len(prompts[j]) - 1
            results[j] = _read(model if plain else None, states[row, :length], ids[row, 1 : length + 1], top_k)
    return [results[i] for i in range(len(prompts))]


def _batches(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """The prompts' numbers from the shortest to the longest, in batches of at most this many tokens with padding."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[i] > most:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _read(model: Any, states: Tensor, ids: Tensor, top_k: int) -> Scored:
    """Read one sequence, some positions at a time. `states` are logits if there is no model."""
    vocabulary = states.shape[-1] if model is None else model.get_output_embeddings().weight.shape[0]
    size = max(1, logits_at_once(states.device) // vocabulary)
    chosen, tops, values = [], [], []
    for start in range(0, len(ids), size):
        part = states[start : start + size]
        logits = (part if model is None else model.get_output_embeddings()(part)).float()
        norm = logits.logsumexp(-1, keepdim=True)
        chosen.append((logits.gather(1, ids[start : start + size, None]) - norm).squeeze(1).clamp(min=FLOOR))
        if top_k:
            best = logits.topk(min(top_k, vocabulary))
            tops.append(best.indices)
            values.append((best.values - norm).clamp(min=FLOOR))
    given = torch.cat(chosen).tolist() if chosen else []
    if not tops:
        return given, []
    pairs = zip(torch.cat(tops).tolist(), torch.cat(values).tolist(), strict=True)
    return given, [list(zip(best, likely, strict=True)) for best, likely in pairs]


def _is_plain(model: Any) -> bool:
    """Whether the logits are exactly head(body(ids)). The result is cached."""
    if model not in _plain:
        _plain[model] = is_head_of_body(model)
    return _plain[model]
