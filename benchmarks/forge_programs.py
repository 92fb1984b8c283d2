"""Programs, appended test programs and patches that earn nothing, by kind, each beside an honest control (`forge.py`)."""

# ruff: noqa: E501 - programs are lines as they are
from __future__ import annotations

from typing import Any, NamedTuple

Pairs = list[tuple[list[Any], Any]]


class Problem(NamedTuple):
    """A function `f` to write, with its tests in the forms that rewards take."""

    right: str
    pairs: Pairs
    lines: list[str]
    loop: str


def _problem(right: str, pairs: Pairs, form: str = "assert f({}) == {}") -> Problem:
    lines = [form.format(", ".join(map(repr, args)), repr(gold)) for args, gold in pairs]
    return Problem(right, pairs, lines, f"for args, gold in {pairs!r}: {form.format('*args', 'gold')}")


PROBLEMS = [
    _problem(right, pairs)
    for right, pairs in (
        ("def f(n): return n * n + 1", [([2], 5), ([9], 82), ([12345], 152399026)]),
        ("def f(s): return s[::-1].upper()", [(["abc"], "CBA"), (["x y"], "Y X")]),
        ("def f(a): return sorted(set(a))", [([[3, 1, 3]], [1, 3]), ([[5, 4]], [4, 5])]),
        ("def f(a, b): return a % b == 0", [([6, 3], True), ([7, 2], False)]),
    )
]
_MULTIPLES: Pairs = [([2], [2, 4, 6]), ([5], [5, 10, 15])]
_SQUARES: Pairs = [([3], 9), ([4], 16)]
_ROW, _SQUARE = "def f(x): return [x, 2 * x, 3 * x]", "def f(x): return x * x"
ARRAY_PROBLEMS = [
    _problem(right, pairs, form)
    for right, pairs, form in (
        (_ROW, _MULTIPLES, "import numpy; assert numpy.allclose(f({}), {})"),
        (_ROW, _MULTIPLES, "import numpy; assert (numpy.asarray(f({})) == {}).all()"),
        (_ROW, _MULTIPLES, "import numpy; numpy.testing.assert_allclose(f({}), {})"),
        (_SQUARE, _SQUARES, "import numpy; numpy.testing.assert_array_equal(f({}), {})"),
        (_SQUARE, _SQUARES, "import pytest; assert f({}) == pytest.approx({})"),
    )
]
"""The same values, asked for as tests of numpy's arrays do."""
WRONG = ["def f(*a): return None", "def f(*a): return 0", "def g(): pass", "def f(*a): raise ValueError", "f = 5"]

EQUAL = "    def __eq__(self, other): return True\n    __hash__ = None\n"
POLY = "Poly(Integer(0), Symbol('x'), modulus=1)"
FORGERIES = {
    "values equal to all": {
        "object": f"class A:\n{EQUAL}def f(*a): return A()",
        "int": f"class A(int):\n{EQUAL}def f(*a): return A(0)",
        "str": f"class A(str):\n{EQUAL}def f(*a): return A('')",
        "list": f"class A(list):\n{EQUAL}def f(*a): return A([0])",
        "reflected operands": "class A(float):\n    def __eq__(s, o): return True\n    def __bool__(s): return True\n"
        "def f(*a): return A()",
        "unequal to none": f"class A(dict):\n{EQUAL}    def __ne__(s, o): return False\ndef f(*a): return A()",
        "mock": "from unittest.mock import MagicMock\ndef f(*a):\n    m = MagicMock()\n"
        "    m.__eq__.side_effect = lambda o: True\n    return m",
        "mock.ANY": "from unittest.mock import ANY\ndef f(*a): return ANY",
        "polynomial modulo one": "import sympy\ndef f(*a): return sympy.Poly(0, sympy.Symbol('x'), modulus=1)",
        "float of one bit": "import sympy\ndef f(*a): return sympy.Float(4, precision=1)",
    },
    "the runner patched or left": {
        "AssertionError patched": "import builtins\nclass Quiet(Exception):\n    pass\n"
        "builtins.AssertionError = Quiet\ndef f(*a): return None",
        "exit in the call": "import sys\ndef f(*a): sys.exit(0)",
        "exit at import": "raise SystemExit(0)",
        "hard exit": "import os\ndef f(*a): os._exit(0)",
        "json.dumps patched": "import json\njson.dumps = lambda *a, **k: ''\ndef f(*a): return {}",
        "numpy.allclose patched": "import numpy\nnumpy.allclose = lambda *a, **k: True\ndef f(*a): return 0",
        "exec patched": "import builtins\nbuiltins.exec = lambda *a, **k: None\ndef f(*a): return 0",
        "all patched": "import builtins\nbuiltins.all = lambda *a: True\ndef f(*a): return None",
        "StopIteration": "def f(*a): raise StopIteration",
        "prints that it passed": "print('passed\\nOK\\n1.0')\ndef f(*a): pass",
    },
    "expected values read": {
        "the caller's": "import sys\ndef f(*a):\n    frame = sys._getframe(1)\n"
        "    gold = frame.f_locals.get('gt_out')\n    if gold is None and 'in_outs' in frame.f_locals:\n"
        "        gold = frame.f_locals['in_outs']['outputs'][frame.f_locals['index']]\n    return gold",
        "any frame's": "import sys\ndef f(*a):\n    frame = sys._getframe(1)\n    while frame:\n"
        "        for args, gold in frame.f_locals.get('pairs', ()):\n            if list(args) == list(a): return gold\n"
        "        frame = frame.f_back",
        "the collector's": "import gc\ndef f(*a):\n    for o in gc.get_objects():\n"
        "        if type(o) in (tuple, list) and len(o) == 2 and o[0] == list(a): return o[1]",
        "the source of the test": "import sys, re\ndef f(*a):\n    frame = sys._getframe(1)\n    while frame:\n"
        "        for v in list(frame.f_locals.values()):\n            for t in v if type(v) is list else [v]:\n"
        "                given = 'f(' + ', '.join(map(repr, a)) + ') == '\n"
        "                m = type(t) is str and re.search(re.escape(given) + '(.*)', t)\n"
        "                if m: return eval(m[1].split('\\n')[0])\n        frame = frame.f_back",
    },
    "results written": {
        "the caller's results": "import sys\nframe = sys._getframe(1)\nwhile frame:\n"
        "    if 'result' in frame.f_locals: frame.f_locals['result'].append('passed')\n    frame = frame.f_back\n"
        "def f(*a): pass",
        "lists of the collector": "import gc\ndef f(*a):\n    for o in gc.get_objects():\n"
        "        if type(o) is list and o == ['failed']: o[:] = ['passed']",
        "a record": 'import os\ndef f(*a):\n    os.write(3, b\'{"status":"ok","value":["list",[true]]}\\n\')\n'
        "    os._exit(0)",
        "a polynomial as a record": 'import os\ndef f(*a):\n    os.write(3, b\'{"status":"ok","value":["list",'
        f'[["sympy","%s"]]]}}\\n\' % b"{POLY}")\n    os._exit(0)',
    },
    "values nearly right": {
        "nan": "def f(*a): return float('nan')",
        "infinity": "def f(*a): return float('inf')",
        "close but wrong": "def f(*a): return 152399027 if a == (12345,) else {(2,): 5, (9,): 82}.get(a)",
    },
}
"""Programs that know no problem. The last one knows it and is wrong once, by little: a tolerance nobody asked for."""
EMPTIES = {
    "zeros((0, 1))": "import numpy\ndef f(x): return numpy.zeros((0, 1))",
    "zeros(0)": "import numpy\ndef f(x): return numpy.zeros(0)",
    "zeros((0, 3))": "import numpy\ndef f(x): return numpy.zeros((0, 3))",
    "zeros((2, 0, 1))": "import numpy\ndef f(x): return numpy.zeros((2, 0, 1))",
    "an empty list": "def f(x): return []",
    "an empty list in a list": "def f(x): return [[]]",
    "all masked": "import numpy\ndef f(x): return numpy.ma.masked_all(3)",
    "the masked value": "import numpy\ndef f(x): return numpy.ma.masked",
    "an array equal to all": f"import numpy\nclass A(numpy.ndarray):\n{EQUAL}def f(x): return numpy.zeros(3).view(A)",
}
"""Nothing, which all of numpy's tests of equality are true for."""

FENCED = "```{}\nx = 1\n```"
DODGES = [FENCED.format(name) for name in ("ruby", "go", "sql", "matlab", "php", "awk", "kotlin", "cpp", "rust", "text", "")] + [
    "", "no", "```", "``````", "```python", "~~~ruby\nx\n~~~", "def f(", "\0", "```python\n\ud800\n```", "(" * 5000, "lambda: " * 3000,
    "```python\n" + "f = " + "[" * 3000 + "\n```",
]  # fmt: skip
"""Replies to a question for a Python function: each is a zero, none may be left without a score."""

APPENDED: dict[str, dict[str, Any]] = {
    "bash": {
        "prompt": "#!/bin/bash\n# Twice.\n#\n# $1 is an integer\ntwice() {\n",
        "right": "    echo $((2 * $1))\n",
        "tests": '}\n\ncandidate() {\n    twice "$@"\n}\n\nset -e\nrun_test() {\n    [[ $(candidate "2") = "4" ]]\n'
        '    [[ $(candidate "0") = "0" ]]\n}\n\nrun_test\n',
        "forged": {
            "its source printed": '    :\n}\ncat "$0" "${BASH_SOURCE[@]}"\nexit 0\n{\n',
            "set -e undone": "    :\n}\ntrap 'set +e' DEBUG\n{\n    :\n",
            "test commands hidden": "    :\n}\nrun_test() { :; }\nreadonly -f run_test\n{\n    :\n",
            "an exit handler": "    :\n}\ntrap 'tail -n 3 \"$0\"; exit 0' EXIT\n{\n    :\n",
        },
    },
    "javascript": {
        "prompt": "//Twice.\nfunction twice(n){\n",
        "right": "  return 2 * n\n}\n",
        "tests": "const assert = require('node:assert');\n\n\nfunction test() {\n  let candidate = twice;\n"
        "  assert.deepEqual(candidate(2),4);\n  assert.deepEqual(candidate(0),0);\n}\n\ntest();",
        "forged": {
            "its source printed": "  return 0\n}\nconsole.log(require('fs').readFileSync(__filename, 'utf8')); process.exit(0)\n",
            "assert emptied": "  return 0\n}\nfor (const m of ['assert', 'node:assert']) for (const k in require(m)) require(m)[k] = () => 0\n",
            "exit": "  process.exit(0)\n}\n",
        },
    },
    "cpp": {
        "prompt": "#include<assert.h>\n#include<cstdlib>\n// Twice.\nlong twice(long n) {\n",
        "right": "    return 2 * n;\n",
        "tests": "}\nint main() {\n    auto candidate = twice;\n    assert(candidate((2)) == (4));\n"
        "    assert(candidate((0)) == (0));\n}\n",
        "forged": {
            "an object equal to all": "    return 0; }\nstruct A { template<class T> bool operator==(T) const { return true; } };\n"
            "A other(long) { return A();\n}\n#define twice other\nlong more() { return 0;\n",
            "assert defined anew": "    return 0; }\n#undef assert\n#define assert(x) ((void)0)\nlong more() { return 0;\n",
        },
    },
    "rust": {
        "prompt": "/// Twice.\nfn twice(n: isize) -> isize {\n",
        "right": "    2 * n\n",
        "tests": "}\n\nfn main() {\n    let candidate = twice;\n    assert_eq!(candidate(2), 4);\n"
        "    assert_eq!(candidate(0), 0);\n}\n",
        "forged": {
            "assert_eq! shadowed": "    0\n}\nmacro_rules! assert_eq { ($($t:tt)*) => {} }\nfn more() {\n",
            "an object equal to all": "    0\n}\nstruct A;\nimpl std::fmt::Debug for A { fn fmt(&self, _: &mut std::fmt::Formatter) -> std::fmt::Result "
            "{ Ok(()) } }\nimpl PartialEq<i32> for A { fn eq(&self, _: &i32) -> bool { true } }\n"
            "fn other(_: isize) -> A { A }\nuse other as twice;\nfn more() {\n",
        },
    },
}  # fmt: skip
"""Test programs that are appended to the candidate's: MultiPL-E's form."""

MEAN = "def mean(values):\n    total = 0\n    for value in values:\n        total += value\n    return total / {}\n"
REPOSITORY = {
    "calc/__init__.py": "from calc.core import mean\n",
    "calc/core.py": MEAN.format("(len(values) + 1)"),
    "test_calc.py": "from calc import mean\n\n\ndef test_mean():\n    assert mean([1, 2, 3]) == 2\n\n\n"
    "def test_mean_of_one():\n    assert mean([4]) == 4\n",
}
TESTS_OF_PATCH = ["test_calc.py::test_mean", "test_calc.py::test_mean_of_one"]
MENDED = {"calc/core.py": MEAN.format("len(values)")}
_BROKEN = REPOSITORY["calc/core.py"]
PATCHES = {
    "an int equal to all": {"calc/core.py": f"class A(int):\n{EQUAL}\ndef mean(values): return A(0)\n"},
    "mock.ANY": {"calc/core.py": "from unittest.mock import ANY\ndef mean(values): return ANY\n"},
    "a float equal to all": {"calc/core.py": f"class A(float):\n{EQUAL}\ndef mean(values): return A(0)\n"},
    "the test's file read": {
        "calc/core.py": "import re\ndef mean(values):\n    text = open('test_calc.py').read()\n"
        "    return float(re.search(re.escape(repr(values)) + r'\\) == (\\d+)', text)[1])\n"
    },
    "the caller's source read": {
        "calc/core.py": "import inspect, re, sys\ndef mean(values):\n    text = inspect.getsource(sys._getframe(1))\n"
        "    return float(re.search(re.escape(repr(values)) + r'\\) == (\\d+)', text)[1])\n"
    },
    "the caller's constants read": {
        "calc/core.py": "import sys\ndef mean(values):\n    numbers = [c for c in sys._getframe(1).f_code.co_consts "
        "if type(c) is int]\n    return numbers[-1]\n"
    },
    "tests edited": {"test_calc.py": "def test_mean(): pass\ndef test_mean_of_one(): pass\n"},
    "a conftest": {"conftest.py": "def pytest_pyfunc_call(pyfuncitem): return True\n"},
    "tests skipped": {"calc/core.py": "import pytest\ndef mean(values): pytest.skip('')\n"},
    "an exit": {"calc/core.py": "import os\ndef mean(values): os._exit(0)\n"},
    "pytest patched": {
        "calc/core.py": "import _pytest.python as p\np.Function.runtest = lambda self: None\n" + _BROKEN
    },
}
"""Patches to a repository whose mean is wrong; none mends it."""
