"""The smallest world that shows learning: two-digit addition, digit by digit, by a model of 100,000 parameters.

The model is created at the start of the run. Its warm-up imitates demonstrations, and most of those have one wrong
digit. So the model learns the procedure yet samples wrong, and the reward elicits the right results. The sampled
accuracy rises, and the greedy accuracy starts high. This shows that training works, not that the model acquires a new
ability.
"""

from __future__ import annotations

import random
from typing import Any, ClassVar

from pydantic import BaseModel, Field, PositiveInt

from verikit.trainers.recipe import Sampler, Trajectory
from verikit.trainers.recipes.base import demonstration
from verikit.trainers.recipes.single_turn import SingleTurn, SingleTurnOptions
from verikit.trainers.recipes.tiny_model import make_llama, make_tokenizer
from verikit.types import Group

BOX = "\\boxed{"
CHARACTERS = "0123456789+=;}"
SPOILT_DIGITS = 3
"""A demonstration's mistake is in one of its last digits."""
LONG_SUMS = 4096
"""Number of problems with more than two digits. There are too many to use them all."""


class ArithmeticOptions(SingleTurnOptions):
    """[options] of `arithmetic`."""

    chat: bool = False
    max_tokens: PositiveInt = 32
    """Maximum sampled tokens per completion."""
    held_out_size: int = Field(default=256, ge=0)
    """Held-out problems. All problems are generated: `data`, `map` and `held_out` have no effect."""
    spoilt: float = Field(default=0.7, ge=0, le=1)
    """Fraction of demonstrations with a wrong digit."""
    batch: PositiveInt = 64
    """Demonstrations per step of the warm-up."""
    digits: int = Field(default=2, ge=2, le=4)
    """Digits of the numbers to add. Four digits need `max_tokens` of 48."""


class Arithmetic(SingleTurn):
    r"""Adds numbers, two digits by default: `47+85=` is continued with `7+5+0=12;4+8+1=13;\boxed{132}`."""

    name: ClassVar[str] = "arithmetic"
    Options: ClassVar[type[BaseModel]] = ArithmeticOptions
    options: ArithmeticOptions

    @classmethod
    def make_model(cls, options: Any, seed: int) -> tuple[Any, Any]:
        """Make a two-layer Llama with a tokenizer of single characters."""
        tokenizer = make_tokenizer([BOX, *CHARACTERS])
        return make_llama(tokenizer, seed, positions=64, heads=2), tokenizer

    def load_problems(self) -> tuple[list[Group], list[Group]]:
        """Return the training problems (all pairs of two-digit numbers, or some longer ones) and the held-out ones."""
        draw = random.Random(f"{self.setting.seed} held out")
        if self.options.digits == 2:
            pairs = [(a, b) for a in range(10, 100) for b in range(10, 100)]
            draw.shuffle(pairs)
        else:
            wanted = LONG_SUMS + self.options.held_out_size
            numbers = range(10 ** (self.options.digits - 1), 10**self.options.digits)
            found: dict[tuple[int, int], None] = {}
            while len(found) < wanted:
                found[draw.choice(numbers), draw.choice(numbers)] = None
            pairs = list(found)
        problems = [Group(f"{a}+{b}=", answer=str(a + b), id=f"{a}+{b}") for a, b in pairs]
        cut = self.options.held_out_size
        return problems[cut:], problems[:cut]

    def demonstrations(self, step: int) -> list[Trajectory]:
        """Return a batch of workings. Most of them are spoilt."""
        draw = random.Random(f"{self.setting.seed} demonstrations {step}")
        return [self._demonstration(draw.choice(self.problems), draw) for _ in range(self.options.batch)]

    def gate(self, sampler: Sampler) -> float:
        """Return the greedy accuracy, which measures whether the model has learned the procedure."""
        return self.accuracy(sampler, 0.0, 1)

    def _demonstration(self, problem: Group, draw: random.Random) -> Trajectory:
        prompt = str(problem.prompt)
        text = working(*map(int, prompt.rstrip("=").split("+")))
        if draw.random() < self.options.spoilt:
            text = spoil(text, draw)
        return demonstration(self.setting.tokenizer, prompt, text, problem.id)


def working(a: int, b: int) -> str:
    """Return the sum of two numbers of equal length (two or more digits), worked out column by column from the last."""
    carry, columns = 0, []
    for column in range(len(str(max(a, b, 10)))):
        first, second = (number // 10**column % 10 for number in (a, b))
        total = first + second + carry
        columns.append(f"{first}+{second}+{carry}={total};")
        carry = total // 10
    return f"{''.join(columns)}{BOX}{a + b}}}"


def spoil(text: str, draw: random.Random) -> str:
    """Replace one of the last digits by another."""
    index = draw.choice([at for at, char in enumerate(text) if char.isdigit()][-SPOILT_DIGITS:])
    return text[:index] + draw.choice([digit for digit in "0123456789" if digit != text[index]]) + text[index + 1 :]
