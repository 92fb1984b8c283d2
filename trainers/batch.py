"""Trajectories as rows of numbers, and rows as micro-batches: sorted by length, under a token budget, padded or packed.

A row holds only what counts: its ids up to the last position that predicts, and flat values for each learnt token.
Padding is on the right and means nothing, so its id may be any. Rows that share prompts are kept together and laid out
with each prompt once (see `sharing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from verikit.engines.hf.device import to_device
from verikit.trainers.recipe import Trajectory
from verikit.trainers.sharing import shared_layout

WORTH = 0.1
"""The share of a batch's tokens that shared prompts must save, for sharing to pay."""
ATTENTION_COST = 8
"""A token that only attention sees (padding, a prompt's further copies) counts a so many-th of one in a micro-batch: it
holds queries, keys, values and their output, no more than a sixth of what a layer holds of a token."""


@dataclass(slots=True)
class TrainRow:
    """One sequence to learn from; tensors are (learnt tokens,), on the CPU."""

    number: int
    """Its index in the batch."""
    ids: Sequence[int]
    where: list[int]
    """Positions whose hidden state predicts a target."""
    targets: list[int]
    sampled: Tensor
    """Log-probabilities by the engine that sampled."""
    advantage: Tensor
    temperature: float = 1.0
    old: Tensor | None = None
    """The trainer's log-probabilities before the update; None: those of the forward pass itself."""
    reference: Tensor | None = None
    weight: float = 0.0
    """What a token counts in the sum of losses."""

    @property
    def live(self) -> bool:
        """Whether any token has an advantage."""
        return bool(self.advantage.any())

    @property
    def prompt(self) -> tuple[int, ...]:
        """What stands before the first learnt token."""
        return tuple(self.ids[: self.where[0] + 1])


def as_row(number: int, trajectory: Trajectory) -> TrainRow:
    """Take from a trajectory what is learnt: the token after each position, or the position's own class.

    The first token of a sequence has nothing before it and is never learnt.
    """
    shift = 0 if trajectory.labels else 1
    learnt = [index for index, own in enumerate(trajectory.mask) if own and index >= shift]
    targets = [(trajectory.labels or trajectory.ids)[index] for index in learnt]
    where = [index - shift for index in learnt]
    sampled = torch.tensor([trajectory.logprobs[index] for index in learnt])
    ids = trajectory.ids[: where[-1] + 1] if where else ()
    return TrainRow(number, ids, where, targets, sampled, torch.zeros(len(where)), trajectory.temperature)


def worth_sharing(rows: Sequence[TrainRow]) -> bool:
    """Whether rows with something to learn share so much of prompts that it pays to compute these once."""
    total = sum(len(row.ids) for row in rows)
    saved = sum((len(members) - 1) * len(prompt) for prompt, members in _by_prompt(rows).items())
    return saved > WORTH * total


def _by_prompt(rows: Sequence[TrainRow]) -> dict[tuple[int, ...], list[TrainRow]]:
    groups: dict[tuple[int, ...], list[TrainRow]] = {}
    for row in rows:
        groups.setdefault(row.prompt, []).append(row)
    return groups


def micro_batches(
    rows: Sequence[TrainRow], tokens: int, shares: int = 1, *, packed: bool = False, shared: bool = False
) -> list[list[TrainRow]]:
    """Cut rows into micro-batches of like length, longest first, each of at most `tokens` (padded) tokens.

    With `shared`, rows of one prompt stay together, and a prompt counts once in a micro-batch (see `ATTENTION_COST`).
    Their number is a multiple of `shares`, so that process r of them takes every `shares`-th from r on; what is missing
    is filled with the shortest row at weight 0, since every process must run as often as the others.
    """
    batches = _sharing(rows, tokens) if shared else _like_length(rows, tokens, packed)
    while len(batches) % shares:
        batches.append([replace(batches[-1][-1], weight=0.0)])
    return batches


def _like_length(rows: Sequence[TrainRow], tokens: int, packed: bool) -> list[list[TrainRow]]:
    batches: list[list[TrainRow]] = []
    used = 0
    for row in sorted(rows, key=_longest_first):
        cost = len(row.ids) if packed or not batches else len(batches[-1][0].ids)
        if not batches or used + cost > tokens:
            batches.append([])
            cost, used = len(row.ids), 0
        batches[-1].append(row)
        used += cost
    return batches


def _sharing(rows: Sequence[TrainRow], tokens: int) -> list[list[TrainRow]]:
    groups = [sorted(members, key=_longest_first) for members in _by_prompt(rows).values()]
    batches: list[list[TrainRow]] = []
    prompts: set[tuple[int, ...]] = set()
    distinct = width = 0
    for row in (row for group in sorted(groups, key=lambda group: _longest_first(group[0])) for row in group):
        new = len(row.ids) - (len(row.prompt) if row.prompt in prompts else 0)
        width = max(width, len(row.ids))  # the next prompt's first row may be longer than the batch's first one
        padded = (len(batches[-1]) + 1) * width if batches else 0
        if not batches or distinct + new + (padded - distinct - new) / ATTENTION_COST > tokens:
            batches.append([])
            prompts, distinct, new, width = set(), 0, len(row.ids), len(row.ids)
        batches[-1].append(row)
        prompts.add(row.prompt)
        distinct += new
    return batches


def _longest_first(row: TrainRow) -> tuple[int, int]:
    return -len(row.ids), row.number


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """A micro-batch as tensors on the device; see `PolicyModel.forward` and `losses` for the shapes."""

    ids: Tensor
    positions: Tensor | None
    where: Tensor
    targets: Tensor
    temperature: Tensor | None
    row: Tensor
    sampled: Tensor
    old: Tensor | None
    advantage: Tensor
    reference: Tensor | None
    weight: Tensor
    layout: tuple[Tensor, Tensor] | None = None
    """Where prompts are shared: where each row's tokens stand (rows, length); where each token is there (tokens,)."""


def collate(
    rows: Sequence[TrainRow], device: torch.device, *, packed: bool = False, shared: bool = False
) -> MicroBatch:
    """Put rows into tensors."""
    if shared:
        laid = _with_shared_prompts(rows)
    elif packed:
        laid = _packed(rows)
    else:
        laid = _padded(rows)
    even = all(row.temperature == 1 for row in rows)
    values = torch.tensor([[row.weight, row.temperature] for row in rows for _ in row.where])
    values = to_device(values, device)
    return MicroBatch(
        ids=to_device(laid.ids, device),
        positions=None if laid.positions is None else to_device(laid.positions, device),
        where=to_device(torch.tensor(laid.where), device),
        targets=to_device(torch.tensor([target for row in rows for target in row.targets]), device),
        temperature=None if even else values[:, 1],
        row=to_device(torch.tensor([number for number, row in enumerate(rows) for _ in row.where]), device),
        sampled=to_device(torch.cat([row.sampled for row in rows]), device),
        old=_joined([row.old for row in rows], device),
        advantage=to_device(torch.cat([row.advantage for row in rows]), device),
        reference=_joined([row.reference for row in rows], device),
        weight=values[:, 0],
        layout=None if laid.layout is None else (to_device(laid.layout[0], device), to_device(laid.layout[1], device)),
    )


class _Laid(NamedTuple):
    """Rows in one tensor of ids, (sequences, tokens), on the CPU."""

    ids: Tensor
    where: list[int]
    """Of each learnt token, where its predictor stands among all ids."""
    positions: Tensor | None = None
    """Positions within the rows, where they are not those of the tensor."""
    layout: tuple[Tensor, Tensor] | None = None
    """Of shared prompts, which tokens each row is gathered from and scattered to."""


def _with_shared_prompts(rows: Sequence[TrainRow]) -> _Laid:
    laid = shared_layout([row.ids for row in rows])
    where = [laid.rows[number][index] for number, row in enumerate(rows) for index in row.where]
    layout = (torch.tensor(laid.gathered()), torch.tensor(laid.scattered()))
    return _Laid(torch.tensor([laid.ids]), where, torch.tensor([laid.positions]), layout)


def _packed(rows: Sequence[TrainRow]) -> _Laid:
    """All rows as one sequence."""
    lengths = [len(row.ids) for row in rows]
    where = _where(rows, [sum(lengths[:number]) for number in range(len(rows))])
    ids = torch.tensor([[token for row in rows for token in row.ids]])
    return _Laid(ids, where, torch.cat([torch.arange(length) for length in lengths])[None])


def _padded(rows: Sequence[TrainRow]) -> _Laid:
    """Each row as a sequence, with padding on its right."""
    longest = max(len(row.ids) for row in rows)
    where = _where(rows, [number * longest for number in range(len(rows))])
    return _Laid(torch.tensor([[*row.ids, *[0] * (longest - len(row.ids))] for row in rows]), where)


def _where(rows: Sequence[TrainRow], starts: Sequence[int]) -> list[int]:
    return [start + index for start, row in zip(starts, rows, strict=True) for index in row.where]


def _joined(parts: list[Tensor | None], device: torch.device) -> Tensor | None:
    there = [part for part in parts if part is not None]
    return to_device(torch.cat(there), device) if len(there) == len(parts) else None
