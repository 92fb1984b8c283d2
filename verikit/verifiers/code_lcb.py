"""LiveCodeBench's own rules (Jain et al. 2024, arXiv 2403.07974; `lcb_runner`): which program, run how, compared how.

Programs run in the sandbox, below the same stand-ins for standard input and output; values and texts are compared here.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from verikit.sandbox import Array
from verikit.sandbox.guest import source
from verikit.sandbox.plain import plain

METHOD = "verikit_method"
"""Under this name the program's function is called."""
OUTPUT_KB = 65_536
"""Of what a program prints, in KiB: the benchmark's own runner has no cap, and some right answers are long."""


def solution(reply: str) -> str:
    """What stands between the last two lines with fences; nothing where there are no two."""
    lines = reply.split("\n")
    fences = [number for number, line in enumerate(lines) if "```" in line]
    return "\n".join(lines[fences[-2] + 1 : fences[-1]]) if len(fences) > 1 else ""


def runner(program: str, function: str = "") -> str:
    """The program within its runner; `METHOD` is then its function, where one is named."""
    return f"{source('livecodebench')}\n{METHOD} = run({program!r}, {function!r})\n"


def same_value(value: Any, expected: Any) -> bool:
    """Whether a value equals what is expected; a tuple counts as a list, but not within others.

    Raises:
        ValueError: the value was made to be hard to compare.
    """
    value = plain(value)
    if isinstance(value, Array):
        # Of several items the comparison has no truth value there.
        return len(value.items) == 1 and list(value.items) == expected
    return bool((list(value) if isinstance(value, tuple) else value) == expected)


def same_output(got: str, wanted: str) -> bool:
    """Whether outputs have as many lines, each the same text or the same decimal numbers."""
    given, expected = ([line.strip() for line in text.strip().split("\n")] for text in (got, wanted))
    return len(given) == len(expected) and all(
        a == b or _same_numbers(a, b) for a, b in zip(given, expected, strict=True)
    )


def _same_numbers(got: str, wanted: str) -> bool:
    try:
        return [Decimal(word) for word in got.split()] == [Decimal(word) for word in wanted.split()]
    except InvalidOperation:
        return False
