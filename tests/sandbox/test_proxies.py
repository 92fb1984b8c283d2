"""Values and objects between two children: equal copies, one identity, changes in place, nothing of the tests' own."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import queue
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verikit.sandbox.lost import EndedCallError
from verikit.sandbox.proxies.border import Border
from verikit.sandbox.proxies.peer import Peer
from verikit.sandbox.proxies.program import ProgramSide
from verikit.sandbox.proxies.tests import TestsSide

PROGRAM = """
from collections import namedtuple
Point = namedtuple("Point", "x y")
class Node:
    "A node."
    made = 0
    def __init__(self, value, next=None):
        self.value, self.next = value, next
        Node.made += 1
    def __eq__(self, other):
        return isinstance(other, Node) and self.value == other.value
    def __add__(self, other):
        return Node(self.value + other)
    def __iter__(self):
        node = self
        while node:
            yield node.value
            node = node.next
    @property
    def double(self):
        return 2 * self.value
class Loud(Exception):
    def __init__(self, what, code):
        super().__init__(what)
        self.code = code
kept = []
def keep(item):
    kept.append(item)
    return item
def append(items, item): items.append(item)
def fail(): raise Loud("no", 7)
def call(function, *args): return function(*args)
def look(thing, name): return getattr(thing, name)
def swallow(function):
    try:
        function()
    except BaseException:
        pass
"""


class Pair:
    """Both sides in this process, the program's in a thread."""

    def __init__(self, program: str) -> None:
        self.namespace: dict[str, Any] = {"__name__": "solution"}
        exec(compile(program, "<program>", "exec", dont_inherit=True), self.namespace)
        self._out: queue.Queue[str] = queue.Queue()
        self._back: queue.Queue[str] = queue.Queue()
        self.failed: list[BaseException] = []
        self.side = TestsSide(_over(self._out, self._back), self.failed)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        side = ProgramSide(_over(self._back, self._out), self.namespace)
        message = side._read(self._out.get())
        with contextlib.suppress(queue.Empty):  # the test is over
            while True:
                message = side.exchange(*side.served(message))

    def __getattr__(self, name: str) -> Any:
        return self.side.lookup(name)


def _over(put: queue.Queue[str], get: queue.Queue[str]) -> Callable[[str], str]:
    def exchange(line: str) -> str:
        put.put(line)
        return get.get(timeout=30)

    return exchange


@pytest.fixture
def pair() -> Pair:
    return Pair(PROGRAM)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary() | st.fractions()
    | st.dates() | st.datetimes(timezones=st.just(dt.UTC) | st.none()) | st.timedeltas() | st.uuids(),
    lambda inner: st.lists(inner, max_size=4)
    | st.tuples(inner, inner)
    | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
    | st.sets(st.integers() | st.text(max_size=2), max_size=3)
    | st.lists(inner, max_size=3).map(deque),
    max_leaves=12,
)  # fmt: skip


@given(PLAIN)
@settings(max_examples=60, deadline=None)
def test_plain_data_comes_back_as_an_equal_copy_and_a_kept_one_as_itself(value: Any) -> None:
    pair = Pair(PROGRAM)
    assert pair.call(lambda given: given == value and type(given) is type(value), value) is True
    back = pair.keep(value)
    assert back == value
    assert type(back) is type(value)
    assert pair.keep(back) is back or not isinstance(value, list | dict | set | deque)


@given(st.lists(st.tuples(st.sampled_from(["here", "there"]), st.integers(0, 3), st.integers()), max_size=12))
@settings(max_examples=40, deadline=None)
def test_changes_on_both_sides_are_seen_on_both_sides(steps: list[tuple[str, int, int]]) -> None:
    pair = Pair(PROGRAM)
    lists: list[Any] = [[], [], [], []]
    lists[0].append(lists[1])
    expected: list[Any] = [[[]], [], [], []]
    expected[0][0] = expected[1]
    for one in lists:
        pair.keep(one)
    append = pair.append
    for where, at, item in steps:
        (append if where == "there" else list.append)(lists[at], item)
        expected[at].append(item)
        assert lists == expected
        assert pair.call(lambda: [list(one) for one in lists]) == [list(one) for one in expected]
        assert pair.kept == expected
    assert pair.kept[1] is lists[1] is lists[0][0]


@pytest.mark.parametrize(
    "value",
    [
        Decimal("1.50"), Fraction(2, 3), range(3, 9, 2), slice(1, None, 2), Counter("aab"), OrderedDict(b=1, a=2),
        bytearray(b"x"), frozenset({1}), dt.timedelta(1, 2, 3), ..., list[int], deque([1], maxlen=1), 1j, "\ud800",
        dt.datetime(2024, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=5), "X")), dt.time(1, 2),
    ],
)  # fmt: skip
def test_values_of_the_standard_library_cross_whole(pair: Pair, value: Any) -> None:
    back = pair.keep(value)
    assert (type(back), back, repr(back)) == (type(value), value, repr(value))


def test_a_default_dictionary_keeps_its_factory(pair: Pair) -> None:
    kept = pair.keep(defaultdict(list))
    kept["a"].append(1)
    assert pair.kept == [{"a": [1]}]


def test_objects_keep_their_class_identity_and_state(pair: Pair) -> None:
    node = pair.Node(1, pair.Node(2))
    assert isinstance(node, pair.Node)
    assert type(node) is pair.Node
    assert (type(node).__name__, type(node).__doc__, node.double, list(node)) == ("Node", "A node.", 2, [1, 2])
    assert node.next is node.next
    node.value = 5
    assert (node + 1).value == 6
    assert pair.Node.made == 3
    assert not hasattr(node, "nothing")
    assert pair.keep(node) is node
    point = pair.Point(1, 2)
    x, _ = point
    assert (point, point.x, x, isinstance(point, tuple), hash(point)) == ((1, 2), 1, 1, True, hash((1, 2)))


def test_exceptions_of_the_program_are_caught_by_its_classes_and_carry_what_they_have(pair: Pair) -> None:
    with pytest.raises(pair.Loud, match="no") as caught:
        pair.fail()
    assert (caught.value.code, caught.value.args, isinstance(caught.value, Exception)) == (7, ("no",), True)
    with pytest.raises(ZeroDivisionError):
        pair.call(lambda: 1 / 0)


def test_functions_and_files_of_the_tests_can_be_used(pair: Pair) -> None:
    assert pair.call(lambda a, b: [a, b], 1, pair.Node) == [1, pair.Node]
    out = io.StringIO()
    pair.call(pair.look(out, "write"), "text")
    assert out.getvalue() == "text"
    seen: list[int] = []
    pair.call(seen.append, 3)
    assert seen == [3]


SECRET = "expected value"


class Holder:
    """Of the tests."""

    shown = 1

    def __init__(self) -> None:
        self._private = SECRET

    def method(self) -> str:
        """Give it."""
        return SECRET


@pytest.mark.parametrize("name", ["__globals__", "__code__", "__closure__", "__self__", "_private", "gi_frame"])
def test_the_program_sees_nothing_behind_objects_of_the_tests(pair: Pair, name: str) -> None:
    for thing in (lambda: SECRET, Holder(), Holder().method, (x for x in SECRET)):
        with pytest.raises(AttributeError):
            pair.look(thing, name)
    assert pair.look(Holder(), "shown") == 1


GLOBALS = ["tuple", [["value", "__globals__"]]]
NOTHING = ["new", "p1", "dict", [], None]


@pytest.mark.parametrize(
    "operation",
    [
        ["call", ["native", "operator", "attrgetter"], GLOBALS, NOTHING],
        ["getattr", ["native", "builtins", "object"], ["value", "mro"]],
        ["method", ["yours", "t1"], ["yours", "t1"], ["value", "__getattribute__"], GLOBALS, NOTHING],
        ["special", ["yours", "t1"], ["value", "__getattribute__"], ["value", "__globals__"]],
    ],
)  # fmt: skip
def test_a_program_that_speaks_the_protocol_itself_reaches_no_further(operation: list[Any]) -> None:
    said: list[str] = []

    def transport(line: str) -> str:
        said.append(line)
        if len(said) == 1:
            return json.dumps({"status": "turn", "op": operation})
        return json.dumps({"status": "turn", "value": ["value", None]})

    side = TestsSide(transport, [])
    side.ask("nothing", lambda: SECRET)
    answer = json.loads(said[1])
    assert "error" in answer
    assert SECRET not in said[1]


def test_a_failed_check_in_a_callback_is_kept_whatever_the_program_does_with_it(pair: Pair) -> None:
    def check() -> None:
        raise AssertionError("two is not three")

    pair.swallow(check)
    assert any(isinstance(error, EndedCallError) and "two is not three" in str(error) for error in pair.failed)


@pytest.mark.parametrize(
    "line",
    [
        "", "null", "[]", "{}", '{"value": 1}', '{"value": ["yours", "t9"]}',
        '{"value": ["new", "p1", "list", 3, null]}',
        '{"value": ["mine", "p1", ["native", "os", "system"], false]}', '{"value": ["native", "builtins", "exec"]}',
        '{"value": ["native", "sys", "exit"]}', '{"value": ["native", "unittest.case", "SkipTest"]}',
        '{"sync": [["t1", [], null]]}', '{"op": ["global", ["value", "x"]]}', '{"value": ["tuple", ["x"]]}',
    ],
)  # fmt: skip
def test_what_a_hostile_program_sends_ends_a_call_and_nothing_else(line: str) -> None:
    lines = iter([line, '{"ended": "over"}'])
    side = TestsSide(lambda _: next(lines), [])
    with pytest.raises(Exception):  # noqa: B017 - any, as long as it is one
        side.lookup("f")


@given(st.recursive(st.none() | st.booleans() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=5)))
def test_no_node_breaks_the_reader(node: Any) -> None:
    border = Border("tests", Peer("tests", lambda line: line))
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
        border.unpack(node)
