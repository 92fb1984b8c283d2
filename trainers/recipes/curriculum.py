"""A curriculum by difficulty: half of the prompts are new, half are replayed by the success rate of their last group.

A prompt whose last group had the success rate r is replayed with the weight 4 r (1 - r), as in `absolute_zero` with
`mix = "learnable"` (prioritised replay, arXiv 2010.03934). Prompts that were always or never solved are not replayed.
They come back with the next epoch, which measures their rate again.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from verikit.platform.numbers import number
from verikit.trainers.recipe import Trajectory
from verikit.trainers.recipes.base import Epochs


class Curriculum:
    """Draws the next prompt: in turn from the epoch's order and from the prompts seen."""

    def __init__(self, epochs: Epochs) -> None:
        self._epochs = epochs
        self._new = 0
        """Prompts drawn from the epochs' order."""
        self._rates: dict[int, float] = {}
        """The success rate of a prompt's last group, by the prompt's index."""
        self._drawn: dict[Hashable, int] = {}
        """The indices of the current batch, by the number of the draw."""
        self._replays = 0
        """Prompts of the current batch that are replayed."""
        self.replayed = 0.0
        """The fraction of the last batch that was replayed."""

    def draw(self, draw: int) -> int:
        """Return a prompt's index. `draw` is the number of the draw, which is the name of the prompt's group."""
        index = self._replay(draw) if draw % 2 else None
        if index is None:
            index = self._epochs.index(self._new)
            self._new += 1
        else:
            self._replays += 1
        self._drawn[draw] = index
        return index

    def _replay(self, draw: int) -> int | None:
        batch = set(self._drawn.values())
        weights = {index: 4 * rate * (1 - rate) for index, rate in self._rates.items() if index not in batch}
        known = sorted(index for index, weight in weights.items() if weight > 0)
        if not known:
            return None
        chance = random.Random(f"{self._epochs.key} replay {draw}")
        return chance.choices(known, [weights[index] for index in known])[0]

    def note(self, trajectories: Iterable[Trajectory]) -> None:
        """Update the rates by a batch's rewards, limited to 0 to 1. Unscored groups leave them unchanged."""
        rewards: dict[int, list[float]] = {}
        for trajectory in trajectories:
            if trajectory.reward is not None and trajectory.group in self._drawn:
                rewards.setdefault(self._drawn[trajectory.group], []).append(min(1.0, max(0.0, trajectory.reward)))
        self._rates |= {index: fmean(values) for index, values in rewards.items()}
        self.replayed = self._replays / max(1, len(self._drawn))
        self._drawn, self._replays = {}, 0

    def state(self) -> dict[str, Any]:
        """Return the state to save in a checkpoint."""
        return {"new": self._new, "rates": [[index, rate] for index, rate in self._rates.items()]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state that `state` returned.

        Raises:
            ValueError: It contains something other than indices and rates.
        """
        pairs: Sequence[tuple[Any, Any]] = [(index, rate) for index, rate in state["rates"]]
        fine = all(
            isinstance(index, int) and 0 <= index < self._epochs.count and 0 <= (number(rate) or 0.0) <= 1
            for index, rate in pairs
        )
        if not fine or not isinstance(state["new"], int) or state["new"] < 0:
            raise ValueError("the curriculum has other prompts or no success rates")
        self._new, self._rates = state["new"], {index: float(rate) for index, rate in pairs}
        self._drawn, self._replays = {}, 0
