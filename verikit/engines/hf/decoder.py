"""Our own KV-cache decoder for Llama- and Qwen-shaped models.

Three things make it faster than a general `generate`. A prompt is run once for all its completions, and its keys and
values are held once: every row of a group attends to them together, in one matrix product. The keys and values of the
sampled tokens lie in a buffer that is written in place. Finished rows leave the batch.

A row's attention has two parts, over the group's prompt and over its own tokens; the parts are joined by their
log-sum-exp, which is exact. Short prompts are copied to their rows instead, where one attention costs less. The model's
own modules do the rest, so its weights are used as they are now (in training: after the last step) and adapters inside
the linear layers count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from verikit.engines.hf.device import to_device
from verikit.engines.hf.prefixes import Prefixes
from verikit.engines.hf.sampler import SampledRow, SamplingGroup, TokenSampler

SHAPES = frozenset({"llama", "mistral", "qwen2", "qwen3"})
"""Values of `config.model_type` whose layers are the ones written out here."""
ROPES = frozenset({"default", "linear", "llama3", "yarn"})
"""Kinds of rotary embedding that don't depend on the length of the text."""
PREFILL_TOKENS = 16_384
"""Prompt tokens run at once; bounds the memory of activations."""
COMPACT_BELOW = 0.75
"""Finished rows leave the batch when the live ones are at most this share; leaving costs a copy."""
COPIED_BELOW = 2**19
"""Numbers a layer that copies of the prompts' keys may take; beyond, a group's rows share them."""
FIRST_STEPS = 32
"""Room of the buffer for sampled tokens at first; it doubles when full."""


class Decoder:
    """Samples from a loaded causal language model."""

    def __init__(self, model: Any, eos_ids: Collection[int], prefixes: Prefixes | None = None) -> None:
        """Wrap a model.

        Args:
            model: A transformers causal model, `supports(model)` true.
            eos_ids: Tokens that end a completion.
            prefixes: What the same weights made of earlier texts. Rows with a stop test, which is how one asks for a
                turn that will go on, are added to it.

        Raises:
            ValueError: the model has another shape.
        """
        if not supports(model):
            raise ValueError(f"no decoder for {type(model).__name__}")
        self._model, self._eos_ids, self._prefixes = model, eos_ids, prefixes

    def decode(
        self, groups: Sequence[SamplingGroup], *, top_k: int = 0, tempered: bool = False
    ) -> list[list[SampledRow]]:
        """Sample every group's completions in one batch; see `TokenSampler` for the options.

        Returns:
            One list of `n` finished rows for each group, in order.
        """
        done = dict(self.stream(groups, top_k=top_k, tempered=tempered))
        return [done[index] for index in range(len(groups))]

    @torch.inference_mode()
    def stream(
        self, groups: Sequence[SamplingGroup], *, top_k: int = 0, tempered: bool = False
    ) -> Iterator[tuple[int, list[SampledRow]]]:
        """Like `decode`, but yield (index, rows) of a group as soon as its last row is finished."""
        device = self._model.get_input_embeddings().weight.device
        sampler = TokenSampler(groups, self._eos_ids, device, top_k=top_k, tempered=tempered)
        rows = iter(list(sampler.rows))
        growing = {number: [next(rows) for _ in range(group.n)] for number, group in enumerate(groups)}
        state = _State(self._model, groups)
        logits = state.prefill([self._prefixes.find(group.ids) if self._prefixes else None for group in groups])
        live = sampler.live()
        while True:
            tokens = sampler.step(logits)
            before, live = live, sampler.live()
            if len(live) < len(before):
                self._keep(sampler.rows, sorted(set(before).difference(live)), state)
                for number in [number for number, group in growing.items() if all(row.finish for row in group)]:
                    yield number, growing.pop(number)
            if not live:
                return
            if len(live) <= COMPACT_BELOW * len(sampler.rows):
                tokens = tokens.index_select(0, to_device(torch.tensor(live), device))
                sampler.select(live)
                state.select(live)
                live = sampler.live()
            logits = state.step(tokens)

    def _keep(self, rows: Sequence[SampledRow], indices: Sequence[int], state: _State) -> None:
        for index in indices if self._prefixes is not None else ():
            row = rows[index]
            if row.group.stop is not None:
                run = row.ids[:-1]  # the last token was sampled and not run
                self._prefixes.put([*row.group.ids, *run], state.kept(index, len(run)))  # type: ignore[union-attr]


def supports(model: Any) -> bool:
    """Whether the model has the shape written out here."""
    config = model.config
    rope = getattr(config, "rope_parameters", None) or {}
    whole = all(kind == "full_attention" for kind in getattr(config, "layer_types", None) or ())
    return (
        config.model_type in SHAPES
        and hasattr(model, "lm_head")
        and hasattr(model.model, "layers")
        and whole
        and rope.get("rope_type", "default") in ROPES
        and not (config.model_type == "mistral" and getattr(config, "sliding_window", None))
    )


class _State:
    """Keys and values of one batch, by layer; rows are in the order of their groups."""

    def __init__(self, model: Any, groups: Sequence[SamplingGroup]) -> None:
        self._body, self._head = model.model, model.lm_head
        self._layers = list(self._body.layers)
        weight = model.get_input_embeddings().weight
        self._device, self._dtype = weight.device, weight.dtype
        config = model.config
        self._heads, self._kv_heads = config.num_attention_heads, config.num_key_value_heads
        self._width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self._prompts = [self._put(group.ids) for group in groups]
        # Sizes are kept on the host too: to ask the device for one is to wait for it.
        self._sizes = [len(ids) for ids in self._prompts]
        self._rows = [number for number, group in enumerate(groups) for _ in range(group.n)]
        self._lengths, self._group = self._put(self._sizes), self._put(self._rows)
        longest = max(self._sizes)
        steps = max(group.max_tokens for group in groups)
        positions = torch.arange(longest + steps, device=self._device)[None]
        self._cos, self._sin = (tensor[0] for tensor in self._body.rotary_emb(weight.new_empty(1), positions))
        self._position = self._lengths[self._group]
        self._step = 0
        self._prefix: list[tuple[Tensor, Tensor]]
        copied = len(self._group) * longest * self._kv_heads * self._width <= COPIED_BELOW
        self._start = longest if copied else 0
        """Columns of the rows' own buffers that hold their prompt, at their right end."""
        shape = (len(self._group), self._kv_heads, self._start + min(FIRST_STEPS, steps), self._width)
        self._own = [(weight.new_empty(shape), weight.new_empty(shape)) for _ in self._layers]
        self._seen: Tensor | None = None
        if copied and min(self._sizes) < longest:
            columns = torch.arange(longest + steps, device=self._device)
            self._seen = (columns >= (longest - self._position)[:, None])[:, None, None]
        if not copied:
            self._arrange()

    def prefill(self, known: Sequence[Tensor | None]) -> Tensor:
        """Run the prompts and return the logits after each, one row for each completion.

        `known[i]` (layers, 2, kv heads, tokens, width) is of the beginning of prompt i, which isn't run again.
        """
        longest = max(self._sizes)
        # One column more than the longest prompt: there goes what padding leaves.
        shape = (len(self._layers), 2, len(self._prompts), self._kv_heads, longest + 1, self._width)
        held = torch.empty(shape, dtype=self._dtype, device=self._device)
        held[..., min(self._sizes) :, :] = 0  # what is masked must be finite still
        self._prefix = [(keys[:, :, :longest], values[:, :, :longest]) for keys, values in held]
        begun = [0 if beginning is None else beginning.shape[3] for beginning in known]
        for number, beginning in enumerate(known):
            if beginning is not None:
                held[:, :, number, :, : begun[number]] = beginning
        to_run = max(len(prompt) - start for prompt, start in zip(self._prompts, begun, strict=True))
        at_once = max(1, PREFILL_TOKENS // to_run)
        last = []
        for start in range(0, len(self._prompts), at_once):
            stop = start + at_once
            last.append(self._run_prompts(self._prompts[start:stop], begun[start:stop], held[:, :, start:stop]))
        if self._start:
            self._copy()
        return self._logits(torch.cat(last)).index_select(0, self._group)

    def _copy(self) -> None:
        """Put each prompt's keys and values into its rows' own buffers, ending where the sampled tokens begin."""
        positions = torch.arange(self._start, device=self._device) - (self._start - self._lengths)[:, None]
        positions = positions.clamp(min=0)[:, None, :, None]
        for own, prompts in zip(self._own, self._prefix, strict=True):
            for buffer, prompt in zip(own, prompts, strict=True):
                right = prompt.gather(2, positions.expand(-1, prompt.shape[1], -1, prompt.shape[3]))
                buffer[:, :, : self._start] = right.index_select(0, self._group)
        self._prefix = []

    def _run_prompts(self, prompts: Sequence[Tensor], begun: Sequence[int], held: Tensor) -> Tensor:
        """Run what is left of some prompts, padded on the right; return the hidden states of their last tokens.

        `held` (layers, 2, prompts, kv heads, columns, width) has the keys and values of the first `begun[i]` tokens of
        prompt i and gets those of the others.
        """
        left = [prompt[start:] for prompt, start in zip(prompts, begun, strict=True)]
        ids = pad_sequence(left, batch_first=True)
        start = self._put(begun)[:, None]
        positions = (start + torch.arange(ids.shape[1], device=self._device)).clamp(max=held.shape[4] - 1)
        seen = None
        if any(begun):
            columns = torch.arange(held.shape[4], device=self._device)
            seen = (columns <= positions[..., None])[:, None]
        hidden = self._body.embed_tokens(ids)
        cos, sin = (tensor[positions][:, :, None] for tensor in (self._cos, self._sin))
        for layer, (keys, values) in zip(self._layers, held, strict=True):
            query, key, value = (tensor.transpose(1, 2) for tensor in self._project(layer, hidden, cos, sin))
            if seen is None:  # all from their first token on, where no real token sees the padding
                keys[:, :, : key.shape[2]], values[:, :, : key.shape[2]] = key, value
            else:
                index = positions[:, None, :, None].expand_as(key)
                keys.scatter_(2, index, key)
                values.scatter_(2, index, value)
                key, value = keys, values
            key, value = (tensor.repeat_interleave(self._heads // self._kv_heads, 1) for tensor in (key, value))
            mixed = functional.scaled_dot_product_attention(
                query, key, value, seen, is_causal=seen is None, scale=layer.self_attn.scaling
            )
            hidden = _finish(layer, hidden, mixed.transpose(1, 2).flatten(2))
        return hidden[torch.arange(len(left), device=self._device), self._put([len(tail) - 1 for tail in left])]

    def kept(self, row: int, steps: int) -> Tensor:
        """The keys and values (layers, 2, kv heads, tokens, width) of a row's prompt and its first sampled tokens."""
        length = self._sizes[self._rows[row]]
        first = self._start - length if self._start else 0
        own = torch.stack([tensor[row, :, first : self._start + steps] for pair in self._own for tensor in pair])
        if not self._start:
            group = self._rows[row]
            prompt = torch.stack([tensor[group, :, :length] for pair in self._prefix for tensor in pair])
            own = torch.cat((prompt, own), 2)
        return own.unflatten(0, (-1, 2))

    def step(self, tokens: Tensor) -> Tensor:
        """Run one token of each row and return the logits after it."""
        column = self._start + self._step
        if column == self._own[0][0].shape[2]:
            self._own = [(_doubled(key), _doubled(value)) for key, value in self._own]
        hidden = self._body.embed_tokens(tokens)
        cos, sin = (tensor.index_select(0, self._position)[:, None] for tensor in (self._cos, self._sin))
        for number, layer in enumerate(self._layers):
            query, key, value = self._project(layer, hidden, cos, sin)
            keys, values = self._own[number]
            keys[:, :, column], values[:, :, column] = key, value
            query = query.view(len(tokens), self._kv_heads, -1, self._width)
            if self._start:
                keys, values = keys[:, :, : column + 1], values[:, :, : column + 1]
                seen = None if self._seen is None else self._seen[..., : column + 1]
                mixed = functional.scaled_dot_product_attention(
                    query, keys, values, seen, scale=layer.self_attn.scaling
                )
            else:
                mixed = self._attend(query * layer.self_attn.scaling, number)
            hidden = _finish(layer, hidden, mixed.flatten(1))
        self._step += 1
        self._position = self._position + 1
        return self._logits(hidden)

    def select(self, kept: Sequence[int]) -> None:
        """Go on with some rows; groups without any are forgotten."""
        index = self._put(kept)
        self._rows = [self._rows[row] for row in kept]
        self._own = [(key.index_select(0, index), value.index_select(0, index)) for key, value in self._own]
        self._position = self._position.index_select(0, index)
        if self._start:
            self._seen = None if self._seen is None else self._seen.index_select(0, index)
            return
        left = sorted(set(self._rows))
        self._sizes = [self._sizes[number] for number in left]
        self._rows = [left.index(number) for number in self._rows]
        self._group = self._put(self._rows)
        if len(left) < len(self._lengths):
            groups = self._put(left)
            self._lengths = self._lengths.index_select(0, groups)
            self._prefix = [(key.index_select(0, groups), value.index_select(0, groups)) for key, value in self._prefix]
        self._arrange()

    def _arrange(self) -> None:
        """Lay the rows out as a (groups, widest group) table, in which a group's rows attend to their prompt."""
        self._widest = max(Counter(self._rows).values())
        seen: Counter[int] = Counter()
        slots, row_of_slot = [], [0] * (len(self._sizes) * self._widest)
        for row, group in enumerate(self._rows):
            slots.append(group * self._widest + seen[group])
            row_of_slot[slots[-1]] = row
            seen[group] += 1
        self._slot, self._row_of_slot = self._put(slots), self._put(row_of_slot)
        self._full = len(row_of_slot) == len(slots)
        self._columns = max(self._sizes)
        columns = torch.arange(self._columns, device=self._device)
        self._padding = (columns >= self._lengths[:, None])[:, None, None]
        self._padded = min(self._sizes) < self._columns

    def _put(self, numbers: Sequence[int]) -> Tensor:
        return to_device(torch.tensor(list(numbers), dtype=torch.int64), self._device)

    def _project(self, layer: Any, hidden: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return query (…, heads, width), key and value (…, kv heads, width), rotated to their positions."""
        attention = layer.self_attn
        hidden = _normed(layer.input_layernorm, hidden)
        query, key, value = (
            project(hidden).view(*hidden.shape[:-1], -1, self._width)
            for project in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        if hasattr(attention, "q_norm"):
            query, key = attention.q_norm(query), attention.k_norm(key)
        both = _rotate(torch.cat((query, key), -2), cos, sin)
        query, key = both.split((query.shape[-2], key.shape[-2]), -2)
        return query, key, value

    def _attend(self, query: Tensor, number: int) -> Tensor:
        """Attend to the prompt and to the own tokens; `query` is (rows, kv heads, queries a head, width), scaled."""
        keys, values = (tensor[:, :, : self._step + 1] for tensor in self._own[number])
        own, own_weight = _softmax_values(query @ keys.mT, values)
        table = query if self._full else query.index_select(0, self._row_of_slot)
        # (groups, kv heads, rows of the group x queries a head, width): one matrix product for the whole group
        table = table.view(-1, self._widest, *query.shape[1:]).transpose(1, 2).flatten(2, 3)
        prompt_keys, prompt_values = (tensor[:, :, : self._columns] for tensor in self._prefix[number])
        scores = table @ prompt_keys.mT
        if self._padded:
            scores = scores.masked_fill(self._padding, float("-inf"))
        shared = _softmax_values(scores, prompt_values)
        prompt, prompt_weight = (
            tensor.view(*tensor.shape[:2], self._widest, -1, tensor.shape[-1]).transpose(1, 2).flatten(0, 1)
            for tensor in shared
        )
        if not self._full:
            prompt, prompt_weight = (tensor.index_select(0, self._slot) for tensor in (prompt, prompt_weight))
        return torch.lerp(own, prompt, torch.sigmoid(prompt_weight - own_weight).to(own.dtype))

    def _logits(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self._head(_normed(self._body.norm, hidden))
        return logits


def _softmax_values(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Return attention over some columns, and the log-sum-exp of their scores (…, 1) to join it with others."""
    scores = scores.float()
    return scores.softmax(-1).to(values.dtype) @ values, scores.logsumexp(-1, keepdim=True)


def _normed(module: Any, hidden: Tensor) -> Tensor:
    """Apply an RMS norm; in fp32 by torch's one operation, which rounds as the module does."""
    if hidden.dtype != torch.float32:
        normed: Tensor = module(hidden)
        return normed
    return functional.rms_norm(hidden, hidden.shape[-1:], module.weight, module.variance_epsilon)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def _finish(layer: Any, hidden: Tensor, mixed: Tensor) -> Tensor:
    hidden = hidden + layer.self_attn.o_proj(mixed)
    result: Tensor = hidden + layer.mlp(_normed(layer.post_attention_layernorm, hidden))
    return result


def _doubled(buffer: Tensor) -> Tensor:
    return torch.cat((buffer, torch.empty_like(buffer)), 2)
