"""The results of one step's rounds: proposals and solutions with their verdicts, rewards and metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from verikit.engines.types import Generation
from verikit.trainers.recipe import Sampler
from verikit.trainers.recipes.absolute_zero.buffers import Buffer
from verikit.trainers.recipes.absolute_zero.environment import Environment, ProgramVerdict
from verikit.trainers.recipes.absolute_zero.extras import extra_rewards
from verikit.trainers.recipes.absolute_zero.options import AbsoluteZeroOptions, Task
from verikit.trainers.recipes.absolute_zero.problem import Problem
from verikit.trainers.recipes.absolute_zero.rewards import combined, proposer_reward


@dataclass(frozen=True, slots=True)
class ProposalPrompt:
    """The prompt of a proposal and its inputs."""

    task: Task
    ids: Sequence[int]
    references: Sequence[Problem] = ()
    functions: Sequence[Problem] = ()
    program: str = ""


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposal and the verdict on it."""

    asked: ProposalPrompt
    generation: Generation
    verdict: ProgramVerdict


@dataclass(frozen=True, slots=True)
class Solved:
    """Solutions of one problem, and the verdicts on them."""

    problem: Problem
    generation: Generation
    verdicts: Sequence[ProgramVerdict]

    @property
    def counts(self) -> tuple[int, int]:
        """Return how many are right, and how many are scored."""
        scored = [verdict.fault == "" for verdict in self.verdicts if verdict.fault != "error"]
        return sum(scored), len(scored)

    @property
    def rate(self) -> float | None:
        """Return the fraction of right solutions among the scored ones."""
        right, scored = self.counts
        return right / scored if scored else None


def proposer_rewards(
    sampler: Sampler,
    environment: Environment,
    options: AbsoluteZeroOptions,
    proposed: Sequence[Proposed],
    rates: Sequence[float | None],
    buffers: Mapping[Task, Buffer],
) -> list[float | None]:
    """Return the reward of each proposal; `rates` are the solve rates of the valid ones, in their order."""
    waiting: Iterator[float | None] = iter(rates)
    known = [next(waiting) if proposal.verdict.problem is not None else None for proposal in proposed]
    rewards = [
        proposer_reward(proposal.verdict.fault, rate, options.preset, options.learnability)
        for proposal, rate in zip(proposed, known, strict=True)
    ]
    if not options.extras:
        return rewards

    def extras(index: int) -> list[float] | None:
        proposal = proposed[index]
        if proposal.verdict.problem is None:
            return []
        seen = buffers[proposal.asked.task].problems
        return extra_rewards(environment, options.extras, proposal.verdict.problem, proposal.asked.references, seen)

    terms = sampler.map(extras, range(len(proposed)))
    return [
        None if reward is None or more is None else combined(reward, more, options.combine)
        for reward, more in zip(rewards, terms, strict=True)
    ]


def round_metrics(
    proposed: Sequence[Proposed], rates: Sequence[float | None], buffers: Mapping[Task, Buffer]
) -> dict[str, float]:
    """Return, by task, the fraction of valid proposals, their mean solve rate, and the buffers' sizes."""
    faults: dict[Task, list[str]] = defaultdict(list)
    for proposal in proposed:
        faults[proposal.asked.task].append(proposal.verdict.fault)
    solved: dict[Task, list[float]] = defaultdict(list)
    valid = [proposal for proposal in proposed if proposal.verdict.problem is not None]
    for proposal, rate in zip(valid, rates, strict=False):
        if rate is not None:
            solved[proposal.asked.task].append(rate)
    result: dict[str, float] = {}
    for task in faults:
        result |= _task_metrics(task, faults[task], solved[task])
    return result | {f"buffer/{task}": float(len(buffer.problems)) for task, buffer in buffers.items()}


def _task_metrics(task: Task, faults: Sequence[str], rates: Sequence[float]) -> dict[str, float]:
    checked = [fault for fault in faults if fault != "error"]
    result = {f"valid/{task}": fmean(fault == "" for fault in checked) if checked else 0.0}
    if rates:
        result[f"solve_rate/{task}"] = fmean(rates)
        result[f"learnable/{task}"] = fmean(0 < rate < 1 for rate in rates)
    return result
