"""`code`: an object of the program may not pass by comparisons that it would call true of any value."""

from __future__ import annotations

import pytest

import verikit
from tests.objects.forged_values import VALUES
from tests.verifiers.test_code_objects import SIDE

CODE = verikit.code()
CLAIMS = [
    "true in other words", "comparisons give objects", "true at the first look", "asks before it claims",
    "in order with what it heard", "answers everything",
]  # fmt: skip
TESTS = [
    "assert 'Total' in f(2)", "assert f(2) in [4]", "assert 3 < f(2) < 5", "assert f(2) == 4", "assert f(2) <= 4",
    "assert not f(2) != 4", "assert f(2) == f(3)", "assert {4: 1}[f(2)] == 1",
]  # fmt: skip
RANGE = "class Span:\n    def __init__(self, low, high): self.low, self.high = low, high\n"
WITHIN = RANGE + "    def __contains__(self, value): return self.low <= value <= self.high\n"
DATES = "from datetime import date\n"
RIGHT = {
    "a value among others": (WITHIN, "assert 5 in Span(0, 10)"),
    "a date among others": (WITHIN, DATES + "assert date(2024, 5, 5) in Span(date(2024, 1, 1), date(2024, 12, 31))"),
    "a text among others": (WITHIN, "assert 'hello' in Span('a', 'zz')"),
    "a function of the test decides": (
        "class Where:\n    def __init__(self, test): self.test = test\n"
        "    def __contains__(self, value): return self.test(value)\n",
        "assert 4 in Where(lambda x: x > 3)",
    ),
    "a number of the test decides": (
        "class Above:\n    def __init__(self, limit): self.limit = limit\n"
        "    def __contains__(self, value): return value > self.limit.low\n",
        "class Limit:\n    low = 3\nassert 4 in Above(Limit())",
    ),
    "a match is true": (
        "import re\nclass Text:\n    def __init__(self, text): self.text = text\n"
        "    def __contains__(self, word): return re.search(word, self.text)\n",
        "assert 'cat' in Text('a cat')\nassert 'dog' not in Text('a cat')",
    ),
    "operators of Python's abstract classes": (
        "from collections.abc import MutableSet\nclass S(MutableSet):\n"
        "    def __init__(self, items=()): self.s = set(items)\n"
        "    def __contains__(self, item): return item in self.s\n    def __iter__(self): return iter(self.s)\n"
        "    def __len__(self): return len(self.s)\n    def add(self, item): self.s.add(item)\n"
        "    def discard(self, item): self.s.discard(item)\n",
        "from collections.abc import Set\nassert sorted(S([1]) | S([2])) == [1, 2]\nassert isinstance(S(), Set)\n"
        "assert S([1]) <= S([1, 2]) and not S()",
    ),
    "a subclass of a date": (
        DATES + "class Day(date):\n    pass\n",
        DATES + "assert Day(2024, 1, 1) == date(2024, 1, 1)\nassert isinstance(Day(2024, 1, 1), date)",
    ),
    "a missing key makes a value": (
        "class Tree(dict):\n    def __missing__(self, key):\n        found = self[key] = Tree()\n"
        "        return found\n",
        "t = Tree()\nt['a']['b'] = 1\nassert t == {'a': {'b': 1}}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CLAIMS)
def test_what_is_claimed_of_every_value_is_not_paid(kind):
    program = f"```python\n{VALUES[kind]}\ndef f(*args): return forge()\n```"
    paid = [test for test in TESTS if CODE(program, tests=[test]).value != 0.0]
    assert paid == []


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_passes(name):
    program, test = RIGHT[name]
    found = CODE(f"```python\n{program}```", tests=[test])
    assert found.value == 1.0, found.reason


def test_no_exception_is_an_instance_by_the_word_of_the_program():
    program = (
        "class Meta(type):\n    def __instancecheck__(cls, value): return True\n"
        "    def __subclasscheck__(cls, other): return True\n"
        "class E(Exception, metaclass=Meta): pass\ndef f(*args): return 1\n"
    )
    test = (
        "import pytest\nfrom solution import E, f\n\n\n"
        "def test_f():\n    with pytest.raises(E):\n        assert f(2) == 4\n"
    )
    assert CODE(f"```python\n{program}```", tests=test).value == 0.0


@pytest.mark.parametrize("rest", ["while True: pass", "while True: print('x')", "while True: input()"])
def test_a_claim_that_is_never_ended_for_other_values_is_not_made_of_them(rest):
    program = f"class Box:\n    def __contains__(self, value):\n        if value == 5: return True\n        {rest}\n"
    score = verikit.code(wall_s=1, row_s=60)(f"```python\n{program}```", tests=["assert 5 in Box()"])
    assert (score.value, score.status) == (1.0, "ok"), score.reason


def test_claims_that_are_not_ended_in_the_rows_time_are_not_paid():
    program = (
        "class Box:\n    def __contains__(self, value):\n"
        "        if value in (5, 6): return True\n        while True: input()\n"
    )
    tests = ["assert 5 in Box()", "assert 6 in Box()"]
    score = verikit.code(wall_s=2, row_s=3)(f"```python\n{program}```", tests=tests)
    assert (score.value, score.status) == (0.0, "ok")
    assert "all runs of a row together took 3 s" in score.reason


@pytest.mark.parametrize(
    "answer",
    [
        '"value": ["value", ["int", "zz"]]', '"value": ["value", ["complex", "x"]]', '"value": ["value", []]',
        '"value": ["tuple", null]', '"op": [["x"]]', '"op": [{}]', '"op": {}', '"value": {}',
    ],
)  # fmt: skip
def test_an_answer_to_a_comparison_that_is_not_well_formed_is_a_zero(answer):
    line = f'{{"status": "turn", {answer}}}'
    program = f"import os\nclass Box:\n    def __eq__(self, other):\n        os.write(3, b'{line}\\n')\n"
    score = CODE(f"```python\n{program}        os.close(3)\n```", tests=["assert Box() == 5"])
    assert (score.value, score.status) == (0.0, "ok"), score


@pytest.mark.parametrize("method", ["__eq__", "__contains__"])
def test_an_answer_to_a_comparison_that_is_too_large_is_a_zero(method):
    program = f"class Box:\n    def {method}(self, other): return 10 ** 10 ** 6\n"
    score = CODE(f"```python\n{program}```", tests=[f"assert Box().{method}(5) is True", "assert Box() == 5"])
    assert (score.value, score.status) == (0.0, "ok"), score


def test_numbers_at_the_end_of_what_is_carried_are_compared():
    round_one = "class Round:\n    def __contains__(self, value): return value % 1000 == 0\n"
    assert CODE(f"```python\n{round_one}```", tests=["assert 10 ** 200_000 in Round()"]).value == 1.0
    whole = (
        "from datetime import timedelta\nclass Whole:\n    def __contains__(self, value): return value > timedelta(5)\n"
    )
    tests = ["from datetime import timedelta\nassert timedelta.max in Whole()"]
    assert CODE(f"```python\n{whole}```", tests=tests).value == 1.0


ASKING = ["again", "bogus", "nothing", 'copy", ["value", "x"], "', 'text", ["value", "x"], "']


@pytest.mark.parametrize("operation", ASKING)
@pytest.mark.parametrize(
    ("methods", "test"),
    [("__contains__", "assert 5 in f(2)"), ("__eq__", "assert f(2) == 5"), ("__lt__ = __gt__", "assert 3 < f(2) < 5")],
)
def test_a_question_to_the_tests_founds_no_claim(operation, methods, test):
    line = f'{{"status": "turn", "op": ["{operation}"]}}'
    program = f"""{SIDE}
class Box:
    __hash__ = None
    def look(self, value):
        try:
            side()._transport({line!r})
        except BaseException:
            pass
        return True
    {methods} = look
def f(x): return Box()
"""
    assert CODE(f"```python\n{program}```", tests=[test]).value == 0.0


def test_a_question_about_an_object_of_the_tests_founds_no_claim_if_it_is_always_the_same():
    program = (
        "class Box:\n    def __init__(self, f): self.f = f\n    def __contains__(self, value): return self.f(0) == 1"
    )
    assert CODE(f"```python\n{program}\n```", tests=["assert 5 in Box(lambda x: x + 1)"]).value == 0.0
