"""`code` on test files: pytest, unittest and doctest, each test by its name, apart from the program."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from verikit.types import Sample, Score
from verikit.verifiers.code.suites import form_of, suites
from verikit.verifiers.code.verifier import Code

if sys.platform != "linux":
    pytest.skip("the local sandbox needs Linux", allow_module_level=True)

PYTEST = """
import pytest
from solution import add, halve

@pytest.fixture
def two():
    return 2

@pytest.mark.parametrize("a, b, c", [(1, 2, 3), (0, 1, 1)])
def test_add(a, b, c):
    assert add(a, b) == c

class TestHalve:
    def test_half(self, two):
        assert halve(two + 1) == pytest.approx(1.5)

    def test_text(self):
        with pytest.raises(TypeError):
            halve("x")
"""
UNITTEST = """
import unittest

class TestAll(unittest.TestCase):
    def setUp(self):
        self.two = 2

    def test_add(self):
        for a in range(3):
            with self.subTest(a=a):
                self.assertEqual(add(a, self.two), a + 2)

    def test_half(self):
        self.assertAlmostEqual(halve(3), 1.5)

    def test_text(self):
        self.assertRaises(TypeError, halve, "x")

if __name__ == "__main__":
    unittest.main()
"""
DOCTEST = """
Adding:

>>> from solution import *
>>> add(1, 2)
3
>>> [add(n, n) for n in range(3)]
[0, 2, 4]
>>> halve(3)
1.5
"""
RIGHT = "def add(a, b): return a + b\ndef halve(n): return n / 2\n"
FLOOR = "def add(a, b): return a + b\ndef halve(n): return n // 2\n"
FORMS = {"pytest": (PYTEST, 4), "unittest": (UNITTEST, 3), "doctest": (DOCTEST, 3)}


def score(program: str, tests: str = PYTEST, *, options: dict[str, Any] | None = None, **meta: Any) -> Score:
    sample = Sample(completion=program, meta={"tests": tests, **meta})
    return Code(wall_s=4, **(options or {})).score([sample])[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("in_process", [False, True])
def test_files_of_each_form_pass_the_right_and_fail_the_wrong(form: str, in_process: bool) -> None:
    tests, count = FORMS[form]
    options = {"reward": "fraction", "in_process": in_process}
    right, wrong = (score(program, tests, options=options) for program in (RIGHT, FLOOR))
    assert (right.value, len(right.parts)) == (1.0, count), right
    assert wrong.value == pytest.approx(1 - 1 / count), wrong
    assert [part.value for part in wrong.parts.values()].count(0.0) == 1
    assert right.reason.startswith("in process, forgeable") is in_process
    assert score(FLOOR, tests, options={"in_process": in_process}).value == 0.0


CHEATS = {
    "sys.exit at import": "import sys; sys.exit(0)",
    "os._exit at import": "import os; os._exit(0)",
    "skip at import": "import pytest; pytest.skip('', allow_module_level=True)",
    "skip in the function": "def add(a, b):\n    import pytest; pytest.skip('')\nhalve = add",
    "SkipTest": "def add(a, b):\n    import unittest; raise unittest.SkipTest('')\nhalve = add",
    "xfail": "def add(a, b):\n    import pytest; pytest.xfail('')\nhalve = add",
    "equal to all": "class E:\n    __eq__ = __le__ = __ge__ = lambda s, o: True\n    __hash__ = None\n"
    "    def __sub__(s, o): return s\n    def __abs__(s): return 0\n"
    "def add(a, b): return E()\ndef halve(n): return E()",
    "patched TestCase": "import unittest\nfor n in dir(unittest.TestCase):\n    if n.startswith('assert'):\n"
    "        setattr(unittest.TestCase, n, lambda *a, **k: None)\ndef add(a, b): return 0\nhalve = add",
    "patched pytest": "import _pytest.runner\n_pytest.runner.check_interactive_exception = 0\n"
    "def add(a, b): return 0\nhalve = add",
    "stop of an iteration": "def add(a, b): raise StopIteration\nhalve = add",
    "stop of a sequence": "def add(a, b): raise IndexError\nhalve = add",
    "SystemExit": "def add(a, b): raise SystemExit(0)\nhalve = add",
    "KeyboardInterrupt": "def add(a, b): raise KeyboardInterrupt\nhalve = add",
    "exit handler": "import atexit, os\natexit.register(os._exit, 0)\ndef add(a, b): return 0\nhalve = add",
    "thread": "import threading, os, time\nthreading.Thread(target=lambda: os._exit(0)).start()\ntime.sleep(1)",
    "conftest": "open('conftest.py', 'w').write('def pytest_runtest_call(item): pass')\ndef add(a, b): return 0\n"
    "halve = add",
    "a record": "import os\nos.write(3, b'{\"status\": \"ok\", \"value\": [\"list\", []]}\\n')\nos._exit(0)",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_no_cheat_passes_a_test_beyond_that_of_an_exception(form: str) -> None:
    samples = [Sample(completion=text, meta={"tests": FORMS[form][0]}) for text in CHEATS.values()]
    scores = Code(wall_s=4, reward="fraction").score(samples)
    assert all(found.scored for found in scores), scores
    most = {"pytest": 1 / 4, "unittest": 1 / 3, "doctest": 0.0}[form]  # `test_text` expects an exception
    assert {name: found.value for name, found in zip(CHEATS, scores, strict=True) if float(found) > most} == {}


def test_a_call_that_hangs_or_exits_is_no_expected_exception() -> None:
    tests = "import pytest\nfrom solution import f\ndef test():\n    with pytest.raises(RuntimeError):\n        f()\n"
    assert score("def f(): raise RuntimeError", tests).value == 1.0
    assert score("import os\ndef f(): os._exit(1)", tests).value == 0.0
    assert score("def f():\n    while True: pass", tests).value == 0.0


def test_public_and_hidden_tests_are_told_apart() -> None:
    public = "from solution import f\ndef test_easy():\n    assert f(2) == 4\n"
    hidden = "import unittest\nclass T(unittest.TestCase):\n    def test_hard(self):\n        assert f(3) == 9\n"
    meta = {"public_tests": public, "tests": hidden}
    only_public = Code(reward="fraction").score([Sample(completion="def f(x): return 4 if x == 2 else 0", meta=meta)])[
        0
    ]
    assert only_public.value == 0.5
    assert {name: part.value for name, part in only_public.parts.items()} == {"hidden": 0.0, "public": 1.0}
    assert list(only_public.parts["hidden"].parts) == ["T.test_hard"]


@pytest.mark.parametrize(
    "tests",
    [
        "def test_nothing():\n    undefined_name_of_the_row()\nraise OSError('broken')\n",
        "import unittest\nclass TestX(unittest.TestCase):\n    pass\n",
        "import unittest\nclass TestX(unittest.TestCase):\n    @unittest.skip('')\n    def test_x(self): f()\n",
    ],
)
def test_tests_that_do_not_run_are_the_rows_fault(tests: str) -> None:
    assert score("def f(): pass", tests).status == "error"


def test_expected_failures_are_no_failures_and_skips_do_not_count() -> None:
    tests = (
        "import pytest\nfrom solution import f\n@pytest.mark.xfail\ndef test_known():\n    assert f(1) == 2\n"
        "@pytest.mark.skip\ndef test_never():\n    assert 0\ndef test_now():\n    assert f(1) == 1\n"
    )
    found = score("def f(x): return x", tests)
    assert (found.value, list(found.parts)) == (1.0, ["test_known", "test_now"])


def test_functions_in_a_class_solution_are_found() -> None:
    tests = "from solution import twice\ndef test_twice():\n    assert twice(2) == 4\n"
    assert score("class Solution:\n    def twice(self, n): return 2 * n", tests).value == 1.0


def test_methods_of_solution_and_of_other_classes_are_reached() -> None:
    tests = "from solution import Solution\n\ndef test_twice():\n    s = Solution()\n    assert s.twice(2) == 4\n"
    right, wrong = (f"class Solution:\n    def twice(self, n): return {value}" for value in ("2 * n", "n"))
    assert (score(right, tests).value, score(wrong, tests).value) == (1.0, 0.0)
    stack = "from solution import Stack\n\ndef test_a():\n    s = Stack()\n    s.push(1)\n    assert s.pop() == 1\n"
    program = "class Stack(list):\n    push = list.append\n"
    assert score(program, stack).value == 1.0
    assert score("class Stack(list):\n    push = list.append\n    def pop(self): return 2", stack).value == 0.0
    assert score(program, stack, options={"in_process": True}).value == 1.0


def test_forms_are_told_by_what_the_file_defines() -> None:
    assert [form_of(text) for text in (PYTEST, UNITTEST, DOCTEST)] == ["pytest", "unittest", "doctest"]
    assert form_of("assert f(1) == 1") == ""
    assert form_of("def test():\n    assert f(1) == 1\ntest()") == ""
    assert form_of("def check(candidate):\n    assert candidate(1) == 1") == ""
    assert suites({"tests": ["assert f(1) == 1"]}) == []
    with pytest.raises(ValueError, match="test_form"):
        suites({"tests": "x", "test_form": "nose"})


def test_the_programs_modules_are_those_that_nobody_has() -> None:
    (suite,) = suites({"tests": "import os, json, pytest\nfrom mine import f\nimport main\ndef test_x(): g(f())"})
    assert suite.modules == ("mine", "main")
    assert suite.functions == ("f", "g")
