"""Whether two values are equal where only the program's own `__eq__` can tell.

A program that knows no answer can return an object that claims to be equal to everything. So the claim is tested. The
conversation so far is replayed in fresh children, each with one comparison: with the value that the test compares, and
with others that differ from it. The program can't know which of the comparisons is the test's, and nothing that it
learns from one reaches the child whose answers count. A claim that is also made for every other value is false.

The other values are plain values changed as in `changed_tests`. For an object of the program, what it was made of is
changed: the arguments of the call that gave it, and of later calls of its methods.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from verikit.sandbox import RunResult, values
from verikit.sandbox.guest.strict import Unchanged, changed
from verikit.sandbox.session import Conversation

_MOST_OTHERS = 6
"""Other values that one comparison is tried with."""
_MOST_TESTED = 20
"""Comparisons of one run of the tests that are tested; later ones are only asked."""
_CHANGED = ("int", "float", "complex", "fraction", "decimal", "bytes")
Path = tuple[int, ...]
"""Where a value stands in the operands of an operation."""


class Equality:
    """Tests what a program says of equality.

    Args:
        fresh: starts a child with the program that waits for the first line.
    """

    def __init__(self, fresh: Callable[[], Conversation]) -> None:
        self._fresh = fresh
        self._tested = 0
        self.unfounded = False
        """Whether the program claimed that an object equals whatever it is compared with."""

    def judged(self, said: list[str], left: Any, right: Any, others: list[Any], born: list[str]) -> str | RunResult:
        """The line that answers a comparison.

        Args:
            said: the lines of the tests so far.
            left: the object, packed.
            right: what it is compared with, packed.
            others: plain values that differ from `right`, packed.
            born: after which line each of the two first appeared; empty for plain values.
        """
        answer = self._ask(said, left, right)
        self._tested += 1
        if not _is_true(answer) or self._tested > _MOST_TESTED:
            return answer
        tried = False
        for lines, at, other in self._others(said, left, right, others, born):
            found = self._ask(lines, left, other, at)
            if found is None:
                continue
            tried = True
            if not _is_true(found):
                again = self._ask(said, left, right)
                return again if not _is_true(again) else answer
        if not tried:
            return answer
        self.unfounded = True
        return json.dumps({"status": "turn", "value": ["value", False]})

    def _ask(self, said: list[str], left: Any, right: Any, changed_at: int | None = None) -> Any:
        """Replay lines in a fresh child and compare; None if a changed line is not taken."""
        with self._fresh() as session:
            for at, line in enumerate(said):
                heard = session.exchange(line)
                if changed_at is None:
                    continue
                if isinstance(heard, RunResult) or (at == changed_at and "error" in json.loads(heard)):
                    return None
            operation = ["special", left, ["value", "__eq__"], right]
            return session.exchange(json.dumps({"status": "turn", "op": operation}))

    def _others(
        self, said: list[str], left: Any, right: Any, others: list[Any], born: list[str]
    ) -> Iterator[tuple[list[str], int | None, Any]]:
        """Lines and a right side that make the values differ, with the line that was changed."""
        for other in others:
            yield said, None, other
        if not born[1]:
            return
        count = 0
        for side, first in ((right, born[1]), (left, born[0])):
            for at, path in _places(said, side, int(first) - 1):
                for line in _changed_lines(said, at, path):
                    yield [*said[:at], line, *said[at + 1 :]], at, right
                    count += 1
                    if count >= _MOST_OTHERS:
                        return


def _is_true(answer: Any) -> bool:
    return isinstance(answer, str) and json.loads(answer).get("value") == ["value", True]


def _operation(line: str) -> list[Any]:
    found = json.loads(line).get("op")
    return found if isinstance(found, list) else []


def _places(said: list[str], packed: Any, first: int) -> Iterator[tuple[int, Path]]:
    """Where plain values stand that an object was made of: in the line that gave it, and in calls of its methods."""
    if not 0 <= first < len(said):
        return
    reference = ["yours", packed[1]]
    lines = [first, *(at for at in range(first + 1, len(said)) if reference in _operation(said[at])[1:3])]
    for at in lines:
        operation = _operation(said[at])
        if operation and operation[0] in ("call", "method", "setattr", "special"):
            yield from ((at, path) for path in _scalars(operation[1:], (1,)))


def _scalars(nodes: list[Any], start: Path) -> Iterator[Path]:
    """Paths of the plain values in operands, the names of attributes and methods left out."""
    for at, node in enumerate(nodes):
        if isinstance(node, list) and node:
            yield from _scalars_in(node, (start[0] + at,))


def _scalars_in(node: list[Any], path: Path) -> Iterator[Path]:
    if node[0] in ("tuple", "frozenset"):
        parts, at = node[1], (1,)
    elif node[0] == "new":
        parts, at = node[3], (3,)
    elif node[0] == "value" and len(path) > 1:
        yield path
        return
    else:
        return
    for position, part in enumerate(parts):
        yield from _scalars_in(part, (*path, *at, position))


def _at(operation: Any, path: Path) -> Any:
    for step in path:
        operation = operation[step]
    return operation


def _changed_lines(said: list[str], at: int, path: Path) -> Iterator[str]:
    """A line with one of its values changed: made another one, or exchanged for one of the same type elsewhere."""
    node = _at(_operation(said[at]), path)
    value = values.decode(node[1])
    candidates = []
    try:
        candidates.append(["value", values.encode(changed(value, 0))])
    except Unchanged:
        return
    elsewhere = (_at(_operation(line), other) for line in said for other in _scalars(_operation(line)[1:], (1,)))
    candidates += [other for other in elsewhere if other != node and type(values.decode(other[1])) is type(value)][:1]
    for other in candidates:
        message = copy.deepcopy(json.loads(said[at]))
        parent = _at(message["op"], path[:-1])
        parent[path[-1]] = other
        yield json.dumps(message)
