"""What a test of a program is: a call with what must come out, an input with an output, or test code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from verikit.sandbox import FunctionCall

Equality = Literal["python", "exact", "json"]
"""`python`: as `==` says. `exact`: of the same types all the way down. `json`: as `==`, tuples being lists."""


@dataclass(frozen=True, slots=True)
class Called:
    """A call and what must come out."""

    call: FunctionCall
    expected: Any
    equality: Equality = "python"
    relation: Literal["equal", "true", "false", "close"] = "equal"
    tolerance: float = 0.0
    """Of `close`, absolute."""
    text: str = ""
    wrapped: bool = False
    """Whether the one item of an expected list will do too: APPS wraps what must come out, but not always."""


@dataclass(frozen=True, slots=True)
class Piped:
    """Standard input, and all that must appear on standard output."""

    stdin: str
    stdout: str
    text: str = "standard output"
    others: tuple[str, ...] = ()
    """Outputs that are right too."""
    checker: str = ""
    """Python that defines `check(input, expected, output)`, or C++ as testlib's; empty: the outputs are compared."""
    checker_files: tuple[tuple[str, str], ...] = ()
    """Names and texts of what a checker in C++ includes."""


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
