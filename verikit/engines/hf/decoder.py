"""verikit's own KV-cache decoder, for the model families in `families`.

Three things make it faster than a general `generate`. A prompt is run once for all its completions, and its keys and
values are stored once: every row of a group attends to them together, in one matrix product. The keys and values of the
sampled tokens are in a buffer that is written in place. Finished rows leave the batch.

A row's attention has two parts, over the group's prompt and over its own tokens. The parts are combined by their
log-sum-exp, which is exact. Short prompts are copied to their rows instead, where a single attention is cheaper. The
model's own modules do the rest. So its current weights are used (in training: those after the last step), and adapters
inside the linear layers take effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from verikit.engines.hf.device import to_device
from verikit.engines.hf.families import family_of, inner_model, longest_text, rope_kinds, windows
from verikit.engines.hf.layers import Layer, norm, soft_cap, softmax_values
from verikit.engines.hf.prefixes import Prefixes
from verikit.engines.hf.sampler import DecodedRow, SamplingGroup, TokenSampler

PREFILL_TOKENS = 16_384
"""Prompt tokens per forward pass. Limits the memory of activations."""
COMPACT_BELOW = 0.75
"""Finished rows leave the batch when at most this fraction is live. Removing them costs a copy."""
COPIED_BELOW = 2**19
"""Maximum numbers per layer in copies of the prompts' keys. Above that, the rows of a group share them."""
FIRST_STEPS = 32
"""Initial size of the buffer for sampled tokens, and the least that it grows by."""
GROWTH = 8
"""A full buffer grows by 1/8, so a ninth of it is unused at most. A number is copied about eight times in all."""


class Decoder:
    """Samples from a loaded causal language model."""

    def __init__(self, model: Any, eos_ids: Collection[int], prefixes: Prefixes | None = None) -> None:
        """Wrap a model.

        Args:
            model: A transformers causal model for which `supports(model)` is true.
            eos_ids: Tokens that end a completion.
            prefixes: Keys and values that the same weights computed for earlier texts. Rows with a stop test, which
                marks a turn that will continue, are added to it.

        Raises:
            ValueError: The model is of another family.
        """
        if not supports(model):
            raise ValueError(f"{type(model).__name__} models are not supported")
        self._model, self._eos_ids, self._prefixes = inner_model(model), eos_ids, prefixes

    def decode(
        self, groups: Sequence[SamplingGroup], *, top_k: int = 0, tempered: bool = False
    ) -> list[list[DecodedRow]]:
        """Sample every group's completions in one batch. See `TokenSampler` for the options.

        Returns:
            One list of `n` finished rows per group, in order.
        """
        done = dict(self.stream(groups, top_k=top_k, tempered=tempered))
        return [done[index] for index in range(len(groups))]

    @torch.inference_mode()
    def stream(
        self, groups: Sequence[SamplingGroup], *, top_k: int = 0, tempered: bool = False
    ) -> Iterator[tuple[int, list[DecodedRow]]]:
        """Like `decode`, but yield (index, rows) of a group as soon as its last row is finished.

        Raises:
            ValueError: A sequence may grow too long. See `supports`.
        """
        if not supports(self._model, most_tokens(groups)):
            raise ValueError("the sequences may outgrow the range of the model's rotary embedding")
        device = self._model.get_input_embeddings().weight.device
        sampler = TokenSampler(groups, self._eos_ids, device, top_k=top_k, tempered=tempered)
        rows = iter(list(sampler.rows))
        growing = {number: [next(rows) for _ in range(group.n)] for number, group in enumerate(groups)}
        state = _State(self._model, groups)
        logits = state.prefill([self._prefixes.find(ids) if self._prefixes else None for ids in state.prompts])
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

    def _keep(self, rows: Sequence[DecodedRow], indices: Sequence[int], state: _State) -> None:
        for index in indices if self._prefixes is not None else ():
            row = rows[index]
            if row.group.stop is not None:
                run = row.ids[:-1]  # the last token was sampled and not run
                self._prefixes.put([*row.group.ids, *run], state.kept(index, len(run)))  # type: ignore[union-attr]


def supports(model: Any, tokens: int = 0) -> bool:
    """Whether the model is of a family implemented here and can decode sequences of this many tokens."""
    model = inner_model(model)
    if family_of(model) is None:
        return False
    longest = longest_text(model.config)
    return longest is None or tokens <= longest


def most_tokens(groups: Sequence[SamplingGroup]) -> int:
    """Return the longest sequence the batch may contain. A row keeps running next to a longer one until it leaves."""
    prompts = max((len(group.ids) for group in groups), default=0)
    return prompts + max((group.max_tokens for group in groups), default=0)


class _State:
    """Keys and values of one batch, by layer; rows are in the order of their groups."""

    def __init__(self, model: Any, groups: Sequence[SamplingGroup]) -> None:
        self._body, self._head = model.model, model.lm_head
        weight = model.get_input_embeddings().weight
        self._device, self._dtype = weight.device, weight.dtype
        config = model.config
        self._heads, self._kv_heads = config.num_attention_heads, config.num_key_value_heads
        self._width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        if (family := family_of(model)) is None:
            raise ValueError(f"{type(model).__name__} models are not supported")
        kinds, reaches = rope_kinds(config, family), windows(config, family) or []
        self._layers = [
            Layer(layer, family, config, width=self._width, rope=rope, window=window)
            for layer, rope, window in zip(self._body.layers, kinds, reaches, strict=True)
        ]
        self._windows = set(reaches)
        self._norm = norm(self._body.norm, family.centred)
        self._cap = config.final_logit_softcapping if family.logit_cap else None
        numbers: dict[tuple[int, ...], int] = {}
        of_group = [numbers.setdefault(tuple(group.ids), len(numbers)) for group in groups]
        self.prompts: list[tuple[int, ...]] = list(numbers)
        """The distinct prompts. Groups with the same prompt share its keys and values."""
        self._prompts = [self._put(ids) for ids in numbers]
        # Sizes are also stored on the host, because reading one from the device waits for it.
        self._sizes = [len(ids) for ids in self._prompts]
        self._rows = [number for number, group in zip(of_group, groups, strict=True) for _ in range(group.n)]
        self._lengths, self._group = self._put(self._sizes), self._put(self._rows)
        longest = max(self._sizes)
        self._steps = max(group.max_tokens for group in groups)
        positions = torch.arange(longest + self._steps, device=self._device)[None]
        self._rotations = {
            kind: self._rotation(kind, weight.new_empty(1), positions) for kind in set(kinds) if kind is not None
        }
        self._position = self._lengths[self._group]
        self._step = 0
        self._prefix: list[tuple[Tensor, Tensor]]
        copied = len(self._group) * longest * self._kv_heads * self._width <= COPIED_BELOW
        self._start = longest if copied else 0
        """Number of columns at the start of the rows' own buffers that contain their right-aligned prompt."""
        shape = (len(self._group), self._kv_heads, self._start + min(FIRST_STEPS, self._steps), self._width)
        self._own = [(weight.new_empty(shape), weight.new_empty(shape)) for _ in self._layers]
        self._seen: Tensor | None = None
        if copied and min(self._sizes) < longest:
            columns = torch.arange(longest + self._steps, device=self._device)
            self._seen = (columns >= (longest - self._position)[:, None])[:, None, None]
        if not copied:
            self._arrange()

    def _rotation(self, kind: str, like: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Return the cosines and sines of one kind of rotary embedding, (positions, width)."""
        cos, sin = self._body.rotary_emb(like, positions, *([kind] if kind else []))
        return cos[0], sin[0]

    def prefill(self, known: Sequence[Tensor | None]) -> Tensor:
        """Run the prompts and return the logits after each, one row per completion.

        `known[i]` (layers, 2, kv heads, tokens, width) belongs to the start of prompt i, which isn't run again.
        """
        longest = max(self._sizes)
        # One column more than the longest prompt, for the keys and values of padding.
        shape = (len(self._layers), 2, len(self._prompts), self._kv_heads, longest + 1, self._width)
        held = torch.empty(shape, dtype=self._dtype, device=self._device)
        held[..., min(self._sizes) :, :] = 0  # masked numbers must still be finite
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
        """Copy each prompt's keys and values into its rows' own buffers, ending where the sampled tokens start."""
        positions = torch.arange(self._start, device=self._device) - (self._start - self._lengths)[:, None]
        positions = positions.clamp(min=0)[:, None, :, None]
        for own, prompts in zip(self._own, self._prefix, strict=True):
            for buffer, prompt in zip(own, prompts, strict=True):
                right = prompt.gather(2, positions.expand(-1, prompt.shape[1], -1, prompt.shape[3]))
                buffer[:, :, : self._start] = right.index_select(0, self._group)
        self._prefix = []

    def _run_prompts(self, prompts: Sequence[Tensor], begun: Sequence[int], held: Tensor) -> Tensor:
        """Run the rest of some prompts, padded on the right, and return the hidden states of their last tokens.

        `held` (layers, 2, prompts, kv heads, columns, width) contains the keys and values of the first `begun[i]`
        tokens of prompt i and receives those of the others.
        """
        left = [prompt[start:] for prompt, start in zip(prompts, begun, strict=True)]
        ids = pad_sequence(left, batch_first=True)
        start = self._put(begun)[:, None]
        positions = (start + torch.arange(ids.shape[1], device=self._device)).clamp(max=held.shape[4] - 1)
        seen = self._seen_in_prompts(positions, held.shape[4], begun=any(begun))
        hidden = self._body.embed_tokens(ids)
        rotations = {kind: (cos[positions], sin[positions]) for kind, (cos, sin) in self._rotations.items()}
        rotations = {kind: (cos[:, :, None], sin[:, :, None]) for kind, (cos, sin) in rotations.items()}
        for layer, (keys, values) in zip(self._layers, held, strict=True):
            query, key, value = (tensor.transpose(1, 2) for tensor in layer.project(hidden, rotations))
            if not any(begun):  # all start at their first token, so no real token sees the padding
                keys[:, :, : key.shape[2]], values[:, :, : key.shape[2]] = key, value
            else:
                index = positions[:, None, :, None].expand_as(key)
                keys.scatter_(2, index, key)
                values.scatter_(2, index, value)
                key, value = keys, values
            key, value = (tensor.repeat_interleave(self._heads // self._kv_heads, 1) for tensor in (key, value))
            mixed = layer.attend(query, key, value, seen[layer.window], causal=not any(begun))
            hidden = layer.finish(hidden, mixed.transpose(1, 2).flatten(2))
        return hidden[torch.arange(len(left), device=self._device), self._put([len(tail) - 1 for tail in left])]

    def _seen_in_prompts(self, positions: Tensor, width: int, *, begun: bool) -> dict[int | None, Tensor | None]:
        """Return which columns each token sees, by window.

        None: those up to its own, in a prompt run from its first token.

        `positions` (prompts, tokens) are the tokens' positions. `width` is the number of columns if prompts have begun.
        """
        longest = width if begun else positions.shape[1]
        columns = torch.arange(longest, device=self._device)
        own = positions[:, None, :, None] if begun else columns[:, None]
        seen: dict[int | None, Tensor | None] = {}
        for window in self._windows:
            if window is not None and window < longest:
                seen[window] = (columns <= own) & (columns > own - window)
            else:
                seen[window] = columns <= own if begun else None
        return seen

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
            wanted = column + max(FIRST_STEPS, column // GROWTH)
            self._replace(partial(_widened, columns=min(wanted, self._start + self._steps)))
        hidden = self._body.embed_tokens(tokens)
        rotations = {
            kind: (cos.index_select(0, self._position)[:, None], sin.index_select(0, self._position)[:, None])
            for kind, (cos, sin) in self._rotations.items()
        }
        in_prompts = {} if self._start else {window: self._seen_of_prompts(window) for window in self._windows}
        for layer, (keys, values), number in zip(self._layers, self._own, range(len(self._layers)), strict=True):
            query, key, value = layer.project(hidden, rotations)
            keys[:, :, column], values[:, :, column] = key, value
            query = query.view(len(tokens), self._kv_heads, -1, self._width)
            first = 0 if layer.window is None else max(0, column + 1 - layer.window)
            keys, values = keys[:, :, first : column + 1], values[:, :, first : column + 1]
            if self._start:  # rows end at the same column, so windows start at the same one
                seen = None if self._seen is None else self._seen[..., first : column + 1]
                mixed = layer.attend(query, keys, values, seen)
            else:
                mixed = self._attend(layer, query * layer.scale, keys, values, number, in_prompts[layer.window])
            hidden = layer.finish(hidden, mixed.flatten(1))
        self._step += 1
        self._position = self._position + 1
        return self._logits(hidden)

    def _replace(self, changed: Callable[[Tensor], Tensor]) -> None:
        """Replace the rows' own buffers, one layer after the other, so that no more than a layer is stored twice."""
        for number, (keys, values) in enumerate(self._own):
            self._own[number] = (changed(keys), changed(values))

    def select(self, kept: Sequence[int]) -> None:
        """Continue with some rows. Groups without any are dropped."""
        index = self._put(kept)
        self._rows = [self._rows[row] for row in kept]
        self._replace(lambda buffer: buffer.index_select(0, index))
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
        """Arrange the rows in a (groups, widest group) table, in which a group's rows attend to their prompt."""
        self._widest = max(Counter(self._rows).values())
        seen: Counter[int] = Counter()
        slots, row_of_slot = [], [0] * (len(self._sizes) * self._widest)
        for row, group in enumerate(self._rows):
            slots.append(group * self._widest + seen[group])
            row_of_slot[slots[-1]] = row
            seen[group] += 1
        self._slot, self._row_of_slot = self._put(slots), self._put(row_of_slot)
        self._full = slots == list(range(len(row_of_slot)))  # the table is the rows unchanged
        self._columns, self._shortest = max(self._sizes), min(self._sizes)
        columns = torch.arange(self._columns, device=self._device)
        self._padding = (columns >= self._lengths[:, None])[:, None, None]
        self._padded = self._shortest < self._columns

    def _put(self, numbers: Sequence[int]) -> Tensor:
        return to_device(torch.tensor(list(numbers), dtype=torch.int64), self._device)

    def _seen_of_prompts(self, window: int | None) -> tuple[int, Tensor | None] | None:
        """Return the first prompt column that a window still reaches, and the columns from there on that no query sees.

        None if the window no longer reaches a prompt.
        """
        if window is None:
            return 0, self._padding if self._padded else None
        if self._step + 1 >= window:
            return None
        passed = self._step + 1 - window  # the visible columns of a prompt start at its length + passed
        first = max(0, self._shortest + passed)
        if not self._padded:  # all have one length
            return first, None
        columns = torch.arange(first, self._columns, device=self._device)
        return first, self._padding[..., first:] | (columns < self._lengths[:, None] + passed)[:, None, None]

    def _attend(
        self, layer: Layer, query: Tensor, keys: Tensor, values: Tensor, number: int, seen: tuple[int, Any] | None
    ) -> Tensor:
        """Attend to the row's own keys and to the prompt's.

        `query` is (rows, kv heads, queries per head, width), scaled.
        """
        own, own_weight = softmax_values(layer.capped(query @ keys.mT), values)
        if seen is None:
            return own
        first, unseen = seen
        table = query if self._full else query.index_select(0, self._row_of_slot)
        # (groups, kv heads, rows of the group x queries per head, width): one matrix product for the whole group
        table = table.view(-1, self._widest, *query.shape[1:]).transpose(1, 2).flatten(2, 3)
        prompt_keys, prompt_values = (tensor[:, :, first : self._columns] for tensor in self._prefix[number])
        scores = layer.capped(table @ prompt_keys.mT)
        if unseen is not None:
            scores = scores.masked_fill(unseen, float("-inf"))
        shared = softmax_values(scores, prompt_values)
        prompt, prompt_weight = (
            tensor.view(*tensor.shape[:2], self._widest, -1, tensor.shape[-1]).transpose(1, 2).flatten(0, 1)
            for tensor in shared
        )
        if not self._full:
            prompt, prompt_weight = (tensor.index_select(0, self._slot) for tensor in (prompt, prompt_weight))
        return torch.lerp(own, prompt, torch.sigmoid(prompt_weight - own_weight).to(own.dtype))

    def _logits(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self._head(self._norm(hidden))
        return logits if self._cap is None else soft_cap(logits.float(), self._cap)


def _widened(buffer: Tensor, columns: int) -> Tensor:
    wide = buffer.new_empty((*buffer.shape[:2], columns, buffer.shape[3]))
    wide[:, :, : buffer.shape[2]] = buffer
    return wide
