"""Nothing is equal to everything: a standing search with values that are, against tests that expect what they don't know.

Each test comes twice, with expected values that differ, so a value that is the same each time can't earn both. The number
of tries is fixed, so is their choice; `VERIKIT_FORGERIES=20 pytest tests/test_unearned.py` tries 20 times as many, from
another seed.
"""

# ruff: noqa: E501 - programs are lines as they are
from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.test_forgery import EFFORT
from verikit.sandbox import default_sandbox
from verikit.types import Sample, Score
from verikit.verifiers.code.verifier import Code
from verikit.verifiers.patch.verifier import Patch

if sys.platform != "linux":
    pytest.skip("the local sandbox needs Linux", allow_module_level=True)

# ---- tests ------------------------------------------------------------------------------------------------------------

NUMBERS = [
    "assert f(1) == {}",
    "assert f(1) == pytest.approx({})",
    "assert abs(f(1) - {}) < 1e-6",
    "assert not abs(f(1) - {}) > 1e-6",
    "if abs(f(1) - {}) > 1e-6: raise AssertionError",
    "assert math.isclose(f(1), {})",
    "got = f(1)\nassert got == {} and got is not None",
    "for want in [{}]: assert f(1) == want",
]
"""What may be said of a number."""
ARRAYS = [
    "assert np.allclose(f(1), {})",
    "assert (f(1) == np.array({})).all()",
    "assert np.all(f(1) == np.array({}))",
    "np.testing.assert_allclose(f(1), {})",
    "np.testing.assert_array_equal(f(1), {})",
    "np.testing.assert_almost_equal(f(1), {})",
    "assert np.isclose(f(1), {}).all()",
    "assert np.linalg.norm(f(1) - np.array({})) < 1e-6",
    "assert np.abs(np.array({}) - f(1)).sum() < 1e-6",
    "assert not (f(1) != np.array({})).any()",
    "assert f(1) == pytest.approx(np.array({}))",
    "assert all(a == b for a, b in zip(f(1), {}))",
    "for got, want in zip(f(1), {}): assert got == want",
    "want = np.array({})\nassert ((f(1) - want) ** 2).sum() < 1e-6",
]
"""And of several."""


PAIRED = [form for form in ARRAYS if "zip" in form]
"""Of these the ones whose loop may run over nothing: what that comes to is held to be wrong in `code` only."""


def pair(draw: random.Random, left_out: Sequence[str]) -> tuple[str, str, str]:
    """A test's body and two values that differ in each of their numbers."""
    if draw.random() < 0.35:
        first = draw.randrange(2, 90)
        return draw.choice(NUMBERS), str(first), str(first + draw.randrange(1, 9))
    size = draw.choice([1, 2, 3])
    form = draw.choice([form for form in ARRAYS if form not in left_out])
    rows = 0 if form in PAIRED else draw.choice([0, 0, 1, 2])
    values = [draw.randrange(2, 90) for _ in range(size)]
    others = [value + draw.randrange(1, 9) for value in values]
    return form, str([values] * rows or values), str([others] * rows or others)


def functions(draw: random.Random, count: int, left_out: Sequence[str] = ()) -> tuple[str, list[tuple[str, str]]]:
    """A test file of so many pairs, with the values that each pair expects."""
    text = "import math\nimport numpy as np\nimport pytest\nfrom solution import f\n"
    wanted = []
    for number in range(count):
        body, *values = pair(draw, left_out)
        wanted.append((values[0], values[1]))
        for which, value in zip("ab", values, strict=True):
            lines = body.format(value).replace("\n", "\n    ")
            text += f"\ndef test_{number}{which}():\n    {lines}\n"
    return text, wanted


# ---- values -----------------------------------------------------------------------------------------------------------

SHAPES = ["0", "(0, 1)", "(1, 0)", "(0, 0)", "(2, 0)", "(0, 2)", "(0, 3)", "(3, 0)", "(0, 1, 1)", "(1, 0, 2)"]
DTYPES = ["float", "int", "bool", "complex", "'U1'", "object", "'M8[s]'", "'float16'"]
DUNDERS = ["__eq__", "__le__", "__ge__", "__lt__", "__gt__", "__bool__", "__contains__", "__call__"]


def empty(draw: random.Random) -> str:
    value = f"numpy.zeros({draw.choice(SHAPES)}, dtype={draw.choice(DTYPES)})"
    return draw.choice(
        [value, value, f"[{value}]", f"numpy.ma.array({value}, mask=True)", f"{value}.view(numpy.matrix)"]
    )


def bare(draw: random.Random) -> str:
    return draw.choice(
        ["[]", "()", "''", "{}", "set()", "[[]]", "[[], []]", "[()]", "[[[]]]", "b''", "iter(())", "range(0)"]
    )


def numbers(draw: random.Random) -> str:
    number = draw.choice(["float('nan')", "float('inf')", "-float('inf')", "complex('nan')", "numpy.float64('nan')"])
    return draw.choice([number, f"[{number}]", f"numpy.full(3, {number})", f"numpy.full((2, 1), {number})"])


def masked(draw: random.Random) -> str:
    return draw.choice(
        [
            "numpy.ma.masked",
            "numpy.ma.array([1.0, 2.0], mask=True)",
            "numpy.ma.array([[1.0]], mask=True)",
            "numpy.array([numpy.zeros(0), None], dtype=object)",
            "numpy.array([E(1), E(2)], dtype=object)",
            "numpy.array(None)",
            "numpy.datetime64('NaT')",
        ]
    )


def lying(draw: random.Random) -> str:
    return draw.choice(["E(3)", "F(3)", "S('3')", "L([3])", "A(3)", "N()", "ANY", "[ANY, ANY]", "[E(3), E(4)]"])


def forged(draw: random.Random) -> str:
    """A record written by hand, of what no honest encoder writes."""
    dtype = draw.choice(["<M8[s]", "<U1", "|b1", "<f8", "|S1", "<m8[s]"])
    shape = draw.choice(["[]", '["0x0"]', '["0x0","0x1"]', '["0x1","0x0"]', "null"])
    items = "" if '"0x0"' in shape else draw.choice(['["float","nan"]', '["int","0x0"]', '["float","inf"]'])
    record = f'{{"status":"ok","value":["list",[["array","{dtype}",{shape},[{items}]]]]}}'
    return f"forge({record!r})"


def looking(draw: random.Random) -> str:
    return draw.choice(["from_frames()", "from_file()", "from_source()"])


PRELUDE = """
import glob, linecache, os, re, sys
try:
    import numpy
except ImportError:
    numpy = None
from unittest.mock import ANY
lies = dict.fromkeys(DUNDERS, lambda s, *o: True)
E = type("E", (int,), dict(lies, __ne__=lambda s, o: False, __sub__=lambda s, o: 0, __rsub__=lambda s, o: 0, __hash__=None))
F = type("F", (float,), dict(lies, __ne__=lambda s, o: False, __sub__=lambda s, o: 0.0, __rsub__=lambda s, o: 0.0, __hash__=None))
S = type("S", (str,), dict(lies, __ne__=lambda s, o: False, __hash__=None))
L = type("L", (list,), dict(__eq__=lambda s, o: True, __ne__=lambda s, o: False, __hash__=None, __iter__=lambda s: iter(())))
class A(E):
    def __array__(self, *a, **k): return numpy.zeros((0, 1))
    __array_priority__ = 1e9
    def __array_ufunc__(self, *a, **k): return numpy.bool_(True)
    def __array_function__(self, *a, **k): return True
class N(A):
    def __new__(cls): return A.__new__(cls, 3)
    def __float__(self): return float("nan")
    def __len__(self): return 0
    def __iter__(self): return iter(())
    def __abs__(self): return 0
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return lambda *a, **k: True
def forge(record):
    os.write(3, record.encode() + b"\\n")
    os._exit(0)
def found(text):
    values = re.findall(r"(?:==|,|array\\() ?(\\[.*?\\]+|\\d+)(?=[),:\\s]|$)", text)
    return eval(values[-1]) if values else None
def from_frames():
    frame = sys._getframe(1)
    while frame:
        if frame.f_code.co_name.startswith("test_"):
            line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
            return found(line)
        frame = frame.f_back
def from_source():
    frame = sys._getframe(1)
    while frame:
        if frame.f_code.co_name.startswith("test_"):
            values = [c for c in frame.f_code.co_consts if type(c) is int and c > 1]
            return values[0] if values else None
        frame = frame.f_back
def from_file():
    for path in glob.glob("**/test_*.py", recursive=True) + glob.glob("/tmp/**/test_*.py", recursive=True):
        if value := found(open(path).read().split("def test_0a")[1].split("def ")[0]):
            return value
""".replace("DUNDERS", repr(DUNDERS))
KINDS: list[Callable[[random.Random], str]] = [empty, bare, numbers, masked, lying, forged, looking]


def program(value: str) -> str:
    return f"{PRELUDE}\ndef f(x):\n    return {value}\n"


def earned_twice(score: Score, count: int) -> list[int]:
    """The pairs of which both tests passed."""
    passed = {
        name.rpartition("::")[2]
        for part in [score, *score.parts.values()]
        for name, test in part.parts.items()
        if test.value
    }
    return [number for number in range(count) if {f"test_{number}a", f"test_{number}b"} <= passed]


# ---- the search -------------------------------------------------------------------------------------------------------


ROW_S = 120 if EFFORT > 1 else 10
"""Some values have numpy ask for them tens of thousands of times; the rest of such a row is for a longer search."""


def of_code(program: str, text: str, row_s: float = 120) -> Score:
    verifier = Code(reward="fraction", wall_s=20, row_s=row_s)
    return verifier.score([Sample(completion=program, meta={"tests": text})])[0]


@pytest.mark.parametrize("kind", KINDS)
def test_no_value_is_right_for_two_tests_of_code_that_differ(kind: Callable[[random.Random], str]) -> None:
    draw = random.Random(f"{kind.__name__} {EFFORT}")
    count = 6
    for _ in range(EFFORT):
        text, _ = functions(draw, count)
        value = kind(draw)
        score = of_code(program(value), text, ROW_S)
        assert score.status == "ok", score
        assert earned_twice(score, count) == [], (value, text)


def test_the_values_that_these_tests_expect_pass_them() -> None:
    draw = random.Random(EFFORT)
    for _ in range(16):
        text, [values] = functions(draw, 1)
        score = of_code(
            f"import numpy\ndef f(x):\n    v = {values[0]}\n    return v if isinstance(v, int) else numpy.array(v)",
            text,
        )
        assert score.parts["test_0a"].value == 1.0, (values, score.parts["test_0a"], text)
        assert score.parts["test_0b"].value == 0.0


def of_patch(program: str, text: str, count: int) -> Score:
    names = [f"test_f.py::test_{number}{which}" for number in range(count) for which in "ab"]
    row: dict[str, Any] = {
        "repository": {"solution.py": "f = None\n"},
        "tests": {"test_f.py": text},
        "FAIL_TO_PASS": names,
    }
    if problem := default_sandbox().programs.problem("bash"):
        pytest.skip(problem)
    reply = f"```python solution.py\n{program}```"
    return Patch(wall_s=60, check_row=False, reward="fraction").score([Sample(completion=reply, meta=row)])[0]


@pytest.mark.parametrize("kind", [empty, lying, looking])
def test_no_value_is_right_for_two_tests_of_a_patch_that_differ(kind: Callable[[random.Random], str]) -> None:
    draw = random.Random(f"{kind.__name__} {EFFORT}")
    count = 6
    for _ in range(EFFORT):
        text, _ = functions(draw, count, PAIRED)
        value = kind(draw)
        score = of_patch(program(value), text, count)
        assert score.status == "ok", score
        assert earned_twice(score, count) == [], (value, text)


def test_a_patch_passes_the_tests_that_expect_its_values() -> None:
    text, wanted = functions(random.Random(EFFORT), 6, PAIRED)
    value = wanted[0][0]
    score = of_patch(
        f"import numpy\n\n\ndef f(x):\n    return {value} if {value[0]!r} != '[' else numpy.array({value})\n", text, 6
    )
    tests = score.parts["FAIL_TO_PASS"].parts
    assert tests["test_f.py::test_0a"].value == 1.0, score
    assert tests["test_f.py::test_0b"].value == 0.0
