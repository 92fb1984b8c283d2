"""Samples the next token of every live row and records it. Both decoders share this code.

Random numbers are a function only of (key, row, step). They do not depend on the batch of a row, its index there, the
device, or earlier samples. So a group samples the same tokens on any number of machines and after a resume, and there
is no generator state to save.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from verikit.engines.hf.device import to_device

AHEAD = 16
"""Number of steps whose random numbers are generated together."""
LOOK_EVERY = {"cpu": 1}
"""Steps between transfers of sampled tokens to the host, by device. The default is 8.

A transfer waits for an accelerator. Until then, rows that have ended keep running.
"""
ALL = 2**31
FLOOR = -9999.0
"""Represents a log-probability of minus infinity, as in servers' replies."""


@dataclass(frozen=True, slots=True)
class SamplingGroup:
    """One prompt and how to sample `n` completions of it."""

    ids: Sequence[int]
    key: tuple[int, ...]
    """Key of the random numbers, such as (seed, step, group)."""
    n: int = 1
    max_tokens: int = 512
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    """Sample only among this many most likely tokens, before `top_p`. 0 disables the limit."""
    stop: Callable[[list[int]], bool] | None = None
    """Called with a completion's ids after each token. Returning True ends it."""
    allowed: Callable[[list[int]], Sequence[int]] | None = None
    """Called with a completion's ids before each token. Returns the allowed next tokens."""


@dataclass(slots=True)
class DecodedRow:
    """One completion while it grows; `finish` is empty until it ends."""

    group: SamplingGroup
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    tops: list[list[tuple[int, float]]] = field(default_factory=list)
    """The most likely tokens at each step as (id, log-probability), best first."""
    finish: str = ""


class TokenSampler:
    """The rows of some groups, in order; `rows[i]` is row i of the logits."""

    def __init__(
        self,
        groups: Sequence[SamplingGroup],
        eos_ids: Collection[int],
        device: torch.device,
        *,
        top_k: int,
        tempered: bool,
    ) -> None:
        """Start the rows.

        Args:
            groups: Groups to sample.
            eos_ids: Tokens that end a completion. They remain part of it.
            device: Device of the logits.
            top_k: Number of most likely tokens to record at each step.
            tempered: Return log-probabilities of softmax(logits / temperature) instead of the model's own.
        """
        self.rows: list[DecodedRow] = [DecodedRow(group) for group in groups for _ in range(group.n)]
        self._eos, self._top_k, self._tempered = frozenset(eos_ids), top_k, tempered
        self._step = 0
        self._every = LOOK_EVERY.get(device.type, 8)
        self._unseen: list[tuple[Tensor, Tensor, Tensor | None, Tensor | None]] = []
        keys = [row_key(group.key, row) for group in groups for row in range(group.n)]
        self._keys = to_device(torch.tensor(keys, dtype=torch.int64), device)
        self._temperature = to_device(torch.tensor([[row.group.temperature] for row in self.rows]), device)
        self._top_p = to_device(torch.tensor([[row.group.top_p] for row in self.rows]), device)
        self._most = to_device(torch.tensor([[row.group.top_k or ALL] for row in self.rows]), device)
        self._ahead: Tensor | None
        self._choose()

    def step(self, logits: Tensor) -> Tensor:
        """Sample one token for each row. `rows` may receive it some steps later.

        Args:
            logits: Float tensor (rows, vocabulary).

        Returns:
            Token ids (rows,). Those of finished rows are meaningless.
        """
        logits = logits.float()
        probabilities, tokens = self._draw(self._constrained(logits))
        scaled = logits / self._temperature.clamp(min=1e-6) if self._tempered and self._scaled else logits
        logprobs = logits
        if probabilities is None or self._top_k:
            norm = scaled.logsumexp(-1, keepdim=True)
            chosen = scaled.gather(1, tokens[:, None]) - norm
            logprobs = scaled - norm if self._top_k else logits
        else:
            chosen = probabilities.gather(1, tokens[:, None]).log()
        values, ids = logprobs.topk(min(self._top_k, logprobs.shape[-1])) if self._top_k else (None, None)
        self._unseen.append((tokens, chosen.squeeze(1).clamp(min=FLOOR), values, ids))
        self._step += 1
        if self._bound or len(self._unseen) == self._every or self._step >= self._last:
            self._look()
        return tokens

    def live(self) -> list[int]:
        """Return the indices of the rows that continue."""
        return [index for index, row in enumerate(self.rows) if not row.finish]

    def select(self, kept: Sequence[int]) -> None:
        """Continue with some of the rows. The logits of the next step must contain only these."""
        index = to_device(torch.tensor(kept), self._keys.device)
        self.rows = [self.rows[number] for number in kept]
        self._keys, self._temperature, self._top_p, self._most = (
            tensor.index_select(0, index) for tensor in (self._keys, self._temperature, self._top_p, self._most)
        )
        self._choose()

    def _choose(self) -> None:
        """Determine which sampling steps these rows need."""
        groups = [row.group for row in self.rows]
        greedy = [group.temperature == 0 for group in groups]
        self._all_greedy = all(greedy)
        self._greedy = to_device(torch.tensor(greedy), self._keys.device) if any(greedy) else None
        self._last = max((group.max_tokens for group in groups), default=0)
        self._scaled = any(group.temperature not in (0, 1) for group in groups)
        self._nucleus = any(group.top_p < 1 or group.top_k for group in groups)
        self._bound = any(group.allowed is not None for group in groups)
        self._ahead = None

    def _constrained(self, logits: Tensor) -> Tensor:
        """Mask the tokens that a row's group doesn't allow. Log-probabilities remain those of the model."""
        indices = [index for index, row in enumerate(self.rows) if row.group.allowed is not None and not row.finish]
        if not indices:
            return logits
        logits = logits.clone()
        for index in indices:
            row = self.rows[index]
            allowed = torch.tensor(row.group.allowed(row.ids), device=logits.device)  # type: ignore[misc]
            kept = logits[index, allowed]
            logits[index] = float("-inf")
            logits[index, allowed] = kept
        return logits

    def _draw(self, logits: Tensor) -> tuple[Tensor | None, Tensor]:
        """Sample by inverting the cumulative distribution, with one random number per row.

        Greedy rows take the most likely token.

        Also returns the probabilities sampled from, if they are the ones to report.
        """
        if self._all_greedy:
            return None, logits.argmax(-1)
        if self._scaled:
            logits = logits / self._temperature.clamp(min=1e-6)
        probabilities = logits.softmax(-1)
        reported = None if self._nucleus or self._bound or (self._scaled and not self._tempered) else probabilities
        order = None
        if self._nucleus:
            probabilities, order = probabilities.sort(dim=-1, descending=True, stable=True)
            ranks = torch.arange(probabilities.shape[-1], device=probabilities.device)
            probabilities = probabilities.masked_fill(ranks >= self._most, 0.0)
            mass = probabilities.cumsum(-1)
            probabilities = probabilities.masked_fill(mass - probabilities >= self._top_p * mass[:, -1:], 0.0)
        cumulative = probabilities.cumsum(-1)
        point = self._uniforms() * cumulative[:, -1:]
        tokens = torch.searchsorted(cumulative, point, right=True).clamp(max=logits.shape[-1] - 1)
        tokens = (tokens if order is None else order.gather(1, tokens)).squeeze(1)
        if self._greedy is not None:
            tokens = torch.where(self._greedy, logits.argmax(-1), tokens)
            reported = None  # a greedy row's logits were divided by almost 0
        return reported, tokens

    def _uniforms(self) -> Tensor:
        """Return this step's random numbers (rows, 1), generated for many steps together."""
        offset = self._step % AHEAD
        ahead = self._ahead
        if offset == 0 or ahead is None:
            first = self._step - offset
            ahead = uniforms(self._keys[:, None], torch.arange(first, first + AHEAD, device=self._keys.device))
            self._ahead = ahead
        return ahead[:, offset, None]

    def _look(self) -> None:
        """Pass the rows the tokens sampled since the last transfer. Tokens after a row's end are dropped."""
        drawn = list(zip(*self._unseen, strict=True))
        tokens, chosen = _to_host(drawn[0], drawn[1])
        values, best = ([] if column[0] is None else torch.stack(column).tolist() for column in drawn[2:])
        for step in range(len(self._unseen)):
            for index, row in enumerate(self.rows):
                if row.finish:
                    continue
                token = tokens[step][index]
                row.ids.append(token)
                row.logprobs.append(chosen[step][index])
                if best:
                    likely = [max(value, FLOOR) for value in values[step][index]]
                    row.tops.append(list(zip(best[step][index], likely, strict=True)))
                stopped = token in self._eos or (row.group.stop is not None and row.group.stop(row.ids))
                if stopped or len(row.ids) >= row.group.max_tokens:
                    row.finish = "stop" if stopped else "length"
        self._unseen = []


def _to_host(whole: Sequence[Tensor], floats: Sequence[Tensor]) -> tuple[list[list[int]], list[list[float]]]:
    """Return int64 and float32 tensors of one shape as lists, waiting for the device once."""
    if len(whole) == 1 and whole[0].device.type == "cpu":
        return [whole[0].tolist()], [floats[0].tolist()]
    both = torch.cat((torch.stack(list(whole)), torch.stack(list(floats)).view(torch.int32).long())).cpu()
    return both[: len(whole)].tolist(), both[len(whole) :].int().view(torch.float32).tolist()


def row_key(key: Sequence[int], row: int) -> int:
    """Hash a group's key and a row's number to a signed 64-bit integer."""
    digest = hashlib.blake2b(repr((*map(int, key), row)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def uniforms(keys: Tensor, step: int | Tensor) -> Tensor:
    """Return a float32 in [0, 1) for each int64 key: output `step` of the splitmix64 stream that starts there.

    A tensor of steps is broadcast against the keys.

    splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """
    golden = _signed(0x9E3779B97F4A7C15)
    z = keys + ((step + 1) * golden if isinstance(step, Tensor) else _signed((step + 1) * golden))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ _shift(z, shift)) * _signed(factor)
    z = z ^ _shift(z, 31)
    result: Tensor = _shift(z, 40).to(torch.float32) * 2.0**-24
    return result


def _signed(value: int) -> int:
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value


def _shift(z: Tensor, bits: int) -> Tensor:
    """Shift right without carrying the sign."""
    mask: int = 2 ** (64 - bits) - 1
    return (z >> bits) & mask
