"""Sandbox runs that several questions share without being able to affect each other.

A child that only reads strings does not run any of them, so it reads many. Each call of a program has its own child,
unless the source shows that calls can't affect each other (`guest/closed.py`). Then they share one. A failure in a
shared run is not a result: the caller repeats the work on its own, under its own limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

from verikit.sandbox import LocalSandbox, RunLimits
from verikit.sandbox.guest import source

Question = tuple[str, Any]
"""The reader of a string (`literal`, `arguments`, `pairs`, `structure`, `closed`), and the string."""
UNREAD = object()
"""Replaces a value that must be read or called on its own."""
_SHARE_OF_WALL = 4
"""A shared run has a quarter of a run's time, to avoid waiting twice for slow work."""
_MOST_QUESTIONS, _MOST_CHARS = 64, 100_000
"""Of one child."""
_LONGEST = 20_000
"""Maximum characters of a string that is read in a shared run."""


def read_together(box: LocalSandbox, asked: Sequence[Question], limits: RunLimits) -> list[Any]:
    """Read strings in one child; values in the same order, `UNREAD` for those that must be read on their own."""
    short = [index for index, (_, given) in enumerate(asked) if _length(given) <= _LONGEST]
    found = [UNREAD] * len(asked)
    if not short:
        return found
    program = source("reading") + (source("closed") if any(how == "closed" for how, _ in asked) else "")
    result = box.run(program, call=("several", [[list(asked[index]) for index in short]], {}), limits=_part(limits))
    if result.status == "ok":
        for index, value in zip(short, result.value, strict=True):
            found[index] = value[0] if value else UNREAD
    return found


def call_together(
    box: LocalSandbox, program: str, calls: Sequence[tuple[list[Any], dict[str, Any]]], limits: RunLimits
) -> list[Any] | None:
    """Call the `f` of a closed program with each in one child; None if each must be called on its own."""
    try:
        result = box.run_calls(program, [("f", args, kwargs) for args, kwargs in calls], _part(limits))
    except ValueError:  # an argument has no typed form
        return None
    return list(result.value) if result.status == "ok" else None


def _part(limits: RunLimits) -> RunLimits:
    return replace(limits, wall_s=limits.wall_s / _SHARE_OF_WALL)


def _length(given: Any) -> int:
    return len(given) if isinstance(given, str) else sum(len(text) for pair in given for text in pair)


class Readings:
    """The values of strings, read in as few children as possible."""

    def __init__(self, box: LocalSandbox, limits: RunLimits, threads: Executor) -> None:
        self._box, self._limits, self._threads = box, limits, threads
        self._known: dict[Question, Any] = {}

    def read(self, asked: Iterable[Question]) -> None:
        """Read all of these."""
        parts = list(_parts(list(dict.fromkeys(asked))))
        for part, found in zip(parts, self._threads.map(self._read, parts), strict=True):
            self._known |= zip(part, found, strict=True)

    def _read(self, part: Sequence[Question]) -> list[Any]:
        return read_together(self._box, part, self._limits)

    def get(self, question: Question) -> Any:
        """Return the value that was read; `UNREAD` if it was not."""
        return self._known.get(question, UNREAD)


def _parts(asked: Sequence[Question]) -> Iterator[list[Question]]:
    """Split questions into batches for one child each."""
    part: list[Question] = []
    chars = 0
    for question in asked:
        length = _length(question[1])
        if part and (len(part) >= _MOST_QUESTIONS or chars + length > _MOST_CHARS):
            yield part
            part, chars = [], 0
        part.append(question)
        chars += length
    if part:
        yield part
