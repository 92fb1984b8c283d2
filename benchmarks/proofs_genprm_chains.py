"""Chains of sums with the labels of their steps, a program's reviews, and rows in the forms of two benchmarks.

A problem is a chain such as 63 - 27 + 48. A right solution has one line per operation. A step is right if it and all
before it are the lines of that solution.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from verikit.guided.critic import doubt

JsonObject = dict[str, Any]
ERRORS = ("counterfactual", "step_contradiction", "missing_condition", "deception")
"""PRMBench's names: a wrong sum, a line that starts from another total, an operation left out, an operand one off."""


@dataclass(frozen=True)
class Chain:
    """A start and the operations on it."""

    start: int
    operations: tuple[tuple[str, int], ...]

    @classmethod
    def draw(cls, rng: random.Random, length: int, most: int = 9) -> Chain:
        """Draw a chain whose totals stay between 1 and 99, with operands up to `most`."""
        start = total = rng.randint(10, 60)
        operations = []
        for _ in range(length):
            operation = rng.choice("+-") if 30 <= total <= 70 else "+-"[total > 50]
            change = rng.randint(3, min(most, 99 - total if operation == "+" else total - 1))
            total = computed(total, operation, change)
            operations.append((operation, change))
        return cls(start, tuple(operations))

    @classmethod
    def read(cls, prompt: str) -> Chain:
        """Read a prompt."""
        start, *rest = re.findall(r"[+-] \d+|\d+", prompt)
        return cls(int(start), tuple((word[0], int(word[2:])) for word in rest))

    @property
    def prompt(self) -> str:
        """The question."""
        return f"Work out {self.start}" + "".join(f" {operation} {change}" for operation, change in self.operations)

    @property
    def answer(self) -> str:
        """The last total."""
        return numbers(self.solution()[-1])[-1]

    def solution(self, slip: float = 0.0, rng: random.Random | None = None) -> list[str]:
        """The lines of a solution. With a probability of `slip`, a line has a wrong operand or a wrong result."""
        total, lines = self.start, []
        for number, (operation, change) in enumerate(self.operations, 1):
            error = rng.choice(("operand", "result")) if rng and rng.random() < slip else ""
            written = slipped(rng, change) if rng and error == "operand" else change
            new = computed(total, operation, written)
            new = slipped(rng, new) if rng and error == "result" else new
            lines.append(self.line(number, total, operation, written, new))
            total = new
        return lines

    def line(self, number: int, total: int, operation: str, change: int, result: int) -> str:
        """A line of a solution. The last result is in a box."""
        shown = f"\\boxed{{{result}}}" if number == len(self.operations) else str(result)
        return f"Step {number}: {total} {operation} {change} = {shown}"


def computed(total: int, operation: str, change: int) -> int:
    """One operation."""
    return total + change if operation == "+" else total - change


def slipped(rng: random.Random, number: int) -> int:
    """A wrong number near the right one, as models write: one off, ten off, or another."""
    return abs(number + rng.choice((-10, -2, -1, 1, 2, 10, rng.randint(11, 40))))


def numbers(text: str) -> list[str]:
    """The numbers of a line."""
    return re.findall(r"\d+", text)


def labels(chain: Chain, steps: Sequence[str]) -> list[bool]:
    """Whether each step and all before it are those of the right solution."""
    right = chain.solution()
    return [list(steps[: index + 1]) == right[: index + 1] for index in range(len(steps))]


def review(chain: Chain, steps: Sequence[str]) -> list[JsonObject]:
    """A teacher's review as a conversation. Its code compares the operands with the problem's and checks the result."""
    messages: list[JsonObject] = []
    total = str(chain.start)
    for (operation, change), step, label in zip(chain.operations, steps, labels(chain, steps), strict=True):
        _, left, right, claimed = numbers(step)
        asked, written = f"{total} {operation} {change}", f"{left} {operation} {right}"
        printed = f"{asked == written} {computed(int(left), operation, int(right)) == int(claimed)}"
        text = (
            f"<analyze>Asked: {asked}. Written: {written}. {compared(asked, written)}</analyze>\n```python\n"
            f'print("{asked}" == "{written}", {written} == {claimed})\n```\n[{printed}]'
            f"<output>\\boxed{{{'Yes' if label else 'No'}}}</output>"
        )
        messages.append({"role": "user", "content": step if messages else f"{chain.prompt}\n{step}"})
        messages.append({"role": "assistant", "content": text})
        total = claimed
    return messages


def compared(one: str, other: str) -> str:
    """The teacher's word for two texts."""
    return "Same." if one == other else "Different."


def doubted(chain: Chain, rng: random.Random) -> list[JsonObject]:
    """A program's wrong solution, and a critic's words on its first wrong step."""
    steps = chain.solution()
    while all(labels(chain, steps)):
        steps = chain.solution(0.3, rng)
    index = labels(chain, steps).index(False)
    said = review(chain, steps)[2 * index + 1]["content"].partition("</analyze>")[0].removeprefix("<analyze>")
    return [
        {"role": "assistant", "content": "\n\n".join(steps)}, {"role": "user", "content": doubt(steps[index], said)},
    ]  # fmt: skip


def processbench_rows(replies: Sequence[tuple[Chain, list[str]]]) -> list[JsonObject]:
    """Replies in ProcessBench's form: the steps, and the index of the first wrong one (-1 if there is none)."""
    found = []
    for number, (chain, steps) in enumerate(replies):
        right = labels(chain, steps)
        label = right.index(False) if False in right else -1
        found.append({"id": f"gsm8k-{number}", "problem": chain.prompt, "steps": steps, "label": label})
    return found


def prmbench_rows(chains: Sequence[Chain], rng: random.Random) -> list[JsonObject]:
    """Solutions with one planted error each, in PRMBench's form. Steps after the error are wrong too."""
    found = []
    for number, chain in enumerate(chains):
        kind = ERRORS[number % len(ERRORS)]
        steps = planted(chain, kind, rng)
        while all(labels(chain, steps)):  # a slip may lead back to the number it starts from
            steps = planted(chain, kind, rng)
        wrong = [index for index, right in enumerate(labels(chain, steps), 1) if not right]
        found.append(
            {"idx": str(number), "classification": kind, "modified_question": chain.prompt, "modified_process": steps,
             "error_steps": wrong}
        )  # fmt: skip
    return found


def planted(chain: Chain, kind: str, rng: random.Random) -> list[str]:
    """A solution with one error of a kind. It goes on from the wrong total."""
    at = rng.randrange(1, len(chain.operations))
    if kind == "missing_condition":
        return Chain(chain.start, chain.operations[:at] + chain.operations[at + 1 :]).solution()
    total, lines = chain.start, []
    for index, (operation, change) in enumerate(chain.operations):
        error = kind if index == at else ""
        left = slipped(rng, total) if error == "step_contradiction" else total
        operand = change + rng.choice((-1, 1)) if error == "deception" else change
        result = computed(left, operation, operand)
        total = slipped(rng, result) if error == "counterfactual" else result
        lines.append(chain.line(index + 1, left, operation, operand, total))
    return lines
