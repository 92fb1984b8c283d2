"""A world for a tiny GenPRM: chains of two-digit operations, solved by a policy that slips, reviewed by code that runs.

A problem is a start and four operations, `47*23+15-88*31`; each step is v' = (v op a) % 89 + 10, always two digits, and
writes `47*23=65`. A slip is a wrong operand (copied wrongly, computed rightly) or a wrong result. Nearly half of the
problems hold one mistake that the policy likes to make, which breaks majority voting. A step is wrong from the first
slip on.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

STEPS = 4
COPY, RESULT = "copy", "result"
WORDS = ("<u>", "<a>", "<analyze>", "</analyze>", "\n```python\n", "\n```\n", "print((", ")%89+10)",
         "<output>", "</output>", "\\boxed", "{", "}", "Yes", "No", "[", "]", ";", "=", "D", "n", "t", "e", "y", "x",
         "*", "+", "-", *"0123456789")  # fmt: skip
_STEP = re.compile(r"(?:Step \d:)?(?P<left>\d\d[*+-](?P<operand>\d\d))=(?:\\boxed\{)?(?P<claimed>\d\d)\}?")


@dataclass(frozen=True)
class Problem:
    """A start, its operations, and the mistake that many solutions of it share."""

    start: int
    operations: tuple[tuple[str, int], ...]
    shared: tuple[int, str, int] | None
    """Step, kind and wrong value."""

    @property
    def text(self) -> str:
        return str(self.start) + "".join(f"{op}{a}" for op, a in self.operations)

    @property
    def steps(self) -> list[str]:
        """The right solution."""
        value, steps = self.start, []
        for op, a in self.operations:
            steps.append(f"{value}{op}{a}={result(value, op, a)}")
            value = result(value, op, a)
        return steps

    @property
    def answer(self) -> str:
        return self.steps[-1].partition("=")[2]

    @classmethod
    def read(cls, text: str) -> Problem:
        """Read a problem's text."""
        return cls(int(text[:2]), tuple((text[at], int(text[at + 1 : at + 3])) for at in range(2, len(text), 3)), None)


def result(value: int, op: str, a: int) -> int:
    """One operation."""
    return {"*": value * a, "+": value + a, "-": value - a}[op] % 89 + 10


def problem(
    draw: random.Random, operands: Sequence[int] = range(11, 100), steps: int = STEPS, sharing: float = 0.45
) -> Problem:
    """Draw a problem: 70 % of the operations multiply; 45 % of the problems hold a shared mistake."""
    operations = tuple((draw.choices("*+-", (70, 15, 15))[0], draw.choice(operands)) for _ in range(steps))
    shared = None
    if draw.random() < sharing:
        shared = (draw.randrange(steps), draw.choice((COPY, RESULT)), draw.randrange(10, 99))
    return Problem(draw.randrange(10, 99), operations, shared)


def solution(asked: Problem, draw: random.Random, slip: float, copying: float = 0.5) -> tuple[list[str], list[str]]:
    """Solve a problem as a policy that slips; returns the steps, and what is wrong in each ("" where nothing is)."""
    value, steps, wrong = asked.start, [], []
    for index, (op, a) in enumerate(asked.operations):
        kind, written, claimed = "", a, None
        if asked.shared and asked.shared[0] == index and draw.random() < 0.55:
            kind, other = asked.shared[1], asked.shared[2]
        elif draw.random() < slip:
            kind, other = (COPY if draw.random() < copying else RESULT), draw.randrange(10, 99)
        if kind == COPY:
            written = other if other != a else a % 88 + 11
        new = result(value, op, written)
        if kind == RESULT:
            claimed = other if other != new else (new - 9) % 89 + 10
        steps.append(f"{value}{op}{written}={claimed or new}")
        wrong.append(kind)
        value = claimed or new
    return steps, wrong


def labels(wrong: list[str]) -> list[bool]:
    """Whether each step is right: none is from the first slip on."""
    return [not any(wrong[: index + 1]) for index in range(len(wrong))]


def written(steps: Sequence[str]) -> list[str]:
    """Steps as a policy writes them: "Step k:" before each, the last result in a box."""
    lines = [f"Step {number}:{step}" for number, step in enumerate(steps, 1)]
    left, _, claimed = lines[-1].partition("=")
    return [*lines[:-1], f"{left}=\\boxed{{{claimed}}}"]


def review(asked: Problem, steps: list[str], wrong: list[str]) -> list[dict[str, str]]:
    """A teacher's review as a conversation in the protocol of tiny.toml; its code prints what it is said to print."""
    messages = []
    for index, (step, label) in enumerate(zip(steps, labels(wrong), strict=True)):
        read = _STEP.fullmatch(step)
        assert read, step
        left, copied, claimed = read["left"], read["operand"], read["claimed"]
        a = asked.operations[index][1]
        same = "".join(f"{x}{y}{'y' if x == y else 'x'}" for x, y in zip(str(a), copied, strict=True))
        printed = result(int(left[:2]), left[2], int(copied))
        agree = "".join(f"{x}{y}{'y' if x == y else 'x'}" for x, y in zip(str(printed), claimed, strict=True))
        text = (
            f"<analyze>{same}</analyze>\n```python\nprint(({left})%89+10)\n```\n[{printed}]{agree}"
            f"<output>\\boxed{{{'Yes' if label else 'No'}}}</output>"
        )
        asking = f"{asked.text};{step}" if index == 0 else step
        messages += [{"role": "user", "content": asking}, {"role": "assistant", "content": text}]
    return messages
