"""Compute advantages from rewards, with one function per estimator.

Shapes: `rewards` (n,) of scored trajectories, `groups` (n,) group numbers, `lengths` (n,) sampled tokens per
trajectory. Flat token values are (sum of lengths,). Everything is computed in float64. Groups of one and groups of
equal rewards give exactly 0, not a rounding error divided by a tiny deviation.
"""

from __future__ import annotations

import torch
from torch import Tensor

SAME = 1e-9
"""Rewards closer than this, relative to their size, are equal."""
GROUPED = frozenset({"grpo", "dr-grpo", "rloo", "reinforce++-baseline", "gdpo"})
"""Estimators that compare within groups. They need two scored members per group."""


def grpo(rewards: Tensor, groups: Tensor, epsilon: float = 1e-6) -> Tensor:
    """(r - mean of the group) / (its sample standard deviation + epsilon); DeepSeekMath, arXiv 2402.03300, 4.1.2."""
    count, centred, live = _centred(rewards, groups)
    squares = torch.zeros_like(count).index_add_(0, groups, centred**2)
    deviation = (squares / (count - 1).clamp(min=1)).sqrt()
    return torch.where(live, centred / (deviation[groups] + epsilon), 0.0)


def dr_grpo(rewards: Tensor, groups: Tensor) -> Tensor:
    """The reward less the mean of the group; Dr. GRPO, arXiv 2503.20783, 3.2."""
    _, centred, live = _centred(rewards, groups)
    return torch.where(live, centred, 0.0)


def rloo(rewards: Tensor, groups: Tensor) -> Tensor:
    """The reward less the mean of the other members of the group; RLOO, arXiv 2402.14740, equation 8."""
    count, centred, live = _centred(rewards, groups)
    size = count[groups]
    return torch.where(live, centred * size / (size - 1).clamp(min=1), 0.0)


def gdpo(parts: Tensor, weights: Tensor, groups: Tensor, epsilon: float = 1e-6) -> Tensor:
    """Normalise each part of the reward within its group, sum by weights, divide by the batch's standard deviation.

    GDPO, arXiv 2601.05242, section 3, over trajectories like TRL's `normalize_then_sum`. The sums of a batch already
    have mean 0, because each part has mean 0 in each group.

    Args:
        parts: (n, k). NaN marks an unscored part. It enters no statistic and adds nothing.
        weights: (k,).
        groups: (n,).
        epsilon: Added to both standard deviations.
    """
    total = parts.new_zeros(len(parts))
    for column, weight in zip(parts.T, weights.tolist(), strict=True):
        scored = (~column.isnan()).nonzero()[:, 0]
        total.index_add_(0, scored, weight * grpo(column[scored], groups[scored], epsilon))
    return total / (total.std() + epsilon) if len(total) > 1 and total.any() else torch.zeros_like(total)


def returns_to_go(rewards: Tensor, lengths: Tensor, penalties: Tensor | None = None) -> Tensor:
    """Return each token's reward less the penalties at this token and later (discount 1). The result is flat.

    REINFORCE++, arXiv 2501.03262, section 3.2. A penalty is the coefficient times k1 at a token.
    """
    result = rewards.repeat_interleave(lengths)
    if penalties is None:
        return result
    parts = penalties.double().split(lengths.tolist())
    return result - torch.cat([part.flip(0).cumsum(0).flip(0) for part in parts])


def whiten(values: Tensor) -> Tensor:
    """(x - mean) / sqrt(unbiased variance + 1e-8) of the given tokens, like verl's `masked_whiten`."""
    if len(values) < 2 or _same(values.min(), values.max()):
        return torch.zeros_like(values)
    return (values - values.mean()) * (values.var() + 1e-8).rsqrt()


def reinforce_pp(rewards: Tensor, lengths: Tensor, penalties: Tensor | None = None) -> Tensor:
    """Returns to go, whitened over the batch's tokens; REINFORCE++, arXiv 2501.03262; flat."""
    return whiten(returns_to_go(rewards, lengths, penalties))


def reinforce_pp_baseline(rewards: Tensor, groups: Tensor, lengths: Tensor) -> Tensor:
    """The reward less the group's mean, whitened over the batch's tokens; REINFORCE++-baseline as in verl; flat."""
    return whiten(dr_grpo(rewards, groups).repeat_interleave(lengths))


def trr_pp(rewards: Tensor, kinds: Tensor, lengths: Tensor, penalties: Tensor | None = None) -> Tensor:
    """REINFORCE++ with one mean and variance per (task, role); Absolute Zero, arXiv 2505.03335, 3.3.5; flat."""
    values, kind = returns_to_go(rewards, lengths, penalties), kinds.repeat_interleave(lengths)
    result = torch.empty_like(values)
    for number in kinds.unique():
        result[kind == number] = whiten(values[kind == number])
    return result


def estimate(
    name: str,
    rewards: Tensor,
    groups: Tensor,
    kinds: Tensor,
    lengths: Tensor,
    *,
    epsilon: float = 1e-6,
    penalties: Tensor | None = None,
    weights: Tensor | None = None,
) -> Tensor:
    """Return flat token advantages of the named estimator; `kinds` (n,) numbers each (task, role).

    Estimators with one advantage per trajectory subtract the sum of its penalties from its reward. For `gdpo`, rewards
    are (n, k) parts with k `weights`. Rewards of shape (n,) are treated as one part.
    """
    rewards = rewards.double()
    if name == "gdpo":
        parts = rewards if rewards.dim() == 2 else rewards[:, None]
        weights = torch.ones(parts.shape[1]) if weights is None else weights
        return gdpo(parts, weights, groups, epsilon).repeat_interleave(lengths)
    if name == "reinforce++":
        return reinforce_pp(rewards, lengths, penalties)
    if name == "trr++":
        return trr_pp(rewards, kinds, lengths, penalties)
    if penalties is not None:
        row = torch.arange(len(lengths)).repeat_interleave(lengths)
        rewards = rewards.index_add(0, row, -penalties.double())
    if name == "reinforce++-baseline":
        return reinforce_pp_baseline(rewards, groups, lengths)
    advantages = {"grpo": lambda r, g: grpo(r, g, epsilon), "dr-grpo": dr_grpo, "rloo": rloo}[name](rewards, groups)
    return advantages.repeat_interleave(lengths)


def _centred(rewards: Tensor, groups: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return each group's size, each reward less its group's mean, and whether the rewards of its group differ."""
    size = int(groups.max()) + 1 if len(groups) else 0
    zeros = rewards.new_zeros(size)
    count = zeros.index_add(0, groups, torch.ones_like(rewards))
    mean = zeros.index_add(0, groups, rewards) / count.clamp(min=1)
    low = zeros.scatter_reduce(0, groups, rewards, "amin", include_self=False)
    high = zeros.scatter_reduce(0, groups, rewards, "amax", include_self=False)
    return count, rewards - mean[groups], ~_same(low, high)[groups]


def _same(low: Tensor, high: Tensor) -> Tensor:
    return high - low <= SAME * torch.maximum(low.abs(), high.abs())
