"""The proposals so far: buffers with a cap, random samples from them, and the mix of new and old problems to solve."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from verikit.trainers.recipes.absolute_zero.options import Keep, Mix, Weights
from verikit.trainers.recipes.absolute_zero.problem import Problem


class Buffer:
    """The problems of one task, in order of arrival."""

    size: int

    def __init__(self, size: int, keep: Keep) -> None:
        self.size, self.keep = size, keep
        self.problems: list[Problem] = []
        self.rates: dict[Problem, float] = {}
        """Last solve rates, by `content`. Half a solution is added on either side, because few are sampled."""

    def note(self, problem: Problem, right: int, scored: int) -> None:
        """Record the solve rate of a problem, if any solution is scored."""
        if scored:
            self.rates[content(problem)] = (right + 0.5) / (scored + 1)

    def add(self, new: Sequence[Problem], draw: random.Random) -> None:
        """Add all, then drop the surplus: the oldest, the newest, or random ones."""
        self.problems += new
        surplus = len(self.problems) - self.size
        if surplus <= 0:
            return
        if self.keep == "newest":
            del self.problems[:surplus]
        elif self.keep == "oldest":
            del self.problems[-surplus:]
        else:
            stay = sorted(draw.sample(range(len(self.problems)), self.size))
            self.problems = [self.problems[index] for index in stay]
        kept = set(map(content, self.problems))
        self.rates = {problem: rate for problem, rate in self.rates.items() if problem in kept}


def content(problem: Problem) -> Problem:
    """Return a problem without its step, so a repeated proposal is equal."""
    return replace(problem, step=0)


def distinct(problems: Sequence[Problem], count: int, draw: random.Random, weights: Weights) -> list[Problem]:
    """Sample up to `count` different problems; `step` weighs a problem by the step it was created at."""
    if weights == "uniform":
        return draw.sample(list(problems), min(count, len(problems)))
    return _weighted(problems, count, draw, lambda problem: problem.step + 1)


def _weighted(
    problems: Sequence[Problem], count: int, draw: random.Random, weight: Callable[[Problem], float]
) -> list[Problem]:
    """Sample without replacement: the largest of u ** (1 / weight) (Efraimidis and Spirakis, 2006)."""
    keys = [draw.random() ** (1 / weight(problem)) for problem in problems]
    order = sorted(range(len(problems)), key=lambda index: -keys[index])
    return [problems[index] for index in order[:count]]


def solve_batch(
    new: Sequence[Problem],
    old: Sequence[Problem],
    size: int,
    mix: Mix,
    draw: random.Random,
    rates: Mapping[Problem, float] = MappingProxyType({}),
) -> list[Problem]:
    """Return `size` problems to solve, fewer only if both lists are empty.

    `max_new`: the new ones first, topped up with uniform samples of the old. `half_new`: at most half of them new.
    `uniform_total`: uniform samples of all. `step`: samples of all that favour late steps. `learnable`: at most half of
    them new, the rest sampled from the old, weighted by 4 r (1 - r) of their `rates` (prioritised replay, arXiv
    2010.03934). The weight is 1 if the rate is unknown.
    """
    if mix == "uniform_total" or mix == "step":
        return _filled([], [*new, *old], size, draw, "uniform" if mix == "uniform_total" else "step")
    most = size if mix == "max_new" else (size + 1) // 2
    chosen = draw.sample(list(new), min(most, len(new)))
    if mix == "learnable" and old:
        # Otherwise a problem that was proposed twice would be sampled twice as often.
        different = list({content(problem): problem for problem in old}.values())
        chosen += _weighted(different, size - len(chosen), draw, lambda problem: _worth(problem, rates))
    return _filled(chosen, old or new, size, draw, "uniform")


def _worth(problem: Problem, rates: Mapping[Problem, float]) -> float:
    rate = rates.get(content(problem), 0.5)
    return 4 * rate * (1 - rate)


def _filled(
    chosen: list[Problem], source: Sequence[Problem], size: int, draw: random.Random, weights: Weights
) -> list[Problem]:
    """Top up from a source, each problem once before any repeats."""
    while source and len(chosen) < size:
        chosen += distinct(source, size - len(chosen), draw, weights)
    return chosen
