"""`code` on tests that use objects of the program: what programs that know no answer try, and what right ones do."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verikit
from verikit.sandbox.guest.strict import Unchanged
from verikit.sandbox.proxies.near import VARIANTS, near

CODE = verikit.code()
SIDE = """
import io, operator, os, re, sys, time
def side():
    frame = sys._getframe()
    while type(frame.f_locals.get("self")).__name__ != "ProgramSide":
        frame = frame.f_back
    return frame.f_locals["self"]
"""
"""Finds what the program's child speaks to the tests by."""


def score(program: str, tests: str) -> verikit.Score:
    """The score of a reply."""
    return CODE(f"```python\n{program}\n```", tests=tests)


FILE = "from solution import f\ndef test_one():\n    assert f(2) == 40\ndef test_two():\n    assert f(3) == 77\n"
CALLBACK = "want = 77\nassert f(lambda: 1) == want\n"
OPERATIONS = {
    "opens the test file": (
        """
def f(x):
    text = side().ask("call", io.open, ("test_file.py",), {}).read()
    return int(re.search(r"f.%d. == (.*)" % x, text).group(1))
""",
        FILE,
    ),
    "writes the record": (
        """
def f(x):
    side().ask("call", io.FileIO, (3, "w"), {}).write(b'{"status":"ok","value":null}\\n')
    time.sleep(60)
""",
        "assert f(2) in [40]\n",
    ),
    "attrgetter": (
        'def f(g): return side().ask("call", operator.attrgetter, ("__globals__",), {})(g)["want"]\n', CALLBACK,
    ),
    "private method": (
        'def f(g): return side().ask("method", g, g, "__getattribute__", ("__globals__",), {})["want"]\n', CALLBACK,
    ),
    "method of a text": (
        'def f(g): return int(side().ask("method", str, "{0.__globals__[want]}", "format", (g,), {}))\n', CALLBACK,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", OPERATIONS)
def test_a_program_can_use_nothing_of_the_tests_process_but_what_it_was_passed(kind: str) -> None:
    program, tests = OPERATIONS[kind]
    found = score(SIDE + program, tests)
    assert (found.value, found.status) == (0.0, "ok"), found


@pytest.mark.parametrize("base", ["KeyboardInterrupt", "SystemExit", "GeneratorExit"])
def test_an_exception_of_the_program_ends_no_test_file(base: str) -> None:
    program = f"class End({base}): pass\ndef f(x):\n    if x == 2: return 40\n    raise End()\n"
    assert score(program, FILE).value == 0.0


ODD = """
class Odd:
    def __eq__(self, other):
        text = repr(other)
        return "changed" not in text and "0000000" not in text
    __hash__ = None
def f(x): return Odd()
"""


@pytest.mark.parametrize(
    "expected",
    ["4", "'abc'", "[1, 2, 3]", "100", "0", "-5", "2.5", "{'a': 1}", "datetime.date(2020, 1, 1)", "[]", "''"],
)
def test_what_equals_every_likely_value_equals_none(expected: str) -> None:
    assert score(ODD, f"import datetime\nfound = f(2)\nassert found == {expected}\n").value == 0.0


@pytest.mark.parametrize("node", ["[]", '["new"]', '["tuple"]', '["value"]', "{}", '"x"', '["mine", "p1"]'])
def test_a_line_that_is_not_well_formed_is_a_zero(node: str) -> None:
    line = f'{{"status": "turn", "value": {node}}}\\n'
    program = f"import os\ndef f(x):\n    os.write(3, b'{line}')\n    os.close(3)\n"
    found = score(program, "found = f(2)\nassert found == 4\n")
    assert (found.value, found.status) == (0.0, "ok"), found


def test_a_program_does_not_set_what_a_mock_tells_of_its_calls() -> None:
    tests = "from unittest.mock import Mock\nm = Mock()\ntry:\n    f(m)\nexcept AttributeError:\n    pass\n"
    for more in ("assert_called_once_with=lambda *a, **k: None", "called=True, call_count=1"):
        found = score(f"def f(m): m.configure_mock({more})\n", tests + "m.assert_called_once_with(5)\n")
        assert found.value == 0.0, found


@pytest.mark.parametrize(
    "program",
    [
        "class Unrepeatable(Exception): pass\ndef f(x): raise Unrepeatable()",
        "import os\ndef f(x): return os.urandom(8)",
    ],
)
def test_a_program_does_not_make_itself_unscored_by_what_it_does_when_it_is_run_again(program: str) -> None:
    code = verikit.code(sandbox="process")
    found = code(f"```python\n{program}\n```", tests="x, y = f(2), f(3)\nassert (x, y) == (4, 5)\n")
    assert (found.value, found.status) == (0.0, "ok"), found


DATA = """
from dataclasses import dataclass, field
@dataclass(order=True)
class Item:
    size: int
    name: str = field(default="", compare=False)
"""


@pytest.mark.parametrize(
    "check",
    [
        "is_dataclass(Item) and is_dataclass(Item(1))",
        "asdict(Item(1, 'a')) == {'size': 1, 'name': 'a'}",
        "astuple(Item(1, 'a')) == (1, 'a')",
        "[one.name for one in fields(Item(1))] == ['size', 'name']",
        "replace(Item(3), size=1) < Item(2)",
        "Item.__annotations__['size'] is int",
    ],
)
def test_functions_of_dataclasses_take_objects_of_the_program(check: str) -> None:
    found = score(DATA, f"from dataclasses import *\nfor _ in range(3):\n    assert {check}\n")
    assert found.value == 1.0, found


_SCALARS: Any = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary() | st.dates()
    | st.datetimes() | st.times() | st.timedeltas() | st.uuids() | st.fractions() | st.decimals(allow_nan=False)
)  # fmt: skip
_PLAIN = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


@given(_PLAIN | st.frozensets(_SCALARS, max_size=4), st.integers(0, VARIANTS - 1))
def test_a_near_value_is_another_one_of_the_same_type(value: Any, variant: int) -> None:
    try:
        other = near(value, variant)
    except (Unchanged, OverflowError):
        return
    assert other != value
    assert value is None or type(other) is type(value)


@pytest.mark.parametrize(
    "value",
    [deque([1], 3), Counter("aab"), OrderedDict(a=1), defaultdict(list, a=[1]), bytearray(b"ab"), range(3), {1, 2}, [],
     {}, Decimal("1.5"), Fraction(1, 3), uuid.UUID(int=4), dt.time(3), 1 + 2j, (1, "a"), math.inf],
)  # fmt: skip
def test_every_kind_of_plain_value_has_near_ones(value: Any) -> None:
    others = [near(value, variant) for variant in range(VARIANTS)]
    assert all(other != value and type(other) is type(value) for other in others)
    assert others[0] != others[1]


@pytest.mark.parametrize(("value", "others"), [(100, [200, 300]), (7, [8, 9]), (-5, [-6, -7]), (3.14, [3.15, 3.16])])
def test_near_numbers_are_as_round_as_the_value(value: float, others: list[float]) -> None:
    assert [near(value, variant) for variant in range(VARIANTS)] == others
