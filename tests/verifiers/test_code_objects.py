"""`code` on tests that use objects of the program: what programs that know no answer try, and what right ones do."""

# ruff: noqa: E501 - programs are lines as they are
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


# ---- right programs, and rows that can't be scored ------------------------------------------------------------------

MONEY = """
class Money:
    def __init__(self, amount): self.amount = amount
    def __eq__(self, other): return self.amount == getattr(other, "amount", other)
    def __lt__(self, other): return self.amount < getattr(other, "amount", other)
    def __hash__(self): return hash(self.amount)
    def copy(self): return Money(self.amount)
def total(*amounts): return Money(sum(amounts))
"""


@pytest.mark.parametrize(
    "check",
    [
        "total(2, 3) == 5", "total(2, 3) != 6", "total(2) == Money(2)", "Money(7).copy() == Money(7)", "total(2) < 3",
        "sorted([Money(3), Money(1)])[0] == 1", "{Money(2): 'a'}[total(1, 1)] == 'a'", "total(1, 2) in [Money(3)]",
        "all(total(i) == Money(i) for i in range(40))",
    ],
)  # fmt: skip
def test_equality_of_the_program_counts_where_it_is_true(check: str) -> None:
    assert score(MONEY, f"assert {check}").value == 1.0
    assert score(MONEY, f"assert not ({check})").value == 0.0


@pytest.mark.parametrize("claim", ["True", "type(other) is Money", "not isinstance(other, str)"])
@pytest.mark.parametrize("check", ["total(2, 3) == 5", "total(2, 3) == Money(5)", "total(2, 3) in [Money(5)]"])
def test_equality_that_holds_for_other_values_counts_for_nothing(claim: str, check: str) -> None:
    program = MONEY.replace('self.amount == getattr(other, "amount", other)', claim)
    assert score(program, f"assert {check}").value == 0.0


GUARDED = """
def f(x): return x + 1
if __name__ == "__main__":
    import sys, unittest
    print(f(int(input())), sys.argv[1])
    unittest.main()
    sys.exit(0)
"""


@pytest.mark.parametrize(
    "row",
    [
        {"tests": ["assert f(1) == 2"]}, {"tests": [{"call": "f(1)", "expected": "2"}]},
        {"test_list": ["assert f(1) == 2"]},
        {"tests": ["for n in range(2): assert f(n) == n + 1"]},
        {"tests": "from solution import f\ndef test_f():\n    assert f(1) == 2\n"},
        {"test": "def check(c):\n    assert c(1) == 2\n", "entry_point": "f"}, {"tests": ">>> f(1)\n2\n"},
    ],
    ids=str,
)  # fmt: skip
def test_a_main_part_is_not_run_where_functions_are_called(row: dict[str, Any]) -> None:
    assert CODE(GUARDED, **row).value == 1.0
    assert CODE(GUARDED.replace("x + 1", "x"), **row).value == 0.0


@pytest.mark.parametrize(
    ("tests", "why"),
    [
        ("import inspect\nassert 'for' not in inspect.getsource(f)", "inspect.getsource"),
        ("assert f.__code__.co_argcount == 1", "co_argcount"),
        ("from unittest import mock\nwith mock.patch('time.time', return_value=1):\n    assert f(1) == 1", "time.time"),
        (
            "import os\ndef test_a(monkeypatch):\n    monkeypatch.setattr(os, 'getcwd', lambda: '')\n    f(1)",
            "os.getcwd",
        ),
        ("def test_a(tmp_path):\n    assert f(tmp_path) == 1", "tmp_path"),
        ("open('x', 'w').write('1')\nassert f('x') == 1", "open files"),
    ],
)
def test_tests_that_need_the_programs_process_leave_the_row_unscored(tests: str, why: str) -> None:
    for program in ("def f(x): return 1", "f = 3"):
        found = score(program, tests)
        assert found.value is None
        assert why in found.reason


def test_a_row_whose_own_solution_fails_its_tests_is_unscored() -> None:
    row = {"tests": ["s = Stack()\ns.push(1)\nassert s.peek() == 1"], "entry_point": "Stack"}
    wrong = "class Stack:\n    def push(self, x): pass"
    assert CODE(wrong, **row).value == 0.0
    unscored = CODE(wrong, **row, reference_solution="class Stack(list):\n    def push(self, x): self.append(x)")
    assert (unscored.value, "own solution" in unscored.reason) == (None, True)
    right = "class Stack(list):\n    push = list.append\n    def peek(self): return self[-1]"
    assert CODE(wrong, **row, reference_solution=right).value == 0.0
    assert CODE(right, **row, reference_solution=right).value == 1.0


@pytest.mark.parametrize(
    ("program", "tests"),
    [
        ("Bad = Exception\ndef f(): pass", "try:\n    f()\n    assert False\nexcept Bad:\n    pass"),
        ("Bad = AssertionError\ndef f(): pass", "try:\n    f()\n    assert False\nexcept Bad:\n    pass"),
        ("class C:\n    def __enter__(self): return self\n    def __exit__(self, *e): return True\nf = C",
         "with f() as c:\n    assert c == 3"),
        ("import unittest\ndef f(): raise unittest.SkipTest('x')",
         "import unittest\nclass T(unittest.TestCase):\n    def test_f(self): self.assertEqual(f(), 1)"),
        ("import sys\ndef f(): sys.exit(0)", "assert f() == 1"),
        ("def g(): pass", "assert f() == 1"),
        ("def f(g):\n    try: g()\n    except BaseException: pass", "def fail(): assert f is None\nf(fail)"),
    ],
)  # fmt: skip
def test_a_test_that_fails_is_never_made_to_pass_nor_skipped(program: str, tests: str) -> None:
    found = score(program, tests)
    assert (found.value, found.status) == (0.0, "ok"), found


def test_seeds_and_large_data_reach_the_program() -> None:
    seeded = "import random\nrandom.seed(3)\na = f()\nrandom.seed(3)\nassert a == random.random()"
    assert score("import random\ndef f(): return random.random()", seeded).value == 1.0
    large = "x = list(range(60_000))[::-1]\nassert f(x) == x[::-1]"
    assert score("def f(x): return sorted(x)", large).value == 1.0


OWN = "class E(%s):\n    pass\nclass O:\n    pass\n"
RAISED = [
    ("OSError", "raise E(2, 'no', 'here')", "e.errno == 2 and e.filename == 'here' and type(e).__name__ == 'E'"),
    ("OSError", "raise E(E(1, 'x'))", "type(e.args[0]).__name__ == 'E' and e.args[0].errno == 1"),
    ("OSError", "try:\n        raise E(1, 'x')\n    except E as found:\n        raise E(found) from found",
     "e.__cause__ is e.args[0] is e.__context__ and e.__cause__.strerror == 'x'"),
    ("UnicodeDecodeError", "raise E('utf-8', b'x', 0, 1, 'bad')", "e.reason == 'bad' and isinstance(e, UnicodeError)"),
    ("ImportError", "raise E('m', name='n')", "e.name == 'n' and e.msg == 'm'"),
    ("ExceptionGroup", "raise E('many', [ValueError(1), KeyError(2)])", "[type(x) for x in e.exceptions] == [ValueError, KeyError]"),
    ("KeyError", "raise ImportError('m', name='n')", "e.name == 'n'"),
    ("KeyError", "raise OSError(2, 'no', 'here')", "type(e) is FileNotFoundError and e.filename == 'here'"),
    ("KeyError", "__import__('json').loads('{')", "e.pos == 1 and e.doc == '{'"),
    ("KeyError", "b'\\xff'.decode()", "e.start == 0 and e.reason == 'invalid start byte'"),
    ("KeyError", "O().missing", "e.name == 'missing' and type(e.obj).__name__ == 'O'"),
    ("KeyError", "error = E('k')\n    error.extra = [1, 2]\n    raise error", "e.extra == [1, 2]"),
    ("KeyError", "error = ValueError('k')\n    error.extra = [1, 2]\n    raise error", "e.extra == [1, 2]"),
]  # fmt: skip


@pytest.mark.parametrize(("base", "body", "check"), RAISED)
def test_an_exception_brings_along_all_that_it_keeps(base: str, body: str, check: str) -> None:
    tests = "import pytest\nfrom solution import f\ndef test_f():\n    with pytest.raises(Exception) as info:\n        f()\n"
    program = f"{OWN % base}def f():\n    {body}\n"
    found = score(program, f"{tests}    e = info.value\n    assert {check}\n")
    assert found.value == 1.0, found.reason
    assert score(program, f"{tests}    e = info.value\n    assert not ({check})\n").value == 0.0


@pytest.mark.parametrize(
    ("program", "check", "value"),
    [
        ("import argparse\ndef f():\n    return argparse.Namespace(a=1)", "isinstance(f(), argparse.Namespace)", 1.0),
        ("import argparse\ndef f():\n    return argparse.Namespace(a=1)", "isinstance(f(), argparse.ArgumentParser)", 0.0),
        ("import argparse\nclass N(argparse.Namespace):\n    pass\ndef f():\n    return N(a=1)", "type(f()).__name__ == f().__class__.__name__ == 'N'", 1.0),
        ("class Namespace:\n    a = 1\ndef f():\n    return Namespace()", "isinstance(f(), argparse.Namespace)", 0.0),
        ("import xml.etree.ElementTree as ET\ndef f():\n    return ET.fromstring('<a><b/></a>')", "isinstance(f(), ET.Element) and len(f()) == 1", 1.0),
    ],
)  # fmt: skip
def test_objects_of_installed_packages_are_instances_of_their_classes(program: str, check: str, value: float) -> None:
    tests = f"import argparse\nimport xml.etree.ElementTree as ET\nfrom solution import f\ndef test_f():\n    assert {check}\n"
    found = score(program, tests)
    assert (found.value, found.status) == (value, "ok"), found.reason


@pytest.mark.parametrize("raised", ["pytest.xfail('')", "pytest.skip('')", "unittest.SkipTest('')", "Mine('')"])
def test_no_exception_of_the_program_looks_like_a_skip(raised: str) -> None:
    own = "class Mine(BaseException):\n    pass\nMine.__module__, Mine.__name__ = '_pytest.outcomes', 'XFailed'\n"
    program = f"import pytest, unittest\n{own}def f():\n    raise {raised}\n"
    found = score(program, "import pytest\nfrom solution import f\ndef test_f():\n    assert f() == 1\n")
    assert (found.value, found.status) == (0.0, "ok"), found.reason


def test_no_object_of_the_program_is_an_instance_of_a_class_of_the_tests() -> None:
    program = (
        "class Mine:\n    pass\nMine.__name__ = 'Own'\ndef f(name):\n    Mine.__module__ = name\n    return Mine()\n"
    )
    tests = (
        "from solution import f\nclass Own:\n    pass\ndef test_f():\n    assert isinstance(f(Own.__module__), Own)\n"
    )
    found = score(program, tests)
    assert (found.value, found.status) == (0.0, "ok"), found.reason


PROMPT = "import argparse\nimport shlex as sh\nfrom string import Template as T\n\ndef task(x):\n    ...\n"
SUITE = "import unittest\n{}\nclass TestCases(unittest.TestCase):\n    def test_one(self):\n        {}\n"


def suite_score(program: str, imports: str, check: str) -> verikit.Score:
    """The score in a row of BigCodeBench's form."""
    meta = {"complete_prompt": PROMPT, "entry_point": "task", "test": SUITE.format(imports, check)}
    return CODE.score([verikit.Sample(PROMPT, f"```python\n{program}\n```", meta=meta)])[0]


def test_names_that_a_prompt_imports_are_the_rows_in_its_tests() -> None:
    right = "import argparse\ndef task(x):\n    return argparse.Namespace(a=x)"
    check = "self.assertIsInstance(task(sh.split('a b')), argparse.Namespace); self.assertEqual(T('$a').substitute(a=1), '1')"
    assert suite_score(right, "", check).value == 1.0
    forged = "class argparse:\n    Namespace = int\ndef task(x):\n    return 3"
    assert suite_score(forged, "", "self.assertIsInstance(task(1), argparse.Namespace)").value == 0.0


def test_a_package_that_the_tests_miss_is_the_rows_fault() -> None:
    program = "def task(x):\n    return x\nclass Fake:\n    pass"
    found = suite_score(program, "from not_installed_here import Fake", "self.assertEqual(task(1), 1)")
    assert found.value is None
    assert "not_installed_here, which is not installed" in found.reason
    assert suite_score(program, "from not_installed_here import task", "self.assertEqual(task(1), 1)").value == 1.0


def test_functions_of_installed_packages_that_tests_replace_leave_the_row_unscored() -> None:
    found = suite_score(
        "def task(x):\n    return x", "from unittest import mock", "mock.patch('hypothesis.seed').start()"
    )
    assert found.value is None
    assert "replace hypothesis.seed" in found.reason
