"""From a step's trajectories to rows with advantages: what is scored, comparable and short enough, and its metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import torch
from torch import Tensor

from verikit.trainers import losses
from verikit.trainers.advantages import GROUPED, estimate
from verikit.trainers.batch import TrainRow, as_row
from verikit.trainers.config import Config
from verikit.trainers.recipe import Trajectory
from verikit.types import PASS_MARK

References = Callable[[Sequence[TrainRow]], list[Tensor]]


@dataclass(slots=True)
class Experience:
    """Rows to learn from, and what is to be told of the step."""

    rows: list[TrainRow]
    trajectories: list[Trajectory]
    """Parallel to the rows."""
    metrics: dict[str, float] = field(default_factory=dict)


def supervised(trajectories: Sequence[Trajectory]) -> Experience:
    """Make rows to imitate: every token counts the trajectory's weight."""
    rows = [as_row(number, trajectory) for number, trajectory in enumerate(trajectories)]
    for row, trajectory in zip(rows, trajectories, strict=True):
        row.advantage = torch.full((len(row.where),), float(trajectory.weight))
    return Experience(rows, list(trajectories), {"trajectories": float(len(rows))})


def experience(trajectories: Sequence[Trajectory], config: Config, references: References | None) -> Experience:
    """Score, compare and number a step's trajectories.

    The unscored leave, then groups left with one member where the estimator compares within groups. Group statistics
    are of the scored. `references` gives log-probabilities under the reference model where the KL is wanted.
    """
    scored = [trajectory for trajectory in trajectories if trajectory.reward is not None]
    kept = _comparable(scored) if config.advantage.kind in GROUPED else scored
    rows = [as_row(number, trajectory) for number, trajectory in enumerate(kept)]
    rewards = torch.tensor(
        [_reward(trajectory, row, config) for trajectory, row in zip(kept, rows, strict=True)], dtype=torch.float64
    )
    lengths = torch.tensor([len(row.where) for row in rows], dtype=torch.int64)
    groups, kinds = (
        _numbers([(trajectory.role, trajectory.group) for trajectory in kept]),
        _numbers([(trajectory.role, trajectory.task) for trajectory in kept]),
    )
    penalties = None
    if references is not None and rows:
        for row, known in zip(rows, references(rows), strict=True):
            row.reference = known
        if config.kl.in_reward:
            log_ratios = [
                losses.kl(row.sampled, reference, "k1") for row in rows if (reference := row.reference) is not None
            ]
            penalties = config.kl.coefficient * torch.cat(log_ratios)
    values = estimate(
        config.advantage.kind, rewards, groups, kinds, lengths, epsilon=config.advantage.epsilon, penalties=penalties
    )
    for row, trajectory, value in zip(rows, kept, values.split(lengths.tolist()), strict=True):
        row.advantage = (value * trajectory.weight).float()
        if config.loss.overlong == "filter" and not trajectory.finished:
            _drop_from_loss(row)
    metrics = _metrics(trajectories, scored) | {"groups_dropped": float(len(_groups(scored)) - len(_groups(kept)))}
    return Experience(rows, kept, metrics | {"zero_variance": zero_variance(scored)})


def zero_variance(scored: Sequence[Trajectory]) -> float:
    """Return the share of groups whose rewards are all the same."""
    groups = _groups(scored)
    return fmean(len(set(rewards)) == 1 for rewards in groups.values()) if groups else 0.0


def with_variance(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """Return the trajectories of groups whose rewards differ (DAPO's dynamic sampling, arXiv 2503.14476, 3.2)."""
    groups = _groups([trajectory for trajectory in trajectories if trajectory.reward is not None])
    return [
        trajectory for trajectory in trajectories if len(set(groups.get((trajectory.role, trajectory.group), ()))) > 1
    ]


def _comparable(scored: Sequence[Trajectory]) -> list[Trajectory]:
    sizes = Counter((trajectory.role, trajectory.group) for trajectory in scored)
    return [trajectory for trajectory in scored if sizes[trajectory.role, trajectory.group] > 1]


def _groups(scored: Sequence[Trajectory]) -> dict[tuple[str, Hashable], list[float]]:
    groups: dict[tuple[str, Hashable], list[float]] = {}
    for trajectory in scored:
        assert trajectory.reward is not None
        groups.setdefault((trajectory.role, trajectory.group), []).append(trajectory.reward)
    return groups


def _reward(trajectory: Trajectory, row: TrainRow, config: Config) -> float:
    assert trajectory.reward is not None
    limit = config.loss.soft_length
    return trajectory.reward + (
        losses.overlong_penalty(len(row.where), limit, config.loss.soft_margin) if limit else 0.0
    )


def _drop_from_loss(row: TrainRow) -> None:
    """Take every learnt token out of a row."""
    row.where, row.targets = [], []
    row.sampled, row.advantage = row.sampled[:0], row.advantage[:0]
    row.reference = None if row.reference is None else row.reference[:0]


def _numbers(keys: Sequence[Hashable]) -> Tensor:
    numbers: dict[Hashable, int] = {}
    return torch.tensor([numbers.setdefault(key, len(numbers)) for key in keys], dtype=torch.int64)


def _metrics(trajectories: Sequence[Trajectory], scored: Sequence[Trajectory]) -> dict[str, float]:
    """Return means over the scored: reward, each part of it, by role where there are several; lengths and counts."""
    metrics = {
        "trajectories": float(len(trajectories)),
        "unscored": float(len(trajectories) - len(scored)),
        "length": fmean(sum(trajectory.mask) for trajectory in trajectories) if trajectories else 0.0,
        "finished": fmean(trajectory.finished for trajectory in trajectories) if trajectories else 0.0,
    }
    if not scored:
        return metrics
    rewards = [trajectory.reward for trajectory in scored if trajectory.reward is not None]
    metrics |= {"reward": fmean(rewards), "passed": fmean(reward >= PASS_MARK for reward in rewards)}
    roles = {trajectory.role for trajectory in scored}
    for role in sorted(roles) if len(roles) > 1 else ():
        metrics[f"reward/{role}"] = fmean(
            trajectory.reward for trajectory in scored if trajectory.role == role and trajectory.reward is not None
        )
    for name in sorted({name for trajectory in scored for name in trajectory.parts}):
        metrics[f"part/{name}"] = fmean(trajectory.parts[name] for trajectory in scored if name in trajectory.parts)
    return metrics
