"""Convert trajectories of a step to rows with advantages: filter scored, comparable and short ones; compute metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import fmean

import torch
from torch import Tensor

from verikit.trainers import losses
from verikit.trainers.advantages import GROUPED, estimate
from verikit.trainers.batch import TrainRow, as_row
from verikit.trainers.config import Config
from verikit.trainers.credit import differ, step_metrics, unscored_step_rewards, with_credit
from verikit.trainers.recipe import Trajectory
from verikit.trainers.sections import AdvantageSection, Credit
from verikit.types import PASS_MARK

REWARD = ""
"""The name of the whole reward among the compared values. Parts have their own names."""
References = Callable[[Sequence[TrainRow]], list[Tensor]]


@dataclass(slots=True)
class Experience:
    """Rows to train on, and the metrics of the step."""

    rows: list[TrainRow]
    trajectories: list[Trajectory]
    """Parallel to the rows."""
    metrics: dict[str, float] = field(default_factory=dict)


def supervised(trajectories: Sequence[Trajectory]) -> Experience:
    """Make rows to imitate. Every token has the trajectory's weight."""
    rows = [as_row(number, trajectory) for number, trajectory in enumerate(trajectories)]
    for row, trajectory in zip(rows, trajectories, strict=True):
        row.advantage = torch.full((len(row.where),), float(trajectory.weight))
    return Experience(rows, list(trajectories), {"trajectories": float(len(rows))})


def experience(trajectories: Sequence[Trajectory], config: Config, references: References | None) -> Experience:
    """Score, compare and number a step's trajectories.

    Unscored trajectories are dropped first, then groups of one if the estimator compares within groups. Group
    statistics use only scored trajectories. `references` returns log-probabilities under the reference model, for the
    KL.
    """
    weights = compared(trajectories, config.advantage)
    # An unscored trajectory is dropped before any mean: as a zero it would lower its group's baseline.
    scored = [trajectory for trajectory in trajectories if any_scored(trajectory, weights)]
    # A group of one has nothing to compare with: its advantage would be zero, or its whole reward.
    kept = _comparable(scored) if config.advantage.kind in GROUPED else scored
    rows = [as_row(number, trajectory) for number, trajectory in enumerate(kept)]
    lengths = torch.tensor([len(row.where) for row in rows], dtype=torch.int64)
    advantages = estimate(
        config.advantage.kind,
        _rewards(kept, rows, weights, config),
        _numbers([(trajectory.role, trajectory.group) for trajectory in kept]),
        _numbers([(trajectory.role, trajectory.task) for trajectory in kept]),
        lengths,
        epsilon=config.advantage.epsilon,
        penalties=_penalties(rows, config, references),
        weights=torch.tensor(list(weights.values()), dtype=torch.float64),
    )
    advantages = with_credit(advantages, kept, rows, config.advantage)
    for row, trajectory, value in zip(rows, kept, advantages.split(lengths.tolist()), strict=True):
        row.advantage = (value * trajectory.weight).float()
    if config.loss.overlong == "filter":
        _drop_cut_off(rows, kept)
    metrics = _metrics(trajectories, scored)
    metrics |= {"groups_dropped": float(len(_members(scored)) - len(_members(kept)))}
    metrics |= {"zero_variance": zero_variance(scored, weights, config.advantage.credit)}
    metrics |= step_metrics(scored, config.advantage)
    if config.advantage.kind == "gdpo":
        metrics |= _part_metrics(trajectories, scored, weights)
    return Experience(rows, kept, metrics)


def _drop_cut_off(rows: Sequence[TrainRow], trajectories: Sequence[Trajectory]) -> None:
    """Drop truncated replies from the loss (DAPO). They remain in their group's statistics."""
    for row, trajectory in zip(rows, trajectories, strict=True):
        if not trajectory.finished:
            _drop_from_loss(row)


def _rewards(
    kept: Sequence[Trajectory], rows: Sequence[TrainRow], weights: Mapping[str, float], config: Config
) -> Tensor:
    """Return the reward of each trajectory; for gdpo one column per part (trajectories, parts)."""
    if config.advantage.kind == "gdpo":
        return _columns(kept, weights)
    values = [_reward(trajectory, row, config) for trajectory, row in zip(kept, rows, strict=True)]
    return torch.tensor(values, dtype=torch.float64)  # a mean over thousands of rewards, subtracted from each


def _penalties(rows: Sequence[TrainRow], config: Config, references: References | None) -> Tensor | None:
    """Compute the reference's log-probabilities; return each token's KL if it is part of the reward (tokens,)."""
    if references is None or not rows:
        return None
    for row, known in zip(rows, references(rows), strict=True):
        row.reference = known
    if not config.kl.in_reward:
        return None
    log_ratios = [losses.kl(row.sampled, reference, "k1") for row in rows if (reference := row.reference) is not None]
    return config.kl.coefficient * torch.cat(log_ratios)


def _part_metrics(
    trajectories: Sequence[Trajectory], scored: Sequence[Trajectory], weights: Mapping[str, float]
) -> dict[str, float]:
    """For each part of gdpo's reward: how many groups have equal values, and how many trajectories lack it."""
    metrics = {}
    for name in filter(None, weights):
        metrics[f"zero_variance/{name}"] = zero_variance(scored, [name])
        metrics[f"unscored/{name}"] = float(sum(_value(trajectory, name) is None for trajectory in trajectories))
    return metrics


def compared(trajectories: Sequence[Trajectory], section: AdvantageSection) -> dict[str, float]:
    """Return the names and weights of the values compared within groups: the reward, or for gdpo its parts."""
    if section.kind != "gdpo":
        return {REWARD: 1.0}
    found = sorted({name for trajectory in trajectories for name in trajectory.parts})
    return section.weights or dict.fromkeys(found or [REWARD], 1.0)


def absent(trajectories: Sequence[Trajectory], section: AdvantageSection) -> str:
    """Return an error message if a weighted part has no value in any trajectory, otherwise ""."""
    missing = [name for name in section.weights if all(_value(trajectory, name) is None for trajectory in trajectories)]
    found = sorted({name for trajectory in trajectories for name in trajectory.parts})
    return f"no reward has a part {missing[0]!r}; parts are {', '.join(found) or 'none'}" if missing else ""


def unscored(trajectories: Sequence[Trajectory], section: AdvantageSection, limit: float) -> str:
    """Return an error message if more than a fraction `limit` of a role's trajectories has no reward, otherwise ""."""
    roles: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        roles.setdefault(trajectory.role, []).append(trajectory)
    if not roles:
        return "no trajectory was made"
    if missing := absent(trajectories, section):
        return missing
    lost = {role: [member for member in members if member.reward is None] for role, members in roles.items()}
    worst = max(roles, key=lambda role: len(lost[role]) / len(roles[role]))
    count, of = len(lost[worst]), len(roles[worst])
    if count <= limit * of:
        return unscored_step_rewards(trajectories, section, limit)
    reason = next((trajectory.answer for trajectory in lost[worst] if trajectory.answer), "no reason given")
    return f"{count} of {of} trajectories of role {worst!r} are unscored: {reason}"


def any_scored(trajectory: Trajectory, names: Iterable[str]) -> bool:
    """Whether a trajectory has a value for any of the compared names."""
    return any(_value(trajectory, name) is not None for name in names)


def zero_variance(
    scored: Sequence[Trajectory], names: Collection[str] = (REWARD,), credit: Credit = "trajectory"
) -> float:
    """Return the fraction of groups whose compared values are all equal."""
    groups = _members(scored)
    return fmean(not _differ(members, names, credit) for members in groups.values()) if groups else 0.0


def with_variance(
    trajectories: Sequence[Trajectory], names: Collection[str] = (REWARD,), credit: Credit = "trajectory"
) -> list[Trajectory]:
    """Return the trajectories of groups whose values differ (DAPO's dynamic sampling, arXiv 2503.14476, 3.2)."""
    differ = {key for key, members in _members(trajectories).items() if _differ(members, names, credit)}
    return [trajectory for trajectory in trajectories if (trajectory.role, trajectory.group) in differ]


def _differ(members: Sequence[Trajectory], names: Collection[str], credit: Credit) -> bool:
    values = ({_value(member, name) for member in members} - {None} for name in names)
    return any(len(found) > 1 for found in values) or differ(members, credit)


def _value(trajectory: Trajectory, name: str) -> float | None:
    return trajectory.reward if name == REWARD else trajectory.parts.get(name)


def _columns(trajectories: Sequence[Trajectory], names: Collection[str]) -> Tensor:
    """Return (trajectories, names) values. Missing ones are NaN."""
    values = [[_value(trajectory, name) for name in names] for trajectory in trajectories]
    filled = [[torch.nan if value is None else value for value in row] for row in values]
    return torch.tensor(filled, dtype=torch.float64).reshape(len(values), len(names))


def _comparable(scored: Sequence[Trajectory]) -> list[Trajectory]:
    sizes = Counter((trajectory.role, trajectory.group) for trajectory in scored)
    return [trajectory for trajectory in scored if sizes[trajectory.role, trajectory.group] > 1]


def _members(trajectories: Sequence[Trajectory]) -> dict[tuple[str, Hashable], list[Trajectory]]:
    groups: dict[tuple[str, Hashable], list[Trajectory]] = {}
    for trajectory in trajectories:
        groups.setdefault((trajectory.role, trajectory.group), []).append(trajectory)
    return groups


def _reward(trajectory: Trajectory, row: TrainRow, config: Config) -> float:
    assert trajectory.reward is not None
    limit = config.loss.soft_length
    return trajectory.reward + (
        losses.overlong_penalty(len(row.where), limit, config.loss.soft_margin) if limit else 0.0
    )


def _drop_from_loss(row: TrainRow) -> None:
    """Remove every trained token from a row."""
    row.where, row.targets = [], []
    row.sampled, row.advantage = row.sampled[:0], row.advantage[:0]
    row.reference = None if row.reference is None else row.reference[:0]


def _numbers(keys: Sequence[Hashable]) -> Tensor:
    numbers: dict[Hashable, int] = {}
    return torch.tensor([numbers.setdefault(key, len(numbers)) for key in keys], dtype=torch.int64)


def _metrics(trajectories: Sequence[Trajectory], scored: Sequence[Trajectory]) -> dict[str, float]:
    """Return means of scored trajectories (reward, parts, the reward of each of several roles), lengths and counts."""
    metrics = {
        "trajectories": float(len(trajectories)),
        "unscored": float(sum(trajectory.reward is None for trajectory in trajectories)),
        "length": fmean(sum(trajectory.mask) for trajectory in trajectories) if trajectories else 0.0,
        "finished": fmean(trajectory.finished for trajectory in trajectories) if trajectories else 0.0,
    }
    return metrics | _means(scored)


def _means(scored: Sequence[Trajectory]) -> dict[str, float]:
    """Return the mean reward, each role's mean reward if there are several, and the mean of each part."""
    by_role: dict[str, list[float]] = {}
    by_part: dict[str, list[float]] = {}
    for trajectory in scored:
        if trajectory.reward is not None:
            by_role.setdefault(trajectory.role, []).append(trajectory.reward)
        for name, value in trajectory.parts.items():
            by_part.setdefault(name, []).append(value)
    metrics: dict[str, float] = {}
    if by_role:
        values = list(chain.from_iterable(by_role.values()))
        metrics |= {"reward": fmean(values), "passed": fmean(reward >= PASS_MARK for reward in values)}
    if len(by_role) > 1:
        metrics |= {f"reward/{role}": fmean(by_role[role]) for role in sorted(by_role)}
    return metrics | {f"part/{name}": fmean(by_part[name]) for name in sorted(by_part)}
