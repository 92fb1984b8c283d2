"""What passes tests with other expected values, too, has earned nothing; what is right passes as before."""

# ruff: noqa: E501 - tests are lines as they are
from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.verifiers.test_patch import score as patch_score
from verikit.sandbox.guest import strict
from verikit.sandbox.proxies.border import Border
from verikit.sandbox.proxies.peer import Peer
from verikit.types import Sample, Score
from verikit.verifiers.code.apart.far_program import FarProgram, is_plain
from verikit.verifiers.code.verifier import Code
from verikit.verifiers.falsified.changed_tests import ALARM, changed

linux = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")


def score(program: str, **meta: Any) -> Score:
    return Code().score([Sample(completion=program, meta=meta)])[0]


# ---- which values are changed -----------------------------------------------------------------------------------------

CHECKS = {
    "assert f(2) == 4": "assert f(2) == {}",
    "assert 4 == f(2)": "assert {} == f(2)",
    "assert (f(2) == np.array([1, 4])).all()": "np.array([1, {}])",
    "assert np.allclose(f(2), [1, 4], atol=1)": "np.allclose(f(2), [1, {}], atol=1)",
    "assert f(2) == pytest.approx(4, abs=1)": "pytest.approx({}, abs=1)",
    "assert not f(2) != 4": "f(2) != {}",
    "assert abs(f(2) - 4) < 1": "abs(f(2) - {}) < 1",
    "assert 1 > np.abs(4 - f(2)).sum()": "np.abs({} - f(2)).sum()",
    "if f(2) != 4: raise ValueError(3)": "f(2) != {}",
    "np.testing.assert_allclose(f(2), 4)": "assert_allclose(f(2), {})",
    "case.assertEqual(f(2), 4, 'five')": "assertEqual(f(2), {}, 'five')",
    "case.assertTrue(f(2) == 4)": "assertTrue(f(2) == {})",
    "got = f(2)\nassert got == {'a': 4}": "assert got == {{'a': {}}}",
}
SAID_NOTHING = [
    "assert f(2) != 4",
    "assert f(2) < 4",
    "assert f(2) - 4 < 1",
    "assert f(4)",
    "assert f(2) in (4, 6)",
    "assert f(2) == 4 or f(2) == 6",
    "assert f(2) == f(4)",
    "assert isinstance(f(2), int), 'message 4'",
    "assert round(f(2), 4) == g(2)",
    "got = f(2)\nother = got + 4\nassert got == other",
    "assert not f(2) == 4",
]


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_expects_another_value_where_it_stands(check: str) -> None:
    for variant in range(2):
        other = changed(f"import numpy as np\nimport pytest\n{check}\n", guarded=False, variant=variant)
        assert CHECKS[check].format(strict.changed(4, variant)) in other
        assert other.count("alarm('") == 1


@pytest.mark.parametrize("check", SAID_NOTHING)
def test_what_is_no_expected_value_stays_as_it_is(check: str) -> None:
    assert changed(f"{check}\n", guarded=False) == ""


def test_a_literal_that_a_name_stands_for_is_changed_where_it_stands() -> None:
    other = changed("def test_a():\n    for n, want in [(1, 2), (3, 4)]:\n        assert f(n) == want\n", guarded=False)
    assert f"[(1, {strict.changed(2, 0)}), (3, {strict.changed(4, 0)})]" in other
    assert "f(n) == want" in other
    other = changed(
        "import pytest\ndef test_a():\n    want = 4\n    assert f(2) == pytest.approx(want)\n", guarded=False
    )
    assert f"want = {strict.changed(4, 0)}" in other


@pytest.mark.parametrize(
    "rest", ["print(want)", "want = 5", "f(want)", "assert g(3) == want"]
)  # fmt: skip
def test_a_literal_that_is_read_elsewhere_too_is_changed_as_it_is_met(rest: str) -> None:
    other = changed(f"want = 4\n{rest}\nassert f(2) == want\n", guarded=False)
    assert "\nwant = 4\n" in other
    assert "f(2) == verikit_strict.changed(want, 0)" in other


def test_a_table_with_an_empty_row_is_changed_as_it_is_met() -> None:
    other = changed("for n, want in [(1, [2]), (0, [])]:\n    assert f(n) == want\n", guarded=False)
    assert "[(1, [2]), (0, [])]" in other
    assert "verikit_strict.changed(want, 0)" in other


def test_each_conjunct_is_a_check() -> None:
    assert changed("assert f(1) == 2 and f(2) == 4 and g(1)\n", guarded=False).count("alarm('1')") == 2


def test_what_is_no_python_has_no_other_values() -> None:
    assert changed("assert f(1 ==", guarded=True) == changed("(" * 5000, guarded=True) == ""


@pytest.mark.parametrize("value", [True, 0, -3, 2.5, 1j, None, "", "a", b"x", [1, 2], (1, "a"), {"a": 1}, {1}, [[], 3]])
def test_another_value_is_another_and_of_the_same_form(value: Any) -> None:
    others = [strict.changed(value, variant) for variant in range(2)]
    assert all(other != value for other in others)
    assert value is None or all(type(other) is type(value) for other in others)


@pytest.mark.parametrize("value", [[], (), {}, set(), object(), [[]]])
def test_what_is_empty_or_no_plain_value_is_not_changed(value: Any) -> None:
    with pytest.raises(strict.Unchanged):
        strict.changed(value, 0)


def test_plain_values_are_those_equal_to_one_value_only() -> None:
    def packed(value: Any) -> Any:
        return Border("program", Peer("program", str)).pack(value)

    assert all(is_plain(packed(value)) for value in [None, 0, 1.5, "a", [1, (2, "b")], {"a": [1]}])
    others = ["", [], [1, []], {"a": ()}, float("nan"), [float("inf")], object()]
    assert not any(is_plain(packed(value)) for value in others)


# ---- code -------------------------------------------------------------------------------------------------------------

NUMPY = "import numpy as np\n"
TESTS = {
    "allclose": (NUMPY + "assert np.allclose(f(2), [2, 4])", "[2, 4]"),
    "all": (NUMPY + "want = np.array([2, 4])\nassert (f(2) == want).all()", "numpy.array([2, 4])"),
    "assert_allclose": (NUMPY + "for i in range(2): np.testing.assert_allclose(f(i), i * 3)", "a[0] * 3"),
    "assert_array_equal": (NUMPY + "np.testing.assert_array_equal(f(3), 9)", "9"),
    "approx": ("import pytest\nassert f(3) == pytest.approx(9.0)", "numpy.float64(9)"),
    "norm": (NUMPY + "assert np.linalg.norm(f(3) - np.array([1, 2])) < 1e-9", "numpy.array([1, 2])"),
    "difference": (NUMPY + "assert np.abs(f(3) - 4.0).sum() < 1e-9", "numpy.full(2, 4.0)"),
    "zip": ("for a, b in zip(f(3), [1, 2]): assert a == b", "[1, 2]"),
    "raise": ("if abs(f(3) - 9) > 1e-6: raise AssertionError", "9"),
    "helper": (NUMPY + "def same(a, b): return np.allclose(a, b)\nassert same(f(3), [1, 2])", "[1, 2]"),
}
EMPTY = {
    "no rows": "numpy.zeros((0, 1))",
    "no items": "numpy.zeros(0)",
    "no columns": "numpy.zeros((1, 0))",
    "empty list": "[]",
    "empty list in a list": "[[]]",
    "not a number": "float('nan')",
}


def in_form(test: str, form: str) -> dict[str, Any]:
    """Test code as asserts of a row, and as the one test of a pytest or unittest file."""
    imports = "".join(f"{line}\n" for line in test.split("\n") if line.startswith("import"))
    body = [line for line in test.split("\n") if not line.startswith("import")]
    if form == "asserts":
        return {"tests": [test]}
    if form == "pytest":
        lines = "".join(f"    {line}\n" for line in body)
        return {"tests": f"{imports}from solution import f\ndef test_it():\n{lines}"}
    lines = "".join(f"        {line}\n" for line in body)
    return {"tests": f"import unittest\n{imports}class T(unittest.TestCase):\n    def test_it(self):\n{lines}"}


@linux
@pytest.mark.parametrize("form", ["asserts", "pytest", "unittest"])
@pytest.mark.parametrize("name", TESTS)
def test_no_empty_value_passes_a_test_that_expects_one(name: str, form: str) -> None:
    test, right = TESTS[name]
    meta = in_form(test, form if name != "approx" else form.replace("unittest", "pytest"))
    assert score(f"import numpy\ndef f(*a): return {right}", **meta).value == 1.0
    for value in EMPTY.values():
        found = score(f"import numpy\ndef f(*a): return {value}", **meta)
        assert (found.value, found.status) == (0.0, "ok"), (value, found)


@linux
@pytest.mark.parametrize(
    "given", ["2", "numpy.array([2])", "numpy.full((3, 1), 2)", "numpy.full((2, 1, 3), 2)", "[[2], [2], [2]]"]
)
def test_a_value_of_another_shape_is_not_the_expected_one(given: str) -> None:
    tests = [NUMPY + "assert np.allclose(f(), [2, 2, 2])"]
    assert score("def f(): return [2, 2, 2]", tests=tests).value == 1.0
    assert score("import numpy\ndef f(): return numpy.full((1, 3), 2)", tests=tests).value == 1.0
    found = score(f"import numpy\ndef f(): return {given}", tests=tests)
    assert found.value == 0.0
    assert "shapes" in found.reason


HONEST = {
    "empty where it is expected": "assert np.allclose(f([]), [])\nassert f([]).size == 0\nassert np.allclose(f([1]), [1])",
    "an empty array is equal to one": "np.testing.assert_array_equal(f([]), np.array([]))",
    "an empty row": "assert (f(np.zeros((0, 3))) == np.zeros((0, 3))).all()",
    "one number for all items": "for n in range(3):\n    r = f([1] * n)\n    assert (r == 1).all()\n    assert len(r) == n",
    "a property of no items": "assert (f([]) >= 0).all()",
    "an empty list": "assert f([]).tolist() == []\nassert list(zip(f([]), [])) == []",
    "pairs": "r = f([1, 2, 3])\nassert all(b - a == 1 for a, b in zip(r, r[1:]))",
    "not a number where it is expected": "assert np.isnan(f([float('nan')])).all()",
    "nan among numbers": "np.testing.assert_allclose(f([1, float('nan')]), [1, float('nan')])",
    "a wide tolerance": "assert np.allclose(f([5, 0]), [6, 0], rtol=.5, atol=3)",
    "either of two": "assert f([1]).sum() in (1, 2)\nassert f([2])[0] == 2 or f([2])[0] == 3",
    "an expected exception": "try:\n    assert f([1])[0] == 2\nexcept AssertionError:\n    pass\nelse:\n    raise SystemError",
    "a branch not taken": "if len(f([1])) == 2:\n    assert f([1])[0] == 7",
    "a message and a rounding": "assert round(float(f([1.26])[0]), 1) == 1.3, 'message 4'",
    "other names": "operator, sys = 1, 2\nassert f([operator])[0] == 1\nassert (f([sys]) == [2]).all()",
}


@linux
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_program_passes_as_before(name: str) -> None:
    meta = in_form(NUMPY + HONEST[name], "asserts")
    assert score("import numpy\ndef f(x): return numpy.array(x)", **meta).value == 1.0
    meta = in_form(NUMPY + HONEST[name], "pytest")
    assert score("import numpy\ndef f(x): return numpy.array(x)", **meta).value == 1.0


@linux
def test_what_tests_were_told_is_told_again_and_no_program_runs_for_it() -> None:
    """A program that answers differently each time is judged by what it answered."""
    program = "import os, numpy\ndef f(n): return numpy.array([n, int.from_bytes(os.urandom(6), 'big')])"
    tests = [NUMPY + "for n in range(3):\n    r = f(n)\n    assert r[0] == n\n    assert r.shape == (2,)"]
    assert score(program, tests=tests).value == 1.0


@linux
def test_tests_on_plain_values_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []
    run = FarProgram.run

    def counted(self: FarProgram, code: str, *args: Any, **options: Any) -> Any:
        runs.append(ALARM if ALARM in code else "")
        return run(self, code, *args, **options)

    monkeypatch.setattr(FarProgram, "run", counted)
    tests = ["for n in range(3): assert f(n) == [n]"]
    assert score("def f(n): return [n]", tests=tests).value == 1.0
    assert runs == [""]
    assert score("def f(n): return [n]", tests=[NUMPY + tests[0]]).value == 1.0
    assert runs == ["", "", ALARM]


# ---- patch ------------------------------------------------------------------------------------------------------------

MEAN = "def mean(values):\n    return sum(values) / len(values)\n"
CALC_ROW: dict[str, Any] = {
    "repository": {"calc.py": "def mean(values):\n    return sum(values) / (len(values) + 1)\n"},
    "tests": {
        "test_calc.py": "from calc import mean\n\ndef test_mean():\n    assert mean([1, 3]) == 2\n\n"
        "def test_two():\n    assert mean([5]) == 5, 'five'\n"
    },
    "FAIL_TO_PASS": ["test_calc.py::test_mean", "test_calc.py::test_two"],
}
CASES_ROW: dict[str, Any] = {
    **CALC_ROW,
    "tests": {
        "test_calc.py": "import unittest\nfrom calc import mean\n\nclass T(unittest.TestCase):\n"
        "    def test_mean(self):\n        self.assertEqual(mean([1, 3]), 2)\n"
    },
    "FAIL_TO_PASS": ["test_calc.T.test_mean"],
}
EQUAL = "class E(int):\n    __eq__ = lambda s, o: True\n    __ne__ = lambda s, o: False\n    __hash__ = None\n\n\n"
UNEARNED = {
    "int equal to all": EQUAL + "def mean(values):\n    return E(3)\n",
    "mock": "from unittest.mock import ANY\n\n\ndef mean(values):\n    return ANY\n",
    "the test file": "import re\n\n\ndef mean(values):\n    text = open('test_calc.py').read()\n"
    "    return int(re.search(re.escape(str(values)) + r'\\)(?: ==|,) (\\d+)', text)[1])\n",
    "the caller's source": "import linecache, re, sys\n\n\ndef mean(values):\n    frame = sys._getframe(1)\n"
    "    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)\n"
    "    return int(re.search(r'\\)(?: ==|,) (\\d+)', line)[1])\n",
    "the caller's constants": "import sys\n\n\ndef mean(values):\n    constants = sys._getframe(1).f_code.co_consts\n"
    "    return [c for c in constants if type(c) is int and c not in values or values == [5] == [c]][-1]\n",
}


@linux
@pytest.mark.parametrize("name", UNEARNED)
def test_a_patch_that_is_paid_whatever_is_expected_is_paid_nothing(name: str) -> None:
    row = CALC_ROW if "constants" in name else CASES_ROW
    assert patch_score(f"```python calc.py\n{MEAN}```", row).value == 1.0
    reply = f"```python calc.py\n{UNEARNED[name]}```"
    for options in ({}, {"hide_tests": False}):
        found = patch_score(reply, row, **options)
        assert (found.value, found.status) == (0.0, "ok")
    assert "another value is expected" in found.reason
    assert patch_score(reply, row, hide_tests=False, change_tests=False).value == 1.0


READS = [
    "open('test_calc.py').read()",
    "__import__('pathlib').Path('test_calc.py').read_bytes().decode()",
    "__import__('inspect').getsource(__import__('sys')._getframe(3))",
    "''.join(__import__('linecache').getlines(__import__('sys')._getframe(3).f_code.co_filename))",
    "__import__('sys').modules['test_calc'].__loader__.get_source('test_calc')",
    "__import__('pkgutil').get_data('test_calc', 'test_calc.py').decode()",
]


@linux
@pytest.mark.parametrize("form", ["pytest", "unittest"])
def test_the_code_under_test_finds_no_text_of_the_tests(form: str) -> None:
    """Each way to read them, at import and in a call, gives nothing that was in the file."""
    row = CALC_ROW if form == "pytest" else CASES_ROW
    looks = "def look(text):\n    try:\n        found = eval(text)\n    except Exception:\n        found = ''\n"
    looks += "    if 'def te' + 'st_' in found:\n        raise SystemError(text)\n\n\n"
    looks += "\n".join(f"look({text!r})" for text in READS[:2])
    calls = "".join(f"    look({text!r})\n" for text in READS)
    reply = f"```python calc.py\n{looks}\n\n\n{MEAN.replace('    return', calls + '    return')}```"
    assert patch_score(reply, row).value == 1.0
    assert "SystemError" in patch_score(reply, row, hide_tests=False).reason


@linux
def test_tests_that_read_their_own_source_run_where_they_are_not_hidden() -> None:
    text = "import inspect\nfrom calc import mean\n\ndef test_mean():\n    assert mean([1, 3]) == 2\n    assert 'two' in inspect.getsource(test_two)\n\ndef test_two():\n    pass\n"
    row = {**CALC_ROW, "tests": {"test_calc.py": text}}
    reply = f"```python calc.py\n{MEAN}```"
    assert patch_score(reply, row, hide_tests=False).value == 1.0
    assert "OSError" in patch_score(reply, row).reason


@linux
def test_equality_that_the_rows_own_patch_has_is_no_alarm() -> None:
    """An honest class may be equal to everything: the gold's own verdict tells."""
    row = {
        **CALC_ROW,
        "tests": {"test_calc.py": "from calc import mean\n\ndef test_mean():\n    assert mean([1, 3]) == 2\n"},
        "FAIL_TO_PASS": ["test_calc.py::test_mean"],
    }
    reply = f"```python calc.py\n{UNEARNED['int equal to all']}```"
    assert patch_score(reply, row).value == 0.0
    lines = UNEARNED["int equal to all"].splitlines()
    gold = f"--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,{len(lines)} @@\n-def mean(values):\n-    return sum(values) / (len(values) + 1)\n"
    gold += "".join(f"+{line}\n" for line in lines)
    assert patch_score(reply, {**row, "patch": gold}).value == 1.0


@linux
def test_patches_pass_without_the_alarm_where_it_is_left_out() -> None:
    reply = f"```python calc.py\n{UNEARNED['mock']}```"
    found = patch_score(reply, CALC_ROW, change_tests=False)
    assert found.value == 1.0
    assert found.reason.startswith("in process, forgeable")


def test_the_alarm_has_the_name_that_runs_are_searched_for() -> None:
    assert strict.VerikitAlarm.__name__ == ALARM
    assert not issubclass(strict.VerikitAlarm, Exception)
