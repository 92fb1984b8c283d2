"""Whether two values are equal where only the program's own `__eq__` can tell.

A program that knows no answer can return an object that claims to be equal to everything. So the claim is tested. The
conversation so far is replayed in fresh children, each with one comparison: with the value that the test compares, and
with others that differ from it. The program can't know which of the comparisons is the test's, and nothing that it
learns from one reaches the child whose answers count. A claim that is also made for every other value is false.

The other values are plain values that differ a little (`near`). For two objects of the program one of them is made once
more, with another value among the arguments of the call that gave it or of later calls of its methods.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

from verikit.sandbox import RunResult, values
from verikit.sandbox.guest.strict import Unchanged
from verikit.sandbox.proxies.near import near
from verikit.sandbox.session import Conversation

_MOST_OTHERS = 6
"""Other values that one comparison is tried with."""
_MOST_TESTED = 20
"""Comparisons of one run of the tests that are tested; later ones are only asked."""
_MAKING = ("call", "method", "setattr", "special")
MADE = ["made"]
"""Stands for the object in the operations that make it."""
Path = tuple[int, ...]
"""Where a value stands in an operation."""
Recipe = list[list[Any]]
"""Operations: one that makes an object, and others on it."""


class ObjectEquality:
    """Tests what a program says of equality.

    Args:
        fresh: starts a child with the program that waits for the first line.
    """

    def __init__(self, fresh: Callable[[], Conversation]) -> None:
        self._fresh = fresh
        self._tested = 0
        self.unfounded = False
        """Whether the program claimed that an object equals whatever it is compared with."""

    @property
    def is_spent(self) -> bool:
        """Whether so many comparisons were tested that later ones are only asked."""
        return self._tested >= _MOST_TESTED

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
        found = [self._ask(said, left, other) for other in others]
        if born[1]:
            found += self._against_remade(said, left, right, born)
        if found and all(map(_is_true, found)):
            self.unfounded = True
            return json.dumps({"status": "turn", "value": ["value", False]})
        again = self._ask(said, left, right)
        return again if not _is_true(again) else answer

    def _against_remade(self, said: list[str], left: Any, right: Any, born: list[str]) -> list[Any]:
        """Comparisons with objects that were made like one of the two, but of other values; until one is unequal."""
        found: list[Any] = []
        recipes = itertools.chain(
            ((left, recipe) for recipe in _recipes(said, right, int(born[1]) - 1)),
            ((right, recipe) for recipe in _recipes(said, left, int(born[0]) - 1)),
        )
        for kept, recipe in itertools.islice(recipes, _MOST_OTHERS):
            answer = self._ask(said, kept, None, recipe)
            if answer:
                found.append(answer)
            if found and not _is_true(found[-1]):
                break
        return found

    def _ask(self, said: list[str], left: Any, right: Any, recipe: Recipe | None = None) -> str | RunResult:
        """Replay lines in a fresh child and compare; an empty text if the object of a recipe can't be made."""
        with self._fresh() as session:
            for line in said:
                session.exchange(line)
            if recipe is not None:
                right = _remade(session, recipe)
                if right is None:
                    return ""
            return session.exchange(_line(["special", left, ["value", "__eq__"], right]))


def _remade(session: Conversation, recipe: Recipe) -> Any:
    """Another object, made by operations in which `MADE` stands for it; None if one of them fails."""
    made: Any = None
    for operation in recipe:
        heard = session.exchange(_line(_with(operation, made)))
        message = json.loads(heard) if isinstance(heard, str) else {}
        if "value" not in message:
            return None
        if made is None:
            value = message["value"]
            if not isinstance(value, list) or value[:1] != ["mine"] or len(value) < 2:
                return None
            made = ["yours", value[1]]
    return made


def _with(operation: Any, made: Any) -> Any:
    if operation == MADE:
        return made
    return [_with(part, made) for part in operation] if isinstance(operation, list) else operation


def _line(operation: Any) -> str:
    return json.dumps({"status": "turn", "op": operation})


def _is_true(answer: Any) -> bool:
    return isinstance(answer, str) and json.loads(answer).get("value") == ["value", True]


def _operation(line: str) -> list[Any]:
    found = json.loads(line).get("op")
    return found if isinstance(found, list) else []


def _recipes(said: list[str], packed: Any, first: int) -> Iterator[Recipe]:
    """Ways to make an object like one that was made: the same operations with one of their values changed."""
    if not 0 <= first < len(said):
        return
    reference = ["yours", packed[1]]
    later = [operation for line in said[first + 1 :] if reference in (operation := _operation(line))[1:3]]
    made = [_operation(said[first]), *(_replaced(operation, reference) for operation in later)]
    operations = map(_operation, said)
    elsewhere = [_at(operation, path) for operation in operations for path in _scalars(operation)]
    for at, operation in enumerate(made):
        if not operation or operation[0] not in _MAKING:
            continue
        for path in _scalars(operation):
            for other in _other_scalars(_at(operation, path), elsewhere):
                changed_operation = copy.deepcopy(operation)
                _at(changed_operation, path[:-1])[path[-1]] = other
                yield [*made[:at], changed_operation, *made[at + 1 :]]


def _replaced(operation: Any, reference: list[Any]) -> Any:
    if operation == reference:
        return MADE
    return [_replaced(part, reference) for part in operation] if isinstance(operation, list) else operation


def _scalars(operation: list[Any]) -> Iterator[Path]:
    """Paths of the plain values in operands, the names of attributes and methods left out."""
    for at, node in enumerate(operation[1:], 1):
        if isinstance(node, list) and node and node[0] != "value":
            yield from _scalars_in(node, (at,))


def _scalars_in(node: list[Any], path: Path) -> Iterator[Path]:
    if node[0] == "value":
        yield path
    elif node[0] in ("tuple", "frozenset", "new"):
        inside = 3 if node[0] == "new" else 1
        for position, part in enumerate(node[inside]):
            yield from _scalars_in(part, (*path, inside, position))


def _at(operation: Any, path: Path) -> Any:
    for step in path:
        operation = operation[step]
    return operation


def _other_scalars(node: Any, elsewhere: list[Any]) -> Iterator[Any]:
    """Other values of the same type: one made of this one, and one that the tests use elsewhere."""
    value = values.decode(node[1])
    try:
        yield ["value", values.encode(near(value, 0))]
    except Unchanged:
        return
    alike = (other for other in elsewhere if other != node and type(values.decode(other[1])) is type(value))
    yield from itertools.islice(alike, 1)
