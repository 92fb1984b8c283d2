"""Turn one batch of rows into optimizer steps: forward, loss, backward, clip, step.

All normalisation constants are computed from the whole batch before it is cut up. Neither micro-batches nor processes
change the gradient. Rows with zero advantage have no gradient and are skipped. They still count in the averages of
losses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from verikit.errors import TrainerError
from verikit.trainers import losses
from verikit.trainers.batch import MicroBatch, TrainRow, collate, micro_batches, worth_sharing
from verikit.trainers.config import BatchSection, Config, KLSection, LossSection, OptimizerSection
from verikit.trainers.distributed import World
from verikit.trainers.precision import make_optimizer

SUMS = ("tokens", "loss", "clip_share", "entropy", "kl", "mismatch")
"""Sums over tokens while training. The entropy is estimated by the mean of -log π, which needs no logits."""


class Learner:
    """The policy with its optimizer and objective."""

    module: Any
    world: World
    options: OptimizerSection
    loss: LossSection
    steps: int
    kl: KLSection
    batch: BatchSection
    limit: int
    optimizer: Any
    bad_steps: int
    updates: int

    def __init__(
        self, module: Any, world: World, config: Config, optimizer: OptimizerSection, loss: LossSection, steps: int
    ) -> None:
        """Take the wrapped policy; `steps` is the total number of batches, for the learning rate."""
        self.module, self.world, self.options, self.loss, self.steps = module, world, optimizer, loss, steps
        self.kl, self.batch, self.limit = config.kl, config.batch, config.run.max_bad_steps
        self.optimizer = make_optimizer(module, optimizer)
        self.bad_steps = 0
        """Optimizer steps in a row whose gradient was not finite."""
        self.updates = 0
        """Number of updates of the weights, the same on every process."""

    def learn(self, rows: Sequence[TrainRow], step: int) -> dict[str, float]:
        """Take the optimizer steps of one batch and return its metrics.

        Raises:
            TrainerError: The gradient was not finite for too many steps in a row.
        """
        if self.loss.mismatch != "ignore" and self.batch.minibatches * self.batch.epochs > 1:
            for row, logp in zip(rows, token_logprobs(self.module, rows, self.world, self.batch), strict=True):
                row.old = logp
        metrics = {"lr": self._set_rate(step), "grad_norm": 0.0, "rows_learnt": 0.0, "skipped": 0.0}
        totals = torch.zeros(len(SUMS), dtype=torch.float64)
        for _ in range(self.batch.epochs):
            for part in _parts(rows, self.batch.minibatches):
                sums, norm, learnt = self._step(part)
                totals += sums
                metrics["rows_learnt"] += learnt
                self.bad_steps = 0 if math.isfinite(norm) else self.bad_steps + 1
                metrics["skipped" if self.bad_steps else "grad_norm"] += 1 if self.bad_steps else norm
        if self.bad_steps >= self.limit:
            raise TrainerError(
                f"the gradient was not finite {self.bad_steps} times in a row", hint="lower optimizer.lr"
            )
        return metrics | self._means(totals)

    def _means(self, totals: Tensor) -> dict[str, float]:
        """Return the sums of all processes, divided by the number of tokens."""
        everywhere = [sum(column) for column in zip(*self.world.gather(totals.tolist()), strict=True)]
        tokens = everywhere[0]
        return {name: value / max(tokens, 1) for name, value in zip(SUMS, everywhere, strict=True)} | {"tokens": tokens}

    def _step(self, rows: Sequence[TrainRow]) -> tuple[Tensor, float, int]:
        """Take one optimizer step; return the sums, the gradient's norm and the number of rows trained on."""
        lengths = torch.tensor([len(row.where) for row in rows])
        weights = losses.token_weights(lengths, self.loss.aggregation, self.loss.length)
        for row, weight in zip(rows, weights.tolist(), strict=True):
            row.weight = weight
        live = self._live(rows)
        totals = torch.zeros(len(SUMS), dtype=torch.float64, device=self.world.device)
        if not live:
            return totals.cpu(), 0.0, 0
        mine, share = _own_micro_batches(self.module, live, self.world, self.batch)
        for number, (_, micro) in enumerate(mine, 1):
            with self.world.accumulating(self.module, last=number == share):
                totals += self._backward(micro)
        norm = self.world.clip_gradients(self.module, self.options.grad_clip)
        if math.isfinite(norm):
            self.optimizer.step()
            self.updates += 1
        self.optimizer.zero_grad(set_to_none=True)
        return totals.cpu(), norm, len(live)  # synchronises with the device once per step

    def _live(self, rows: Sequence[TrainRow]) -> list[TrainRow]:
        """Return the rows with a gradient. A KL or an entropy in the loss gives one to rows with zero advantage too."""
        all_learn = (self.kl.coefficient > 0 and not self.kl.in_reward) or self.loss.entropy != 0
        return [row for row in rows if row.where and (all_learn or row.live)]

    def _backward(self, micro: MicroBatch) -> Tensor:
        """Add one micro-batch's gradient and return its sums, on the device."""
        want_entropy = self.loss.entropy != 0
        logp, entropy = self.module(
            micro.ids, micro.where, micro.targets, micro.positions, micro.temperature, want_entropy, micro.layout
        )
        logp = logp.to(micro.advantage.dtype)
        now = logp.detach()
        supervised = self.loss.kind == "likelihood"
        old = micro.old
        if old is None:
            old = now if self.loss.mismatch != "ignore" else micro.sampled
        value, clipped = self._objective(logp, old, micro)
        if self.loss.mismatch != "ignore" and not supervised:
            kind, cap = self.loss.mismatch, self.loss.mismatch_cap
            value = value * losses.mismatch_weight(old, micro.sampled, micro.row, kind, cap)
        if micro.reference is not None and not self.kl.in_reward:
            value = value + self.kl.coefficient * losses.kl(logp, micro.reference, self.kl.estimator)
        if entropy is not None:
            value = value - self.loss.entropy * entropy
        loss = (value * micro.weight).sum()
        (loss * self.world.size).backward()
        return _sums(now, value.detach(), clipped, micro, supervised=supervised)

    def _objective(self, logp: Tensor, old: Tensor, micro: MicroBatch) -> losses.Loss:
        low, high = self.loss.clip_low, self.loss.clip_high
        if self.loss.kind == "likelihood":
            return losses.likelihood(logp, micro.advantage)
        if self.loss.kind == "gspo":
            return losses.gspo(logp, old, micro.advantage, micro.row, low, high)
        if self.loss.kind == "cispo":
            return losses.cispo(logp, old, micro.advantage, low, high)
        return losses.ppo(logp, old, micro.advantage, low, high, self.loss.dual_clip)

    def _set_rate(self, step: int) -> float:
        """Set the learning rate of a step, 1 being the first."""
        options = self.options
        rate = options.lr * min(1.0, step / options.warmup_steps if options.warmup_steps else 1.0)
        if options.schedule == "cosine" and step > options.warmup_steps:
            done = (step - options.warmup_steps) / max(1, self.steps - options.warmup_steps)
            rate = options.lr * (0.1 + 0.9 * (1 + math.cos(math.pi * min(1.0, done))) / 2)
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):  # torchao's optimizers
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        return rate


def _sums(now: Tensor, value: Tensor, clipped: Tensor, micro: MicroBatch, *, supervised: bool) -> Tensor:
    """Return the sums over a micro-batch's tokens, for metrics, in the order of `SUMS`."""
    nothing = torch.zeros_like(now)
    # Supervised tokens were not sampled, so there is no policy to differ from.
    kl_to_reference = losses.kl(now, micro.sampled if micro.reference is None else micro.reference, "k3")
    log_ratio = (now - micro.sampled).abs()
    policy = (nothing, nothing) if supervised else (kl_to_reference, log_ratio)
    columns = (torch.ones_like(now), value, clipped, -now, *policy)
    real = micro.weight > 0
    return torch.stack([(column * real).double().sum() for column in columns])


@torch.no_grad()
def token_logprobs(module: Any, rows: Sequence[TrainRow], world: World, batch: BatchSection) -> list[Tensor]:
    """Return each row's log-probabilities (trained tokens,) under a policy, on the CPU, on every process."""
    done: list[tuple[int, list[float]]] = []
    for part, micro in _own_micro_batches(module, [row for row in rows if row.where], world, batch)[0]:
        logp, _ = module(micro.ids, micro.where, micro.targets, micro.positions, micro.temperature, layout=micro.layout)
        pieces = logp.float().cpu().split([len(row.where) for row in part])
        done += [(row.number, piece.tolist()) for row, piece in zip(part, pieces, strict=True)]
    found = dict(pair for share in world.gather(done) for pair in share)
    return [torch.tensor(found.get(row.number, [])) for row in rows]


def _own_micro_batches(
    module: Any, rows: Sequence[TrainRow], world: World, batch: BatchSection
) -> tuple[Iterator[tuple[list[TrainRow], MicroBatch]], int]:
    """Return this process's micro-batches, each built lazily, and their number (the same on every process).

    Whether prompts are shared depends on all rows, so every process makes the same decision.
    """
    policy = getattr(module, "module", module)  # inside DDP's wrapper
    shared = batch.share_prompts and policy.shares_prompts and worth_sharing(rows)
    mine = micro_batches(rows, batch.tokens, world.size, packed=batch.packing, shared=shared)[world.rank :: world.size]
    made = ((part, collate(part, world.device, packed=batch.packing, shared=shared)) for part in mine)
    return made, len(mine)


def _parts(rows: Sequence[TrainRow], count: int) -> list[Sequence[TrainRow]]:
    """Cut rows into `count` runs of about equal length."""
    size = math.ceil(len(rows) / count)
    return [rows[start : start + size] for start in range(0, len(rows), size)] if rows else []
