"""The objectives, as losses per token: pure functions, one formula each.

All tensors are flat, (tokens,), and contain only sampled tokens, so they need no mask. `row` (tokens,) is the sequence
number of each token. `token_weights` computes the weight of a token's loss in the sum, from the lengths of the whole
batch. So neither micro-batches nor processes change the gradient.
"""

from __future__ import annotations

import torch
from torch import Tensor

FAR = 20.0
"""Log-ratios are clamped to this range, as in verl, so exp stays finite."""
Loss = tuple[Tensor, Tensor]
"""The loss of each token, and whether clipping determined it."""


def ppo(logp: Tensor, old: Tensor, advantage: Tensor, low: float, high: float, dual: float | None = None) -> Loss:
    """-min(ρA, clip(ρ, 1-low, 1+high)A), ρ = π/π_old; PPO, arXiv 1707.06347; two bounds: DAPO, arXiv 2503.14476.

    With `dual` = c the objective is never below cA for A < 0: dual clip, arXiv 1912.09729.
    """
    ratio = _exp(logp - old)
    plain, bounded = ratio * advantage, ratio.clamp(1 - low, 1 + high) * advantage
    value, clipped = torch.minimum(plain, bounded), bounded < plain
    if dual is not None:
        floor = dual * advantage
        clipped = clipped | ((advantage < 0) & (value < floor))
        value = torch.where(advantage < 0, torch.maximum(value, floor), value)
    return -value, clipped


def gspo(logp: Tensor, old: Tensor, advantage: Tensor, row: Tensor, low: float, high: float) -> Loss:
    """PPO's clip on the sequence's ratio s = exp(mean log ρ); GSPO, arXiv 2507.18071, equations 5 and 14.

    The gradient goes through each token: s is a constant, times π/sg(π). The mean over a sequence's tokens then has
    exactly the gradient of s.
    """
    ratio = _exp(row_mean(logp.detach() - old, row))[row] * (logp - logp.detach()).exp()
    plain, bounded = ratio * advantage, ratio.clamp(1 - low, 1 + high) * advantage
    return -torch.minimum(plain, bounded), bounded < plain


def cispo(logp: Tensor, old: Tensor, advantage: Tensor, low: float, high: float) -> Loss:
    """-sg(clip(ρ, 1-low, 1+high)) A log π: no token loses its gradient; MiniMax-M1, arXiv 2506.13585, equation 4."""
    ratio = _exp(logp.detach() - old)
    weight = ratio.clamp(1 - low, 1 + high)
    return -weight * advantage * logp, weight != ratio


def likelihood(logp: Tensor, advantage: Tensor) -> Loss:
    """-A log π: supervised learning. A is the token's weight."""
    return -advantage * logp, torch.zeros_like(logp, dtype=torch.bool)


def kl(logp: Tensor, reference: Tensor, estimator: str) -> Tensor:
    """Estimate KL(π, π_ref) at sampled tokens; d = log π - log π_ref. http://joschu.net/blog/kl-approx.html.

    k1 = d, k2 = d²/2, k3 = exp(-d) + d - 1. As a loss, only k2 has the gradient of the KL. `k1+` and `k3+` have their
    own value and k2's gradient.

    Raises:
        ValueError: The estimator doesn't exist.
    """
    if estimator not in ("k1", "k2", "k3", "k1+", "k3+"):
        raise ValueError(f"there is no KL estimator {estimator!r}: k1, k2, k3, k1+ or k3+")
    d = (logp - reference).clamp(-FAR, FAR)
    if estimator == "k2":
        return d**2 / 2
    value = d if estimator.startswith("k1") else torch.exp(-d) + d - 1
    if not estimator.endswith("+"):
        return value
    right = d**2 / 2
    return right + (value - right).detach()


def mismatch_weight(old: Tensor, sampled: Tensor, row: Tensor, kind: str, cap: float) -> Tensor:
    """Weight for the trainer's π_old against the engine's π that sampled, w = exp(old - sampled); no gradient.

    `truncate`: min(w, cap) (https://fengyao.notion.site/off-policy-rl). `icepop`: w within [1/cap, cap], otherwise 0
    (https://ringtech.notion.site/icepop). `sequence-mask`: 1 if the sequence's mean log w is within, otherwise 0.

    Raises:
        ValueError: The kind doesn't exist.
    """
    if kind not in ("truncate", "icepop", "sequence-mask"):
        raise ValueError(f"there is no mismatch weight {kind!r}: truncate, icepop or sequence-mask")
    log = (old - sampled).detach()
    if kind == "sequence-mask":
        log = row_mean(log, row)[row]
    ratio = _exp(log)
    if kind == "truncate":
        return ratio.clamp(max=cap)
    within = (ratio >= 1 / cap) & (ratio <= cap)
    return torch.where(within, torch.ones_like(ratio) if kind == "sequence-mask" else ratio, 0.0)


def overlong_penalty(length: int, limit: int, margin: int) -> float:
    """0 up to limit - margin tokens, falling to -1 at the limit and beyond; DAPO, arXiv 2503.14476, equation 13."""
    return max(-1.0, min(0.0, (limit - margin - length) / margin))


def token_weights(lengths: Tensor, aggregation: str, constant: int | None = None) -> Tensor:
    """Return (n,) weights, one per token of each sequence. The batch's loss is the weighted sum.

    token-mean: 1/Σ|o|. seq-mean-token-sum: 1/n. seq-mean-token-mean: 1/(n|o|). seq-mean-token-sum-norm: 1/(n ·
    constant), Dr. GRPO's. n is the number of sequences that have tokens.

    Raises:
        ValueError: The aggregation doesn't exist, or its constant is missing.
    """
    lengths = lengths.double()
    rows = (lengths > 0).sum().clamp(min=1)
    if aggregation == "token-mean":
        return torch.ones_like(lengths) / lengths.sum().clamp(min=1)
    if aggregation == "seq-mean-token-mean":
        return 1 / (rows * lengths.clamp(min=1))
    if aggregation == "seq-mean-token-sum":
        return torch.ones_like(lengths) / rows
    if aggregation != "seq-mean-token-sum-norm" or not constant:
        raise ValueError(f"there is no aggregation {aggregation!r} with the constant {constant!r}")
    return torch.ones_like(lengths) / (rows * constant)


def row_mean(values: Tensor, row: Tensor) -> Tensor:
    """Return the mean of each sequence's tokens; (tokens,), padded after the entries of the sequences.

    Every sequence has a token. A result of exactly one entry per sequence would require the number of sequences, and so
    a wait for the device.
    """
    zeros = values.new_zeros(len(row))
    return zeros.index_add(0, row, values) / zeros.index_add(0, row, torch.ones_like(values)).clamp(min=1)


def _exp(log: Tensor) -> Tensor:
    return log.clamp(-FAR, FAR).exp()
