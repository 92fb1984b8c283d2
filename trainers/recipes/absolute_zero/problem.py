"""A problem: a program with an input and its output, or with several pairs and a message; and the zero seed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

from verikit.errors import ConfigError, SchemaError
from verikit.trainers.recipes.absolute_zero.options import Task


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a task. The strings are Python source and literals, in the same form as in prompts."""

    task: Task
    program: str
    input: str = ""
    output: str = ""
    """Deduction and abduction: the value as a literal. Error: the exception's class, or `NoError`."""
    message: str = ""
    pairs: tuple[tuple[str, str], ...] = ()
    """Induction: inputs and outputs; the first half is shown."""
    step: int = 0
    """The step it was created at."""

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """The pairs that a solver sees."""
        return self.pairs[: len(self.pairs) // 2]

    def meta(self) -> dict[str, Any]:
        """Return the metadata that the verifier `program` reads."""
        if self.task == "induction":
            return {"task": self.task, "pairs": [list(pair) for pair in self.pairs]}
        return {"task": self.task, "program": self.program, "input": self.input, "output": self.output}

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return asdict(self)

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Problem:
        """Read the result of `as_dict`."""
        return cls(**{**row, "pairs": tuple((str(a), str(b)) for a, b in row["pairs"])})


IDENTITY = "def f(x):\n    return x"
GREETING = "'Hello World'"
SEEDS: dict[Task, Problem] = {
    "deduction": Problem("deduction", IDENTITY, GREETING, GREETING),
    "abduction": Problem("abduction", IDENTITY, GREETING, GREETING),
    "error": Problem("error", IDENTITY, GREETING, "NoError"),
    "induction": Problem(
        "induction",
        IDENTITY,
        message="Write a function that gives back what it is given.",
        pairs=tuple((value, value) for value in (GREETING, "1", "[1, 2]", "{'a': 1}", "(3, 'b')", "-2.5")),
    ),
}
"""The zero seed: only the identity function."""


def read_held_out(path: Path) -> list[Problem]:
    """Read problems from JSON lines, as `verikit synth absolute-zero` writes them.

    Raises:
        ConfigError: The file can't be read.
        SchemaError: A row is not a problem. The error names file, line and field.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"options.held_out: {path}: {error}") from None
    return [_problem(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _problem(path: Path, number: int, line: str) -> Problem:
    try:
        row = json.loads(line)
        known = {field.name: row[field.name] for field in fields(Problem) if field.name in row}
        problem = Problem.from_dict({"pairs": ()} | known)
    except (ValueError, TypeError, RecursionError) as error:
        raise SchemaError(f"invalid problem: {error}", file=path, line=number) from None
    if problem.task not in get_args(Task):
        raise SchemaError(f"task {problem.task!r} not found", file=path, line=number, field="task")
    return problem
