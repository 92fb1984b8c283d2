"""Comparisons that only the program's own methods can decide: `==` of objects, `in` an object, `<` and other orderings.

A program can avoid the work and return an object that claims to be equal to everything. So the claim is tested. The
conversation so far is replayed in fresh children, each with one comparison: with the value that the test compares, and
with others that differ from it. The program can't distinguish the test's comparison from the others. Each comparison
has its own child, so nothing carries over to the child whose answers count. A claim that is also true of every other
value is false.

The other values are plain values that differ a little (`near`). If both are objects of the program, one of them is
created again. Another value then replaces one argument of the call that returned it, or of later calls of its methods.
An interval also contains the values near one. In that case the conversation is replayed with another value in one of
its calls.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

from verikit.sandbox import Failure, RunResult, values
from verikit.sandbox.guest.strict import Unchanged
from verikit.sandbox.proxies.near import near
from verikit.sandbox.session import Conversation

_MOST_OTHERS = 6
"""Maximum other values tried per comparison."""
_MOST_TESTED = 20
"""Maximum comparisons tested per run of the tests; later ones are only sent to the program."""
_MOST_PLACES, _MOST_RETOLD = 8, 24
"""Maximum values replaced per claim, and maximum conversations with another value."""
_MAKING = ("call", "method", "setattr", "special")
_ASKING = ("__eq__", "__contains__", "__lt__", "__le__", "__gt__", "__ge__")
_UNDECIDED, _SPENT = (json.dumps({"status": "turn", "value": ["named", name]}) for name in ("Ellipsis", "MISSING"))
"""The program's own child must answer: no other child can, or there were too many comparisons."""
_LENDING = {"mine": 1, "class": 1, "module": 2, "raised": 1}
"""Nodes that lend an object of the tests to the program, with the position of its key."""
_NOT_IMPLEMENTED = ["named", "NotImplemented"]
_UNREADABLE = ...
"""Replaces a value that is malformed or too large. A program may send it, and the tests' side rejects it."""
_EMPTY = json.dumps({"status": "turn", "value": ["value", ""]})
_ENDLESS = RunResult("timeout", error=Failure("timeout", "questions without an end"))
MADE = ["made"]
"""Placeholder for the object in the operations that create it."""
Path = tuple[int, ...]
"""The position of a value in an operation."""
Recipe = list[list[Any]]
"""Operations: one that creates an object, and others on it."""


class Asked(NamedTuple):
    """A question of the program to the tests, and their answer."""

    question: str
    """The digest of the operation (`question_of`)."""
    answer: str
    """The line."""


class ObjectEquality:
    """Tests a program's claims of equality, order and membership.

    Args:
        fresh: starts a child with the program, which then waits for the first line.
        late: the result of a row whose time is over; None before that. Testing a claim takes many children.
        wall_s: maximum seconds of a child that sends questions instead of an answer.
    """

    def __init__(self, fresh: Callable[[], Conversation], late: Callable[[], RunResult | None], wall_s: float) -> None:
        self._fresh, self._late, self._wall_s = fresh, late, wall_s
        self._compared = 0
        self.unfounded = False
        """Whether the program claimed that an object equals every value it is compared with."""

    def judged(self, said: list[str], left: Any, right: Any, others: list[Any], born: list[str]) -> str | RunResult:
        """The line that answers whether two values are equal.

        Its value is an ellipsis if the program's own child has to answer: `==` gave an object, raised something or
        needs an object of the tests. It is `MISSING` after many comparisons.

        Args:
            said: lines of the tests so far.
            left: the object, packed.
            right: the value compared with it, packed.
            others: plain values that differ from `right`, packed.
            born: the line after the first appearance of each of the two; empty for plain values.
        """
        self._compared += 1
        if self._compared > _MOST_TESTED:
            return _SPENT
        answer = self._ask(said, left, "__eq__", right)
        if isinstance(answer, RunResult) or _is_final(answer):
            return answer
        if not _is_plain(answer):
            return _UNDECIDED
        asked = itertools.chain(
            (self._ask(said, left, "__eq__", other) for other in others),
            self._against_remade(said, left, right, born) if born[1] else [],
        )
        if self._are_all_true(asked):
            self.unfounded = True
            return _told(False)
        again = self._ask(said, left, "__eq__", right)
        return again if not _is_true(again) else answer

    def founded(
        self, said: list[str], asked: list[Asked], left: Any, name: str, right: Any, others: list[Any]
    ) -> str | RunResult:
        """The line that answers whether a claim of the program's own child is not one that it claims of every value.

        If the row's time is over before that is known, the result of a row that is late.

        Args:
            said: the lines of the tests before the claim.
            asked: the program's questions to them before it made the claim.
            left: the object, packed.
            name: of the method that gave a true value.
            right: the plain value that it was called with, packed.
            others: calls that contradict the claim if they give a true value, each a method's name and a value; of
                `==` and `in` only if all do.
        """
        tried = (self._ask(said, left, method, other, asked=asked) for method, other in others)
        if name in ("__eq__", "__contains__"):
            retold = (
                self._ask(other, left, name, right, asked=asked)
                for other in itertools.islice(_retold(said, right), _MOST_RETOLD)
            )
            wrong = self._are_all_true(itertools.chain(tried, retold if name == "__contains__" else []))
        else:
            wrong = any(map(_is_true, tried))
        self.unfounded = self.unfounded or wrong
        return self._late() or _told(not wrong)

    @staticmethod
    def _are_all_true(answers: Iterable[Any]) -> bool:
        """Whether there are answers and all of them are true; stops at the first one that is not."""
        count = 0
        for answer in answers:
            if not _is_true(answer):
                return False
            count += 1
        return count > 0

    def _against_remade(self, said: list[str], left: Any, right: Any, born: list[str]) -> Iterator[Any]:
        """Comparisons with objects that are created like one of the two, but from other values."""
        recipes = itertools.chain(
            ((left, recipe) for recipe in _recipes(said, right, int(born[1]) - 1)),
            ((right, recipe) for recipe in _recipes(said, left, int(born[0]) - 1)),
        )
        for kept, recipe in itertools.islice(recipes, _MOST_OTHERS):
            answer = self._ask(said, kept, "__eq__", None, recipe)
            if answer:
                yield answer

    def _ask(
        self,
        said: list[str],
        left: Any,
        name: str,
        right: Any,
        recipe: Recipe | None = None,
        asked: Sequence[Asked] = (),
    ) -> str | RunResult:
        """Replay lines in a fresh child and compare; an empty string if the object of a recipe can't be created.

        Meanwhile the child may send questions to the tests. It receives their earlier answer, or nothing. Only a new
        question about an object of the tests can't be answered. It is returned, and the claim stays undecided.
        """
        if (late := self._late()) is not None:
            return late
        with self._fresh() as session:
            for line in said:
                session.exchange(line)
            if recipe is not None:
                right = _remade(session, recipe)
                if right is None:
                    return ""
            answer = session.exchange(_line(["special", left, ["value", name], right]))
            if isinstance(answer, str) and question_of(answer):
                return self._questioned(session, answer, asked, _lent(said))
            return answer

    def _questioned(
        self, session: Conversation, answer: str | RunResult, asked: Sequence[Asked], lent: set[str]
    ) -> str | RunResult:
        """A child's answer after its questions. Questions without an end count as a loop without an end."""
        waiting = iter(asked)
        while isinstance(answer, str) and (question := question_of(answer)):
            known = next(waiting, Asked("", _EMPTY))
            if known.question != question and _names_any(_operation(answer), lent):
                break
            late = _ENDLESS if session.used_s > self._wall_s else self._late()
            answer = late or session.exchange(known.answer)
        return answer


def _remade(session: Conversation, recipe: Recipe) -> Any:
    """Another object, created by operations that refer to it as `MADE`; None if one of them fails."""
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


def _told(truth: bool) -> str:
    return json.dumps({"status": "turn", "value": ["value", truth]})


def _lent(said: Iterable[str]) -> set[str]:
    """The keys of the objects that the tests have lent to the program."""
    keys: set[str] = set()
    waiting: list[Any] = [json.loads(line) for line in said]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
            place = _LENDING.get(node[0]) if node and isinstance(node[0], str) else None
            if place is not None and len(node) > place and isinstance(node[place], str):
                keys.add(node[place])
    return keys


def _names_any(question: list[Any], keys: set[str]) -> bool:
    """Whether an operation names one of some objects."""
    waiting: list[Any] = [question]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
        elif node in keys:
            return True
    return False


def _value(answer: Any) -> Any:
    """The packed value of an answer; None if the answer is not a value."""
    return json.loads(answer).get("value") if isinstance(answer, str) else None


def question_of(answer: str) -> str:
    """A digest of a program's question to the tests; empty if it answers."""
    operation = _operation(answer) if '"op"' in answer else []
    return sha256(json.dumps(operation).encode()).hexdigest() if operation else ""


def _is_true(answer: Any) -> bool:
    """Whether an answer is a true value; an object is treated as true."""
    node = _value(answer)
    if not isinstance(node, list) or len(node) < 2 or node == _NOT_IMPLEMENTED:
        return False
    if node[0] == "value":
        value = _decoded(node)
        return value is not _UNREADABLE and bool(value)
    if node[0] in ("tuple", "frozenset"):
        return bool(node[1])
    return node[:1] != ["new"] or any(node[3:])


def _decoded(node: list[Any]) -> Any:
    """The value of a packed plain value."""
    try:
        return values.decode(node[1])
    except ValueError:
        return _UNREADABLE


def _is_plain(answer: str) -> bool:
    """Whether an answer means the same in every child: a number, a string, `NotImplemented`."""
    node = _value(answer)
    return isinstance(node, list) and node[:1] in (["value"], ["named"])


def _is_final(answer: str) -> bool:
    """Whether an answer is plain and claims nothing."""
    return _is_plain(answer) and not _is_true(answer)


def _operation(line: str) -> list[Any]:
    found = json.loads(line).get("op")
    return found if isinstance(found, list) else []


def _recipes(said: list[str], packed: Any, first: int) -> Iterator[Recipe]:
    """Ways to create an object like an existing one: the same operations with one value changed."""
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


def _retold(said: list[str], compared: Any) -> Iterator[list[str]]:
    """The conversation with another value in one of its calls, starting with calls that state the compared value."""
    own = [_at(compared, path) for path in _scalars_in(compared, ())]
    own_lines = set(map(json.dumps, own))
    operations = list(map(_operation, said))
    places = [
        (at, path)
        for at, operation in reversed(list(enumerate(operations)))
        if operation[:1] and operation[0] in _MAKING and operation[2:3] not in [[["value", name]] for name in _ASKING]
        for path in _scalars(operation)
    ]
    places.sort(key=lambda place: json.dumps(_at(operations[place[0]], place[1])) not in own_lines)
    choices = [(place, _instead(_at(operations[place[0]], place[1]), own)) for place in places[:_MOST_PLACES]]
    for rank in range(max((len(others) for _, others in choices), default=0)):
        for (at, path), others in choices:
            if rank < len(others):
                changed_operation = copy.deepcopy(operations[at])
                _at(changed_operation, path[:-1])[path[-1]] = others[rank]
                yield [*said[:at], json.dumps(json.loads(said[at]) | {"op": changed_operation}), *said[at + 1 :]]


def _instead(node: Any, compared: list[Any]) -> list[Any]:
    """Other values of the same type: around the compared ones, near this one, larger and smaller."""
    value = _decoded(node)
    alike = [other for part in compared if type(other := _decoded(part)) is type(value)]
    found: list[Any] = []
    with suppress(Unchanged):
        for other in (*alike[:2], value):
            found += [near(other, 0), other]
        found += [near(value, 1)]
    if isinstance(value, int) and not isinstance(value, bool):
        found += [value * 10, value // 2, value // 4]
    packed = [["value", values.encode(other)] for other in found if other != value]
    return [other for at, other in enumerate(packed) if other not in packed[:at]]


def _replaced(operation: Any, reference: list[Any]) -> Any:
    if operation == reference:
        return MADE
    return [_replaced(part, reference) for part in operation] if isinstance(operation, list) else operation


def _scalars(operation: list[Any]) -> Iterator[Path]:
    """Paths of the plain values in operands, without the names of attributes and methods."""
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
    """Other values of the same type: one derived from this one, and one from other parts of the tests."""
    value = _decoded(node)
    try:
        yield ["value", values.encode(near(value, 0))]
    except Unchanged:
        return
    alike = (other for other in elsewhere if other != node and type(_decoded(other)) is type(value))
    yield from itertools.islice(alike, 1)
