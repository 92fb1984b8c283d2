"""Credit by turn or step: rewards inside a trajectory, compared within its group, for the tokens up to them.

A trajectory has rewards r_1, r_2, ... at positions e_1 <= e_2 <= ... of its ids, and its own reward (the outcome). A
sampled token at position p gets

    outcome_weight * A + step_weight * (sum of c(r_k) over the k with e_k >= p)

A is the advantage of the outcome. c compares a reward with others as `advantage.kind` compares outcomes: for grpo, c(r)
= (r - mean) / (standard deviation + epsilon).

`step`: c compares all rewards of a group with one another. This is process supervision in DeepSeekMath, arXiv
2402.03300, 4.1.3. There R is the set of rewards of all steps of a group. (r - mean(R)) / std(R) is summed over the
steps that end at the token or later.

`turn`: c compares the k-th reward of a trajectory with the k-th rewards of its group. This is the turn-level credit of
MT-GRPO, arXiv 2505.11821: A^T + lambda * A^O in the first turn, A^O in the last. With lambda = 1 it is the sum above
with one reward, at the end of the first turn. With more rewards, a turn also gets the rewards of later turns.

An unscored reward keeps its number k. It enters no mean and adds nothing. A reward that has nothing to compare with
adds nothing either.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from statistics import fmean

import torch
from torch import Tensor

from verikit.trainers.advantages import estimate
from verikit.trainers.batch import TrainRow
from verikit.trainers.recipe import Trajectory
from verikit.trainers.sections import AdvantageSection, Credit


def with_credit(
    outcome: Tensor, trajectories: Sequence[Trajectory], rows: Sequence[TrainRow], section: AdvantageSection
) -> Tensor:
    """Weigh the outcomes' flat token advantages and add turn or step advantages. `trajectory` leaves them unchanged."""
    if section.credit == "trajectory":
        return outcome
    compared = _compared(trajectories, section)
    steps = [
        _from_here_on(ends, values, row)
        for (ends, values), row in zip(_by_trajectory(trajectories, compared), rows, strict=True)
    ]
    outcome_weight = 1.0 if section.outcome_weight is None else section.outcome_weight
    step_weight = 1.0 if section.step_weight is None else section.step_weight
    return outcome_weight * outcome + step_weight * torch.cat([outcome[:0], *steps])


def differ(members: Sequence[Trajectory], credit: Credit) -> bool:
    """Whether a group's rewards by turn or step differ. False if only whole trajectories are compared."""
    values: dict[Hashable, set[float]] = {}
    for key, value in _keyed(members, credit) if credit != "trajectory" else ():
        values.setdefault(key, set()).add(value)
    return any(len(found) > 1 for found in values.values())


def step_metrics(trajectories: Sequence[Trajectory], section: AdvantageSection) -> dict[str, float]:
    """Return the mean reward by turn or step, the number per trajectory, and how many are unscored."""
    if section.credit == "trajectory":
        return {}
    values = [step.value for trajectory in trajectories for step in trajectory.step_rewards]
    scored = [value for value in values if value is not None]
    metrics = {
        "step_rewards": len(values) / (len(trajectories) or 1),
        "unscored_step_rewards": float(len(values) - len(scored)),
    }
    return metrics | ({"step_reward": fmean(scored)} if scored else {})


def unscored_step_rewards(trajectories: Sequence[Trajectory], section: AdvantageSection, limit: float) -> str:
    """Return an error message if too many rewards by turn or step are unscored (a fraction above `limit`), or ""."""
    if section.credit == "trajectory":
        return ""
    values = [step.value for trajectory in trajectories for step in trajectory.step_rewards]
    lost = sum(value is None for value in values)
    is_too_many = lost > limit * len(values)
    return f"{lost} of {len(values)} rewards by {section.credit} are unscored" if is_too_many else ""


def _keyed(trajectories: Sequence[Trajectory], credit: Credit) -> Iterator[tuple[Hashable, float]]:
    """Yield each scored reward with the key of the rewards to compare it with."""
    for trajectory in trajectories:
        for number, step in enumerate(trajectory.step_rewards):
            if step.value is not None:
                yield (trajectory.role, trajectory.group, number if credit == "turn" else 0), step.value


def _compared(trajectories: Sequence[Trajectory], section: AdvantageSection) -> Tensor:
    """Return every scored reward as the estimator compares it with the others of its key, in order."""
    keyed = list(_keyed(trajectories, section.credit))
    numbers: dict[Hashable, int] = {}
    keys = torch.tensor([numbers.setdefault(key, len(numbers)) for key, _ in keyed], dtype=torch.int64)
    rewards = torch.tensor([value for _, value in keyed], dtype=torch.float64)
    return estimate(section.kind, rewards, keys, keys, torch.ones_like(keys), epsilon=section.epsilon)


def _by_trajectory(trajectories: Sequence[Trajectory], compared: Tensor) -> Iterator[tuple[list[int], Tensor]]:
    """Yield the positions and the compared values of each trajectory's scored rewards."""
    scored = [[step.end for step in trajectory.step_rewards if step.value is not None] for trajectory in trajectories]
    yield from zip(scored, compared.split([len(ends) for ends in scored]), strict=True)


def _from_here_on(ends: Sequence[int], values: Tensor, row: TrainRow) -> Tensor:
    """Return for each trained token the sum of the values at it or later. It is exactly 0 after the last."""
    sums = torch.cat([values.flip(0).cumsum(0).flip(0), values.new_zeros(1)])
    tokens = torch.tensor(row.where, dtype=torch.int64) + 1  # a position predicts the token after it
    return sums[torch.searchsorted(torch.tensor(ends, dtype=torch.int64), tokens)]
