"""A world for Absolute Zero in minutes: straight-line arithmetic modulo 5, in real Python, by a tiny model.

A program of k lines (`a = x * 3`, `b = a + 5`, …) returns the last value modulo 5. The vocabulary's tokens are pieces
of such programs and of the paper's format. Parsers, sandbox and rewards are the recipe's. The warm-up imitates
workings, and most of those have a wrong digit. So the model learns the procedures yet samples wrong, and the reward
elicits the right results. Held-out programs are never demonstrated, and never stored when proposed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Literal

from pydantic import Field, PositiveInt

from verikit.trainers.recipe import Sampler, Setting, Trajectory
from verikit.trainers.recipes.absolute_zero.options import AbsoluteZeroOptions, Task
from verikit.trainers.recipes.absolute_zero.problem import Problem
from verikit.trainers.recipes.absolute_zero.recipe import AbsoluteZero
from verikit.trainers.recipes.base import demonstration
from verikit.trainers.recipes.tiny_model import make_llama, make_tokenizer

MODULUS = 5
NAMES = "xabcd"
OPERATIONS = (" + ", " - ", " * ")
LINES = [f"\n    {new} = {old}" for old, new in pairwise(NAMES)]
RETURNS = [f"\n    return {name} % {MODULUS}" for name in NAMES]
TOKENS = [
    *map(str, range(10)), *(f"{operation}{digit}" for operation in OPERATIONS for digit in range(MODULUS)),
    *LINES, *RETURNS, ":", ";",
    "```python\ndef f(x):", "\n```\n", "```input\n", "```output\n", "```message\nan affine function",
    "\n```\n</answer>",
    "<think>", "</think><answer>", "propose deduction:", "propose abduction:", "propose inputs:",
    "deduce:", "abduce:", "induce:",
]  # fmt: skip
Line = tuple[str, int]
Program = Sequence[Line]


class AbsoluteZeroTinyOptions(AbsoluteZeroOptions):
    """[options] of `absolute-zero-tiny`."""

    source: Literal["policy", "random"] = "policy"
    """`random` (a baseline): for each valid proposal, a random problem of the same length is stored instead."""
    spoilt: float = Field(default=0.6, ge=0, le=1)
    """Fraction of demonstrated deductions and abductions whose last digit is wrong."""
    spoilt_inductions: float = Field(default=0.4, ge=0, le=1)
    """The same fraction for inductions, which the model learns more slowly."""
    proposals: float = Field(default=0.2, ge=0, le=1)
    """Fraction of demonstrations that are proposals."""
    spoilt_by_lines: list[float] = Field(default_factory=list)
    """`spoilt` for programs of 1, 2, … lines, with the last value for all longer ones; []: `spoilt` for all."""
    lengths: list[PositiveInt] = Field(default=[1, 1, 2, 2, 3], min_length=1)
    """Lengths of demonstrated programs, sampled uniformly."""
    proposed: list[float] = Field(default_factory=list)
    """Fractions of demonstrated proposals that have 1, 2, … lines; []: by `lengths`, like solutions."""
    demonstrations: PositiveInt = 64
    """Demonstrations per step of the warm-up."""
    held_out_size: PositiveInt = 32
    """Held-out problems per task and length."""
    held_out_lengths: list[PositiveInt] = Field(default=[1, 2, 3], min_length=1)
    """Numbers of operations of the held-out programs."""


class AbsoluteZeroTiny(AbsoluteZero):
    """Absolute Zero on programs of a few arithmetic lines."""

    name: ClassVar[str] = "absolute-zero-tiny"
    Options: ClassVar[type[AbsoluteZeroOptions]] = AbsoluteZeroTinyOptions
    options: AbsoluteZeroTinyOptions

    def __init__(self, options: AbsoluteZeroTinyOptions, setting: Setting) -> None:
        self._kept_apart: set[str] = set()
        super().__init__(options, setting)

    @classmethod
    def make_model(cls, options: Any, seed: int) -> tuple[Any, Any]:
        """Make a two-layer Llama whose tokens are pieces of programs."""
        tokenizer = make_tokenizer(TOKENS)
        return make_llama(tokenizer, seed, positions=160), tokenizer

    def seed_problem(self, task: Task) -> Problem:
        """Return the identity function, in this world's form."""
        if task == "induction":
            return problem(task, [], inputs=[0, 1, 2, 3][: self.options.inputs])
        return problem(task, [], value=3)

    def load_held_out(self) -> list[Problem]:
        """Sample held-out programs of each length, and problems on them. Their programs are excluded from training."""
        draw = random.Random(f"{self.setting.seed} held out")
        found = []
        for length in self.options.held_out_lengths:
            # There are 15 one-line programs, and most must remain for training.
            programs = [random_program(draw, length) for _ in range(4 if length == 1 else self.options.held_out_size)]
            self._kept_apart |= {text(program) for program in programs}
            for task in self.options.tasks:
                found += [
                    self._random_problem(task, programs[n % len(programs)], draw)
                    for n in range(self.options.held_out_size)
                ]
        return found

    def admit(self, problem: Problem, draw: random.Random) -> Problem | None:
        """Return None for held-out programs. With `source = "random"`, return a random problem of equal length."""
        if self.options.source == "random":
            length = problem.program.count(" = ")
            program = self._open_program(draw, length)
            made = self._random_problem(problem.task, program, draw)
            return Problem(made.task, made.program, made.input, made.output, made.message, made.pairs, problem.step)
        return None if problem.program in self._kept_apart else problem

    def stratum(self, problem: Problem) -> str:
        """Return the program's length."""
        return f"lines_{problem.program.count(' = ')}"

    def demonstrations(self, step: int) -> list[Trajectory]:
        """Return proposals and solutions. Most solutions are spoilt."""
        draw = random.Random(f"{self.setting.seed} demonstrations {step}")
        return [self._demonstration(draw, number) for number in range(self.options.demonstrations)]

    def gate(self, sampler: Sampler) -> float:
        """Return the greedy accuracy on held-out problems. It measures whether the procedures are learned."""
        solved = self.solve(sampler, [(problem, 1) for problem in self.held_out], "gate", 0.0)
        return sum(solution.rate or 0.0 for solution in solved) / len(solved)

    def _demonstration(self, draw: random.Random, number: int) -> Trajectory:
        task = draw.choice(self.options.tasks)
        program = self._open_program(draw, draw.choice(self.options.lengths))
        made = self._random_problem(task, program, draw)
        if draw.random() < self.options.proposals:
            if self.options.proposed:
                program = self._open_program(draw, self._proposed_length(draw))
                made = self._random_problem(task, program, draw)
            shown = [
                self._random_problem(task, self._open_program(draw, draw.choice(self.options.lengths)), draw)
                for _ in range(self.options.references if task != "induction" else 0)
            ]
            asked = (
                self.prompts.inputs(made.program, self.options.inputs)
                if task == "induction"
                else self.prompts.proposal(task, shown)
            )
            said = propose(made, program)
        else:
            asked = self.prompts.solution(made)
            said = solve(made, program, draw, spoilt=draw.random() < self._spoilt_share(task, len(program)))
        return demonstration(self.setting.tokenizer, self.prompts.text(asked), said, number)

    def _proposed_length(self, draw: random.Random) -> int:
        shares = self.options.proposed
        return draw.choices(range(1, len(shares) + 1), shares)[0]

    def _spoilt_share(self, task: Task, lines: int) -> float:
        if task == "induction":
            return self.options.spoilt_inductions
        shares = self.options.spoilt_by_lines or [self.options.spoilt]
        return shares[min(lines, len(shares)) - 1]

    def _open_program(self, draw: random.Random, length: int) -> list[Line]:
        """Sample a program that is not held out."""
        while True:
            program = random_program(draw, length)
            if text(program) not in self._kept_apart:
                return program

    def _random_problem(self, task: Task, program: Program, draw: random.Random) -> Problem:
        if task == "induction":
            others = draw.sample(range(2, MODULUS), self.options.inputs - 2)
            return problem(task, program, inputs=[0, 1, *others])
        return problem(task, program, value=draw.randrange(MODULUS))


def random_program(draw: random.Random, length: int) -> list[Line]:
    """Sample a program of `length` lines."""
    return [(draw.choice(OPERATIONS), draw.randrange(MODULUS)) for _ in range(length)]


def text(program: Program) -> str:
    """Write a program as Python."""
    lines = "".join(f"{line}{operation}{digit}" for line, (operation, digit) in zip(LINES, program, strict=False))
    return f"def f(x):{lines}{RETURNS[len(program)]}"


def run(program: Program, value: int) -> list[int]:
    """Return the values of x and of each line, modulo 5."""
    values = [value % MODULUS]
    for operation, digit in program:
        last = values[-1]
        values.append({" + ": last + digit, " - ": last - digit, " * ": last * digit}[operation] % MODULUS)
    return values


def problem(task: Task, program: Program, value: int = 0, inputs: Sequence[int] = ()) -> Problem:
    """Make a problem of this world."""
    if task == "induction":
        pairs = tuple((str(given), str(run(program, given)[-1])) for given in inputs)
        return Problem(task, text(program), message="an affine function", pairs=pairs)
    return Problem(task, text(program), str(value), str(run(program, value)[-1]))


def propose(made: Problem, program: Program) -> str:
    """Write a demonstrated proposal. Its thought is the program's length."""
    if made.task == "induction":
        inputs = "".join(f"```input\n{given}\n```\n" for given, _ in made.pairs)
        return f"{len(program)}</think><answer>{inputs}```message\nan affine function\n```\n</answer>"
    return f"{len(program)}</think><answer>```python\n{made.program}\n```\n```input\n{made.input}\n```\n</answer>"


def solve(made: Problem, program: Program, draw: random.Random, *, spoilt: bool) -> str:
    """Write a demonstrated solution. If spoilt, its last digit is wrong.

    Deduction works forwards through the lines, abduction backwards. Induction finds f(0) and f(1) - f(0).
    """
    if made.task == "induction":
        return _induce(made, draw, spoilt)
    values = run(program, int(made.input))
    if made.task == "deduction":
        order, label = list(range(len(program))), "output"
    else:
        order, label = list(reversed(range(len(program)))), "input"
        values = _backwards(program, values[-1], draw)
    thought = str(values[0])
    for index, value in zip(order, values[1:], strict=True):
        operation, digit = program[index]
        thought += f"{LINES[index]}{operation}{digit}{value}"
    said = str(_wrong(values[-1], draw)) if spoilt else str(values[-1])
    thought = thought[:-1] + said
    return f"{thought}</think><answer>```{label}\n{said}\n```\n</answer>"


def _backwards(program: Program, output: int, draw: random.Random) -> list[int]:
    """Return an output and, line by line from the last, an input value that leads to it and is itself reachable."""
    possible = [set(range(MODULUS))]
    for line in program:
        possible.append({run([line], value)[-1] for value in possible[-1]})
    values = [output]
    for index in reversed(range(len(program))):
        fits = [value for value in sorted(possible[index]) if run([program[index]], value)[-1] == values[-1]]
        values.append(draw.choice(fits))
    return values


def _induce(made: Problem, draw: random.Random, spoilt: bool) -> str:
    outputs = {given: int(output) for given, output in made.pairs}
    shift = outputs["0"]
    factor = (outputs["1"] - shift) % MODULUS
    if spoilt:
        factor = _wrong(factor, draw)
    program = text([(" * ", factor), (" + ", shift)])
    return f"{shift}{factor}</think><answer>```python\n{program}\n```\n</answer>"


def _wrong(value: int, draw: random.Random) -> int:
    return (value + draw.randrange(1, MODULUS)) % MODULUS
