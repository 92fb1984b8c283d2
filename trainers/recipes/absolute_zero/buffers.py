"""What was proposed so far: buffers with a cap, draws from them, and the mix of new and old problems to solve."""

from __future__ import annotations

import random
from collections.abc import Sequence

from verikit.trainers.recipes.absolute_zero.options import Keep, Mix, Weights
from verikit.trainers.recipes.absolute_zero.problem import Problem


class Buffer:
    """The problems of one task, in the order they came."""

    size: int

    def __init__(self, size: int, keep: Keep) -> None:
        self.size, self.keep = size, keep
        self.problems: list[Problem] = []

    def add(self, new: Sequence[Problem], draw: random.Random) -> None:
        """Add all, then drop what is too much: the oldest, the newest, or any."""
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


def distinct(problems: Sequence[Problem], count: int, draw: random.Random, weights: Weights) -> list[Problem]:
    """Draw up to `count` different problems; `step` weighs a problem by the step it was made at."""
    if weights == "uniform":
        return draw.sample(list(problems), min(count, len(problems)))
    # The largest of u ** (1 / weight): weighted draws without replacement (Efraimidis and Spirakis, 2006).
    keys = [draw.random() ** (1 / (problem.step + 1)) for problem in problems]
    order = sorted(range(len(problems)), key=lambda index: -keys[index])
    return [problems[index] for index in order[:count]]


def solve_batch(
    new: Sequence[Problem], old: Sequence[Problem], size: int, mix: Mix, draw: random.Random
) -> list[Problem]:
    """Return `size` problems to solve, fewer only if there is none.

    `max_new`: the new ones first, topped up by uniform draws of the old. `half_new`: at most half of them new.
    `uniform_total`: uniform draws of all. `step`: draws of all that favour late steps.
    """
    if mix == "uniform_total" or mix == "step":
        return _filled([], [*new, *old], size, draw, "uniform" if mix == "uniform_total" else "step")
    most = size if mix == "max_new" else (size + 1) // 2
    return _filled(draw.sample(list(new), min(most, len(new))), old or new, size, draw, "uniform")


def _filled(
    chosen: list[Problem], source: Sequence[Problem], size: int, draw: random.Random, weights: Weights
) -> list[Problem]:
    """Top up from a source, each problem once before any comes again."""
    while source and len(chosen) < size:
        chosen += distinct(source, size - len(chosen), draw, weights)
    return chosen
