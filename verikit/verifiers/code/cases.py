"""The tests of a program: a call with its expected value, an input with its expected output, or test code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from verikit.sandbox import FunctionCall

Equality = Literal["python", "exact", "json"]
"""`python`: by `==`. `exact`: also of the same types at every level. `json`: by `==`, with tuples as lists."""


@dataclass(frozen=True, slots=True)
class Called:
    """A call and its expected value."""

    call: FunctionCall
    expected: Any
    equality: Equality = "python"
    relation: Literal["equal", "true", "false", "close"] = "equal"
    tolerance: float = 0.0
    """Of `close`, absolute."""
    text: str = ""
    wrapped: bool = False
    """Whether the only item of an expected list is accepted too: APPS often wraps the expected value in a list."""


@dataclass(frozen=True, slots=True)
class Piped:
    """Standard input, and the whole expected standard output."""

    stdin: str
    stdout: str
    text: str = "standard output"
    others: tuple[str, ...] = ()
    """Outputs that are right too."""
    checker: str = ""
    """Python that defines `check(input, expected, output)`, or a testlib checker in C++; empty: compare outputs."""
    checker_files: tuple[tuple[str, str], ...] = ()
    """Names and contents of the files that a C++ checker includes."""


@dataclass(frozen=True, slots=True)
class Driven:
    """Test code that runs apart from the program and calls its functions from afar."""

    code: str
    functions: tuple[str, ...]
    text: str = "test program"


@dataclass(frozen=True, slots=True)
class SharedCalls:
    """All calls of a row, for one child."""

    cases: tuple[Called, ...]
    text: str = ""


Case = Called | Piped | Driven | SharedCalls
