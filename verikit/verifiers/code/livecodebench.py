"""LiveCodeBench's own rules (Jain et al. 2024, arXiv 2403.07974; `lcb_runner`): tests, program, run and comparison.

Programs run in the sandbox, with the same replacements for standard input and output. This module compares values and
outputs.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from verikit.sandbox import Array, RunLimits
from verikit.sandbox.guest import source
from verikit.sandbox.plain import plain
from verikit.verifiers.code.cases import Called, Piped
from verikit.verifiers.code.packed import pairs, unpacked

METHOD = "verikit_method"
"""The name that calls the program's function."""
OUTPUT_KB = 65_536
"""Minimum output cap of a program, in KiB; the benchmark's own runner doesn't have a cap."""
VALUE_BYTES = 32
"""Maximum bytes of a value leaving the sandbox, per byte of its JSON; equal values never need more."""

TESTS = ("public_test_cases", "private_test_cases")
_reading = threading.Lock()


def cases(meta: Mapping[str, Any]) -> tuple[Called | Piped, ...]:
    """The cases of a published row; only its metadata shows whether a function is called.

    Rows are read one at a time, and the last ones are cached: the replies to a problem share its tests, which may be
    long.

    Raises:
        ValueError: It does not contain tests, or they can't be read.
    """
    if not any(meta.get(key) for key in TESTS):
        raise ValueError(f"a LiveCodeBench row must have {' or '.join(TESTS)}")
    held = [meta.get(key) or "" for key in (*TESTS, "metadata")]
    texts = [value if isinstance(value, str) else json.dumps(value) for value in held]
    with _reading:
        return _read(*texts)


@lru_cache(maxsize=4)
def _read(public: str, private: str, metadata: str) -> tuple[Called | Piped, ...]:
    about = _parsed(metadata or "{}", "metadata")
    function = about.get("func_name") if isinstance(about, dict) else None
    found = [pair for key, text in zip(TESTS, (public, private), strict=True) if text for pair in _pairs(text, key)]
    if not found:
        raise ValueError("tests are a list of objects with input and output, and not empty")
    return tuple(_called(str(function), *pair) if function else Piped(*pair) for pair in found)


def _pairs(text: str, key: str) -> list[tuple[str, str]]:
    try:
        return pairs(text if text.lstrip().startswith("[") else unpacked(text))
    except ValueError as error:
        raise ValueError(f"{key} is neither JSON nor packed as LiveCodeBench packs it ({error})") from None


def _called(function: str, given: str, wanted: str) -> Called:
    args = [_parsed(line, "a test's input") for line in given.split("\n") if line.strip()]
    return Called((function, args, {}), _parsed(wanted, "a test's output"), "json", text=function)


def _parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(f"{what} is nested too deeply") from None
    except ValueError:
        raise ValueError(f"{what} is not JSON") from None


def solution(reply: str) -> str:
    """The text between the last two lines with fences; empty if there are fewer than two."""
    lines = reply.split("\n")
    fences = [number for number, line in enumerate(lines) if "```" in line]
    return "\n".join(lines[fences[-2] + 1 : fences[-1]]) if len(fences) > 1 else ""


def runner(program: str, function: str = "") -> str:
    """The program within its runner; `METHOD` is then its function, if one is named."""
    return f"{source('livecodebench')}\n{METHOD} = run({program!r}, {function!r})\n"


def room(limits: RunLimits, case: Called | Piped) -> RunLimits:
    """Limits that fit every right output of a case."""
    if isinstance(case, Piped):
        return replace(limits, output_kb=max(OUTPUT_KB, 4 * len(case.stdout.encode("utf-8", "replace")) >> 10))
    size = VALUE_BYTES * len(json.dumps(case.expected))
    return replace(limits, value_kb=max(limits.value_kb, size >> 10))


def same_value(value: Any, expected: Any) -> bool:
    """Whether a value equals the expected one; a tuple equals a list, but not inside other values.

    Raises:
        ValueError: The value was made to be hard to compare.
    """
    value = plain(value)
    if isinstance(value, Array):
        # With several items, the comparison does not have a truth value there.
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
