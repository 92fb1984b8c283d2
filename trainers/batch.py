"""Turn trajectories into rows, and rows into micro-batches: sorted by length, under a token budget, padded or packed.

A row contains only the ids up to the last position that predicts a target, and flat values per trained token. Padding
is on the right and is ignored, so its id does not matter. Rows with the same prompt stay together, and each prompt is
laid out once (see `sharing`).
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
"""Sharing prompts is used only if it saves more than this fraction of a batch's tokens."""
ATTENTION_COST = 8
"""Divisor for the cost of a token that only attention sees (padding, further copies of a prompt).

Such a token has queries, keys, values and their output: at most a sixth of the memory that a layer needs per token.
"""


@dataclass(slots=True)
class TrainRow:
    """One sequence to train on. Tensors are (trained tokens,), on the CPU."""

    number: int
    """The row's index in the batch."""
    ids: Sequence[int]
    where: list[int]
    """Positions whose hidden state predicts a target."""
    targets: list[int]
    sampled: Tensor
    """Log-probabilities from the engine that sampled."""
    advantage: Tensor
    temperature: float = 1.0
    old: Tensor | None = None
    """The trainer's log-probabilities before the update. None: the forward pass supplies them."""
    reference: Tensor | None = None
    weight: float = 0.0
    """The weight of a token in the sum of losses."""

    @property
    def live(self) -> bool:
        """Whether any token has an advantage."""
        return bool(self.advantage.any())

    @property
    def prompt(self) -> tuple[int, ...]:
        """The ids before the first trained token."""
        return tuple(self.ids[: self.where[0] + 1])


def as_row(number: int, trajectory: Trajectory) -> TrainRow:
    """Extract the training targets of a trajectory: the token after each position, or the position's own class.

    The first token of a sequence has no predecessor, so it is never a target.
    """
    shift = 0 if trajectory.labels else 1
    learnt = [index for index, own in enumerate(trajectory.mask) if own and index >= shift]
    targets = [(trajectory.labels or trajectory.ids)[index] for index in learnt]
    where = [index - shift for index in learnt]
    sampled = torch.tensor([trajectory.logprobs[index] for index in learnt])
    ids = trajectory.ids[: where[-1] + 1] if where else ()
    return TrainRow(number, ids, where, targets, sampled, torch.zeros(len(where)), trajectory.temperature)


def worth_sharing(rows: Sequence[TrainRow]) -> bool:
    """Whether computing shared prompts once saves enough tokens. The constant above is the minimum fraction."""
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
    """Cut rows into micro-batches of similar length, longest first, each of at most `tokens` (padded) tokens.

    With `shared`, rows of one prompt stay together, and a micro-batch includes each prompt once (see `ATTENTION_COST`).
    The number of micro-batches is a multiple of `shares`: process r takes every `shares`-th one, starting at r. The
    shortest row fills missing micro-batches, at weight 0, because every process must run equally often.
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
    """With shared prompts: the index of each row's tokens (rows, length), and of each token in the rows (tokens,)."""


def collate(
    rows: Sequence[TrainRow], device: torch.device, *, packed: bool = False, shared: bool = False
) -> MicroBatch:
    """Build the tensors of a micro-batch from rows."""
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
    """The index among all ids of the position that predicts each trained token."""
    positions: Tensor | None = None
    """Positions within the rows, if they differ from the positions in the tensor."""
    layout: tuple[Tensor, Tensor] | None = None
    """With shared prompts, the tokens that each row is gathered from and scattered to."""


def _with_shared_prompts(rows: Sequence[TrainRow]) -> _Laid:
    laid = shared_layout([row.ids for row in rows])
    where = [laid.rows[number][index] for number, row in enumerate(rows) for index in row.where]
    layout = (torch.tensor(laid.gathered()), torch.tensor(laid.scattered()))
    return _Laid(torch.tensor([laid.ids]), where, torch.tensor([laid.positions]), layout)


def _packed(rows: Sequence[TrainRow]) -> _Laid:
    """Arrange all rows as one sequence."""
    lengths = [len(row.ids) for row in rows]
    where = _where(rows, [sum(lengths[:number]) for number in range(len(rows))])
    ids = torch.tensor([[token for row in rows for token in row.ids]])
    return _Laid(ids, where, torch.cat([torch.arange(length) for length in lengths])[None])


def _padded(rows: Sequence[TrainRow]) -> _Laid:
    """Arrange each row as a sequence, padded on the right."""
    longest = max(len(row.ids) for row in rows)
    where = _where(rows, [number * longest for number in range(len(rows))])
    return _Laid(torch.tensor([[*row.ids, *[0] * (longest - len(row.ids))] for row in rows]), where)


def _where(rows: Sequence[TrainRow], starts: Sequence[int]) -> list[int]:
    return [start + index for start, row in zip(starts, rows, strict=True) for index in row.where]


def _joined(parts: list[Tensor | None], device: torch.device) -> Tensor | None:
    there = [part for part in parts if part is not None]
    return to_device(torch.cat(there), device) if len(there) == len(parts) else None
