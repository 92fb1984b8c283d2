from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from verikit.errors import SandboxUnavailable, UsageError
from verikit.sandbox import default_sandbox, toolchains
from verikit.types import Sample, Score
from verikit.verifiers.code.cases import Called, Driven, Piped
from verikit.verifiers.code.compare import close
from verikit.verifiers.code.rows import read
from verikit.verifiers.code.verifier import Code

if sys.platform != "linux":
    pytest.skip("the local sandbox needs Linux", allow_module_level=True)

ROOT = Path(__file__).parents[2]
SQUARE = "def f(x): return x * x"
ASSERTS = ["assert f(3) == 9", "assert f(4) == 16"]


def score(program: str, verifier: Code | None = None, prompt: str = "", **meta: Any) -> Score:
    return (verifier or Code(wall_s=3)).score([Sample(prompt, program, meta=meta)])[0]


FORMS: dict[str, dict[str, Any]] = {
    "asserts": {"tests": ASSERTS},
    "one text": {"tests": "\n".join(ASSERTS)},
    "calls": {"tests": [{"call": "f(3)", "expected": "9"}, {"call": "f(x=2)", "expected": "4"}]},
    "json": {"tests": [{"fn": "f", "args": [3], "expected": 9}, {"fn": "f", "kwargs": {"x": 2}, "expected": 4}]},
    "HumanEval": {
        "test": "METADATA = {}\n\ndef check(candidate):\n    assert candidate(3) == 9\n    assert candidate(0) == 0\n",
        "entry_point": "f",
    },
    "HumanEval, driven": {
        "test": "def check(candidate):\n    for n in range(5):\n        assert candidate(n) == n ** 2, n\n",
        "entry_point": "f",
    },
    "MBPP": {"test_list": ASSERTS, "test_setup_code": "", "challenge_test_list": ["assert f(-1) == 1"]},
    "MBPP with setup": {
        "test_list": ["assert f(three) == 9"],
        "test_setup_code": "import math\nthree = math.floor(3.5)",
    },
    "helpers": {"tests": ["def twice(x): return f(f(x))\nassert twice(2) == 16"]},
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_every_form_pass_the_right_and_fail_the_wrong(form: str) -> None:
    assert score(SQUARE, **FORMS[form]).value == 1
    wrong = score("def f(x): return x * x + 1", **FORMS[form])
    assert wrong.value == 0
    assert wrong.status == "ok"
    assert wrong.reason


CHEATS = {
    "equal to all": "class A:\n    __eq__ = __bool__ = lambda *a: True\ndef f(x): return A()",
    "number equal to all": "class A(int):\n    __eq__ = lambda *a: True\n    __hash__ = hash\ndef f(x): return A()",
    "exit": "import sys\ndef f(x): sys.exit(0)",
    "hard exit": "import os\ndef f(x): os._exit(0)",
    "exit early": "import os\nos._exit(0)",
    "raise SystemExit at import": "raise SystemExit(0)",
    "own record": 'import os\ndef f(x):\n    os.write(3, b\'{"status":"ok","value":true}\\n\')\n    os._exit(0)',
    "patched assert": "import builtins\nbuiltins.AssertionError = type('E', (Exception,), {})\ndef f(x): return 0",
    "counting calls": "n = 0\ndef f(x):\n    global n\n    n += 1\n    return [9, 16, 0][n - 1]",
    "prints the verdict": "print('passed')\ndef f(x): return None",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_single_child_for_a_row_judges_alike(form: str) -> None:
    verifier = Code(children="row", wall_s=3)
    assert score(SQUARE, verifier, **FORMS[form]).value == 1
    wrong = score("def f(x): return x * x + 1", verifier, **FORMS[form])
    assert wrong.value == 0
    assert wrong.reason
    for name, cheat in CHEATS.items():
        assert name == "counting calls" or score(cheat, verifier, **FORMS[form]).value == 0
    assert score("def f(x):\n    while True: pass", Code(children="row", wall_s=0.5), **FORMS[form]).value == 0


def test_a_single_child_has_no_share() -> None:
    with pytest.raises(UsageError):
        Code(children="row", reward="fraction")


@pytest.mark.parametrize("cheat", CHEATS)
@pytest.mark.parametrize("form", ["asserts", "HumanEval, driven", "helpers"])
def test_cheats_never_pass(cheat: str, form: str) -> None:
    if (cheat, form) == ("counting calls", "helpers"):
        pytest.skip("calls of one test program share the program's state, and 16 is the answer to the last one")
    found = score(CHEATS[cheat], **FORMS[form])
    assert (found.value, found.status) == (0, "ok"), found


def test_in_process_tests_are_forgeable_and_say_so() -> None:
    found = score(CHEATS["equal to all"], Code(in_process=True), tests=ASSERTS)
    assert found.value == 1
    assert "forgeable" in found.reason
    assert score("def f(x): return 0", Code(in_process=True), tests=ASSERTS).value == 0


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("def f(x):\n    while True: pass", "timeout"),
        ("def f(x): return bytearray(1 << 34)", "memory"),
        ("def g(x): return 1", "defines no 'f'"),
        ("def f(x) return 1", "SyntaxError"),
        ("", "no program"),
        ("def f(x): print('x' * (1 << 25)); return 9", "output"),
    ],
)
def test_what_the_program_does_is_its_own_zero(program: str, reason: str) -> None:
    found = score(program, Code(wall_s=1), tests=ASSERTS)
    assert found.value == 0
    assert reason in found.reason


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"tests": []},
        {"tests": ["assert f(1) =="]},
        {"tests": [{"call": "f(y)", "expected": "1"}]},
        {"tests": [3]},
        {"private_test_cases": "eJxr"},
        {"test": "x = 1", "entry_point": "f"},
        {"tests": ["import no_such_module\nassert f(3) == 9"]},
        {"tests": {"inputs": ["1"], "outputs": []}},
        {"tests": {"inputs": ["[1"], "outputs": ["1"], "fn_name": "f"}},
        {"tests": {"inputs": [3], "outputs": [9], "fn_name": "f"}},
    ],
)
def test_a_row_that_can_not_be_read_is_unscored(meta: dict[str, Any]) -> None:
    found = score(SQUARE, **meta)
    assert found.value is None
    assert found.status == "error"
    assert "test" in found.reason


def test_a_sandbox_that_fails_is_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    box = default_sandbox()
    assert box.run("1").status == "ok"  # its servers are up, whatever ran before
    monkeypatch.setattr("verikit.sandbox.client._BOOT", "/nowhere.py")
    monkeypatch.setattr("verikit.verifiers.code.verifier.chosen_sandbox", lambda require: _fresh())
    assert score(SQUARE, tests=ASSERTS).status == "error"
    monkeypatch.setattr("verikit.verifiers.code.verifier.chosen_sandbox", _refuse)
    assert score(SQUARE, tests=ASSERTS).status == "error"
    assert box.run("1").status == "ok"


def _fresh() -> Any:
    from verikit.sandbox import LocalSandbox

    return LocalSandbox(workers=1)


def _refuse(require: object) -> Any:
    raise SandboxUnavailable("no", hint="yes")


def test_standard_output_is_compared_whole() -> None:
    tests = [{"input": "2\n", "output": "1\n2\n"}]
    count = "for i in range(int(input())): print(i + 1)"
    assert score(count, tests=tests).value == 1
    assert score("print(1)", tests=tests).value == 0
    assert score(count + "\nprint(3)", tests=tests).value == 0
    assert score("print('1  \\n2\\n\\n')", tests=tests).value == 1


def test_tolerance_compares_numbers_word_by_word() -> None:
    tests = [{"input": "", "output": "0.333333 done"}]
    assert score("print(1 / 3, 'done')", tests=tests).value == 0
    assert score("print(1 / 3, 'done')", Code(tolerance=1e-5), tests=tests).value == 1
    assert score("print(1 / 3, 'gone')", Code(tolerance=1e-5), tests=tests).value == 0


def test_livecodebench_rows_call_the_solution() -> None:
    cases = json.dumps([{"input": "[1, 2]\n3", "output": "[3, 1, 2]", "testtype": "functional"}])
    meta = {"public_test_cases": cases, "metadata": json.dumps({"func_name": "put"})}
    assert score("class Solution:\n    def put(self, a, b): return (b, *a)", **meta).value == 1
    assert score("def put(a, b): return [b] + a", **meta).value == 1
    assert score("class Solution:\n    def put(self, a, b): return a", **meta).value == 0


@pytest.mark.parametrize(
    ("given", "expected"), [("[1, 2]\n3", "[3, 1, 2]"), ([[1, 2], 3], [3, 1, 2]), ([[1, 2], 3], [[3, 1, 2]])]
)
def test_parallel_lists_hold_arguments_as_lines_or_lists_and_results_wrapped_or_not(given: Any, expected: Any) -> None:
    tests = {"inputs": [given], "outputs": [expected], "fn_name": "put"}
    assert score("class Solution:\n    def put(self, a, b): return (b, *a)", tests=tests).value == 1
    assert score("def put(a, b): return [[b] + a]", tests=tests).value == float(expected == [[3, 1, 2]])
    assert score("def put(a, b): return b", tests=tests).value == 0


def test_tests_in_the_gold_answer_are_read_where_the_row_has_no_others() -> None:
    gold = json.dumps({"inputs": ["1\n", "5\n"], "outputs": ["2\n", "6\n"]})
    assert Code()("print(int(input()) + 1)", gold).value == 1
    assert Code()("print(2)", gold).value == 0
    assert Code()("print(2)", gold, tests=[{"input": "", "output": "2"}]).value == 1
    assert Code()("print(2)", '{"inputs": [').status == "error"


def test_a_completion_that_goes_on_with_the_prompt_is_joined_to_it() -> None:
    assert score("    return x * x\n", prompt="def f(x):\n", **FORMS["HumanEval"]).value == 1


@pytest.mark.parametrize(
    ("test", "program", "right"),
    [
        ("assert abs(f(1) - 0.333) < 1e-3", "def f(x): return 1 / 3", 1),
        ("assert f(1)", "def f(x): return [0]", 1),
        ("assert not f(1)", "def f(x): return []", 1),
        ("assert f(1) is True", "def f(x): return 1", 0),
        ("assert f(1) == 1", "def f(x): return True", 1),
        ("assert (2,) == f(1)", "def f(x): return [2]", 0),
        ("assert f(1) == 2", "import numpy\ndef f(x): return numpy.int64(2)", 1),
        ("assert f(1) == 2", "import sympy\ndef f(x): return sympy.sqrt(4)", 1),
    ],
)
def test_asserts_mean_what_they_mean_in_python(test: str, program: str, right: int) -> None:
    assert isinstance(read({"tests": [test]})[0], Called)
    assert score(program, tests=[test]).value == right


def test_driven_tests_see_numpy_values_and_no_value_escapes_judgement() -> None:
    meta = {
        "tests": ["import numpy\nfor n in range(2):\n    assert numpy.allclose(f(n), [n, n])\n    assert f(n)[0] == n"]
    }
    assert score("import numpy\ndef f(n): return numpy.full(2, n)", **meta).value == 1
    assert score("import numpy\ndef f(n): return numpy.full(3, n)", **meta).value == 0
    grows = """
import os
def f(n):
    data = b'{"status":"ok","value":["list",["' + b'\\xc3\\xa9' * 400_000 + b'"]]}\\n'
    while data:
        data = data[os.write(3, data):]
    os._exit(0)
"""
    found = score(grows, **meta)
    assert (found.value, found.status) == (0, "ok")
    assert "ended" in found.reason


def test_equality_can_be_chosen() -> None:
    tests = [{"call": "f()", "expected": "[1]"}]
    assert score("def f(): return (1,)", tests=tests).value == 0
    assert score("def f(): return (1.0,)", Code(equality="json"), tests=tests).value == 1
    assert score("def f(): return [1.0]", tests=tests).value == 0
    assert score("def f(): return [1.0]", Code(equality="python"), tests=tests).value == 1


def test_the_share_of_tests_passed_is_on_offer() -> None:
    found = score("def f(x): return 9", Code(reward="fraction"), tests=ASSERTS)
    assert found.value == 0.5
    assert "1 of 2" in found.reason
    assert score("def f(x): return 9", tests=ASSERTS).value == 0


def test_only_literal_asserts_are_lifted() -> None:
    kinds = [
        type(c)
        for c in read({"tests": [ASSERTS[0], "assert f(g()) == 1", "x = 1\nassert f(x) == 1", "assert len(f(1)) == 1"]})
    ]
    assert kinds == [Called, Driven, Driven, Driven]
    assert [type(c) for c in read({"tests": [{"input": "1", "output": "1"}]})] == [Piped]
    driven = read({"tests": ["import math\nassert math.floor(f(1)) == g(2)"]})[0]
    assert isinstance(driven, Driven)
    assert driven.functions == ("f", "g")


def test_a_program_in_another_language_is_the_replys_zero() -> None:
    found = score("```cpp\nint f(int x) { return x * x; }\n```\nOutput:\n```\n9\n```", tests=ASSERTS)
    assert (found.value, found.reason) == (0.0, "no Python program in the completion, only one in cpp")
    assert score(f"```cpp\nint f;\n```\n```python\n{SQUARE}\n```", tests=ASSERTS).value == 1


FOREIGN = "ruby go sql matlab php awk kotlin c cpp java javascript typescript rust haskell r julia perl lean".split()


@pytest.mark.parametrize("label", FOREIGN)
def test_no_label_of_a_fence_makes_a_reply_unscored(label: str) -> None:
    suite = "import unittest\nclass T(unittest.TestCase):\n    def test_f(self): self.assertEqual(f(3), 9)"
    for tests in (ASSERTS, suite, "def test_f():\n    assert f(3) == 9"):
        assert score(f"```{label}\nputs 9\n```", tests=tests).value == 0
        assert score(f"```python\n{SQUARE}\n```", tests=tests).value == 1
    assert score(f"```{label}\nputs 9\n```", tests=[{"input": "3", "output": "9"}]).value == 0


@pytest.mark.parametrize("name", ["ruby", "Kotlin", "php"])
def test_a_row_in_a_language_that_cannot_be_run_is_unscored_whatever_the_reply_is(name: str) -> None:
    for reply in (f"```{name}\nputs 9\n```", f"```python\n{SQUARE}\n```", ""):
        found = score(reply, tests=[{"input": "3", "output": "9"}], language=name)
        assert (found.status, found.value) == ("abstained", None)
    assert score(f"```python\n{SQUARE}\n```", tests=ASSERTS, language="cs").value == 1  # Czech


def test_a_language_that_the_reply_alone_chooses_has_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(toolchains._FIND, "go", (lambda: None, "apt-get install golang-go"))
    toolchains.toolchain.cache_clear()
    try:
        tests = [{"input": "3", "output": "9"}]
        chosen = score("```go\npackage main\nfunc main() {}\n```", tests=tests)
        named = [score(reply, tests=tests, language="go") for reply in ("```go\npackage main\n```", "")]
    finally:
        toolchains.toolchain.cache_clear()
    assert (chosen.value, chosen.status) == (0.0, "ok")
    assert "the reply chose go" in chosen.reason
    assert [found.status for found in named[:1]] == ["error"]


def test_what_follows_the_program_does_not_replace_it() -> None:
    usage = "```python\nprint(f(3))\nassert f(3) == 9\n```\n```\n9\n```\n```json\n{}\n```"
    assert score(f"```python\n{SQUARE}\n```\n{usage}", tests=ASSERTS).value == 1
    assert score(f"```python\n{SQUARE} + 1\n```\n{usage}", tests=ASSERTS).value == 0
    piped = {"tests": [{"input": "3", "output": "9"}]}
    parts = "```python\nimport sys\ndef f(x): return x * x\n```\nand\n```python\nprint(f(int(sys.stdin.read())))\n```"
    assert score(parts, **piped).value == 1


def test_close_holds_at_the_edges() -> None:
    assert close([1.0, (2,)], (1, [2.0000001]), 1e-6)
    assert not close([1], [1, 2], 1)
    assert not close("a", 1, 9)
    assert close(10**400, 10**400, 1e-6)
    assert not close(10**400, 1.0, 1e-6)
    assert close(float("inf"), float("inf"), 0.1)


def test_samples_keep_their_order_and_the_verifier_pickles() -> None:
    verifier = pickle.loads(pickle.dumps(Code(wall_s=3)))
    samples = [Sample(completion=f"def f(x): return {n}", meta={"tests": ["assert f(0) == 2"]}) for n in range(5)]
    assert [s.value for s in verifier.score(samples)] == [0, 0, 1, 0, 0]
    assert "in_process=False" in repr(verifier)


def test_the_examples_score_as_their_kinds_say() -> None:
    rows = [json.loads(line) for line in (ROOT / "examples/code/problems.jsonl").read_text().splitlines()]
    samples = [Sample(row["prompt"], c["text"], meta=row["meta"]) for row in rows for c in row["completions"]]
    scores = Code(wall_s=1.5).score(samples)
    kinds = [c["kind"] for row in rows for c in row["completions"]]
    assert [(kind, score.value) for kind, score in zip(kinds, scores, strict=True)] == [
        (kind, float(kind == "right")) for kind in kinds
    ]
    assert len(rows) >= 5
    assert set(kinds) == {"right", "wrong", "cheating", "looping"}


FORGED = {
    "the number zero modulo one": (
        "import os\ndef f(*a):\n"
        "    poly = b\"Poly(Integer(0), Symbol('x'), modulus=1)\"\n"
        '    os.write(3, b\'{"status":"ok","value":["list",[["sympy","%s"]]]}\\n\' % poly)\n'
        "    os._exit(0)"
    ),
    "srepr replaced": (
        "import sympy\nsympy.srepr = lambda v: \"Poly(Integer(0), Symbol('x'), modulus=%d)\"\n"
        "def f(*a): return sympy.Symbol('y')"
    ),
    "modulus two": "import sympy\ndef f(*a): return sympy.Poly(0, sympy.Symbol('x'), modulus=2)",
    "one bit": "import sympy\ndef f(*a): return sympy.Float(4, precision=1)",
    "one digit": "import sympy\ndef f(*a): return [sympy.Float(4, 1)]",
    "a symbol that is zero": "import sympy\ndef f(*a): return sympy.Symbol('x', zero=True)",
    "not a number": "def f(*a): return float('nan')",
    "infinity": "def f(*a): return float('inf')",
    "infinity in a list": "def f(*a): return [-float('inf')]",
    "infinity of numpy": "import numpy\ndef f(*a): return numpy.float64('inf')",
    "infinity printed": "print('inf')\ndef f(*a): return 0",
    "a number beyond floats": "def f(*a): return 10 ** 400",
    "true of all symbols": "import sympy\ndef f(*a): return sympy.false",
    "an empty array": "import numpy\ndef f(*a): return numpy.zeros(0)",
}


@pytest.mark.parametrize("cheat", FORGED)
def test_no_value_stands_for_another(cheat: str) -> None:
    tests: list[Any] = ["assert f(1) == 3", "assert f(1) == [5.5]", "assert f(1)", {"input": "", "output": "7"}]
    for test in [*tests, {"call": "f(1)", "expected": "4"}, {"fn": "f", "args": [1], "expected": 5}]:
        for verifier in (Code(wall_s=3), Code(wall_s=3, tolerance=1e-3)):
            found = score(FORGED[cheat], verifier, tests=[test])
            fits = test == "assert f(1)" and cheat in HONESTLY_TRUE
            assert (found.value, found.status) == (float(fits), "ok"), (test, found)


HONESTLY_TRUE = {
    "one digit", "not a number", "infinity", "infinity in a list", "infinity of numpy", "a number beyond floats",
}  # fmt: skip


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("from collections import Counter\ndef f(): return Counter('aab')", "{'a': 2, 'b': 1}"),
        ("from collections import OrderedDict\ndef f(): return OrderedDict(b=1, a=2)", "{'a': 2, 'b': 1}"),
        (
            "from collections import defaultdict\ndef f():\n    d = defaultdict(int)\n    d[1] += 2\n    return d",
            "{1: 2}",
        ),
        ("from collections import namedtuple\ndef f(): return [namedtuple('P', 'x y')(1, 2)]", "[(1, 2)]"),
        ("import sympy\ndef f(): return sympy.false", "False"),
        ("import sympy\ndef f(): return [sympy.true, sympy.Integer(-7)]", "[True, -7]"),
        ("import sympy\ndef f(): return {sympy.Integer(1): sympy.Float(0.1)}", "{1: 0.1}"),
        ("import sympy\ndef f(): return sympy.Rational(1, 2)", "0.5"),
        ("import numpy\ndef f(): return {numpy.int64(1): (numpy.float64(.5), numpy.bool_(True))}", "{1: (.5, True)}"),
        ("import numpy\ndef f(): return numpy.array([1, 2]).sum(keepdims=False)", "3"),
        ("import numpy\ndef f(): return numpy.array(3)", "3"),
    ],
)
def test_what_is_equal_in_python_is_equal_here(program: str, expected: str) -> None:
    assert score(program, tests=[f"assert f() == {expected}"]).value == 1
    assert score(program, tests=[f"for _ in range(1): assert f() == {expected}"]).value == 1
    assert score(program, tests=[f"assert f() == [{expected}, 1]"]).value == 0
    assert score(program, tests=[f"for _ in range(1): assert f() == [{expected}, 1]"]).value == 0


def test_an_overridden_equality_stays_where_it_is() -> None:
    liar = "class A(dict):\n    def __eq__(self, other): return True\ndef f(): return A()"
    assert score(liar, tests=["assert f() == {1: 2}"]).value == 0
    assert score(liar, tests=["assert f() == {}"]).value == 0


def test_truth_is_that_of_the_value_not_of_what_carries_it() -> None:
    for value in ("sympy.false", "numpy.array([0])", "sympy.Integer(0)", "numpy.bool_(False)"):
        program = f"import numpy, sympy\ndef f(): return {value}"
        assert score(program, tests=["assert f()"]).value == 0
        assert score(program, tests=["assert not f()"]).value == 1


def test_driven_tests_hand_numpy_values_on_as_numpy_has_them() -> None:
    test = "import numpy\nfor n in (2, 3): assert f({'a': [numpy.arange(n)], n: numpy.int64(4)})['sum'] == 2 * n - 3"
    program = "def f(d): return {'sum': d['a'][0].astype(float).sum()}"
    assert score(program, tests=[test]).value == 1
    assert score(program.replace("float", "bool"), tests=[test]).value == 0


ENDED_EARLY = {
    "zip and map": "for got, want in zip(map(f, [1, 2]), [1, 4]): assert got == want",
    "a sentinel": "for got in iter(lambda: f(1), 99): assert got == 1",
    "a sequence": "class S:\n    def __getitem__(self, i): return f(i)\nfor got in S(): assert got == 1",
    "membership": "class S:\n    def __getitem__(self, i): return f(i)\nassert 5 not in S()",
    "an iterator": "class S:\n    __iter__ = lambda self: self\n    __next__ = lambda self: f(1)\nassert all(S())",
    "a default": "class S:\n    @property\n    def x(self): return f(1)\nassert getattr(S(), 'x', 1) == 1",
    "a list": "assert list(map(f, [1])) in ([], [1])",
    "and a quiet exit": "import sys\nfor got in map(f, [1]): assert got == 1\nsys.exit(0)",
}


@pytest.mark.parametrize("form", ENDED_EARLY)
@pytest.mark.parametrize("error", ["StopIteration", "IndexError", "AttributeError", "TypeError", "UnicodeDecodeError"])
def test_a_call_that_raised_is_not_taken_for_an_end(form: str, error: str) -> None:
    made = "UnicodeDecodeError('utf-8', b'', 0, 1, '')" if error == "UnicodeDecodeError" else error
    found = score(f"def f(x): raise {made}", tests=[ENDED_EARLY[form]])
    assert (found.value, found.status) == (0, "ok"), found


@pytest.mark.parametrize(
    "test",
    [
        "try:\n    f(-1)\n    raise AssertionError\nexcept {}:\n    pass",
        "import contextlib\nwith contextlib.suppress({}):\n    f(-1)\n    raise AssertionError",
        "import unittest\nunittest.TestCase().assertRaises({}, f, -1)\nif f(1) != 1: raise AssertionError",
        "import unittest\nwith unittest.TestCase().assertRaises({}):\n    f(-1)",
        "class S:\n    def __getitem__(self, i):\n        try:\n            return f(-1)\n"
        "        except {}:\n            return 7\n"
        "assert S()[0] == 7",
    ],
)
@pytest.mark.parametrize("error", ["IndexError", "ValueError"])
def test_tests_may_expect_and_catch_what_a_call_raises(test: str, error: str) -> None:
    program = f"def f(x):\n    if x < 0: raise {error}\n    return x"
    assert score(program, tests=[test.format(error)]).value == 1
    assert score("def f(x): return x", tests=[test.format(error)]).value == 0


def test_whatever_its_value_does_to_our_comparison_is_the_programs_zero() -> None:
    raw = """
import os
def f():
    data = b'{"status":"ok","value":["list",[' + %s + b']]}\\n'
    while data:
        data = data[os.write(3, data):]
    os._exit(0)
"""
    key = "b'\\xc3\\xa9' * 450_000"
    hostile = [
        f"b'[\"dict\",[[\"' + {key} + b'\",null]]]'",
        f"b'[\"set\",[\"' + {key} + b'\"]]'",
        "b'[\"set\",[' + b'[\"tuple\",[' * 50 + b']]' * 50 + b']]'",
        "b'[\"int\",\"0x' + b'f' * 240_000 + b'\"]'",
        'b\'["dict",[\' + b\',\'.join(b\'[["array","<i8",null,[["int","%x"]]],null]\' % ((2**61 - 1) * n) '
        "for n in range(9000)) + b']]'",
    ]
    for value in hostile:
        tests: list[Any] = [{"call": "f()", "expected": text} for text in ("{'a': 1}", "{'a'}", "1.5")]
        for test in tests:
            found = score(raw % value, tests=[test])
            assert (found.value, found.status) == (0, "ok"), found


def test_a_fault_of_our_comparison_is_the_programs_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*anything: object) -> bool:
        raise RecursionError("too deep")

    monkeypatch.setattr("verikit.verifiers.code.python_cases.holds", fails)
    found = score(SQUARE, tests=ASSERTS)
    assert (found.value, found.status) == (0, "ok")
    assert "RecursionError" in found.reason


def test_all_runs_of_a_row_share_a_budget() -> None:
    slow = "import time\ndef f(x):\n    time.sleep(.2)\n    return x * x"
    lifted = {"tests": [f"assert f({n}) == {n * n}" for n in range(20)]}
    driven = {"tests": ["for n in range(20): assert f(n) == n * n"]}
    patient = {"tests": ["for n in range(20):\n    try: assert f(n) == n * n\n    except RuntimeError: pass"]}
    piped = {"tests": [{"input": "", "output": ""}] * 20}
    for meta in (lifted, driven, patient, piped):
        found = score("import time; time.sleep(.2)" if meta is piped else slow, Code(wall_s=20, row_s=0.7), **meta)
        assert (found.value, found.status) == (0, "ok")
        assert "row together took 0.7 s" in found.reason
    share = score(slow, Code(wall_s=20, row_s=1.5, reward="fraction"), **lifted)
    assert share.status == "ok"
    assert 0 < (share.value or 0) < 0.5
    assert score(slow, Code(wall_s=20, row_s=60), tests=lifted["tests"][:3]).value == 1


def test_the_budget_of_a_row_is_six_full_runs_unless_given() -> None:
    assert Code(wall_s=0.6).slowest_s == pytest.approx(3.6)
    assert Code(wall_s=0.6, row_s=1.5).slowest_s == 1.5
    with pytest.raises(UsageError, match="row_s"):
        Code(row_s=0)


PROMPT = """import math
from typing import List


def poly(xs: List[float], x: float) -> float:
    \"\"\" Evaluates a polynomial. \"\"\"
    return sum(coefficient * math.pow(x, i) for i, coefficient in enumerate(xs))


def root(xs: List[float]) -> float:
    \"\"\" Finds where it is zero.
    >>> root([1, 1])
    -1.0
    \"\"\"
"""
BY_POLY = """def check(candidate):
    for xs in ([1.0, 2.0], [3.0, 1.0]):
        assert abs(poly(xs, candidate(xs))) < 1e-6
"""


@pytest.mark.parametrize("lied", [False, True])
def test_helpers_that_tests_call_are_the_prompts_and_not_the_programs(lied: bool) -> None:
    meta = {"test": BY_POLY, "entry_point": "root"}
    body = "    return -xs[0] / xs[1]\n"
    assert score(PROMPT + body, prompt=PROMPT, **meta).value == 1.0
    assert score(body, prompt=PROMPT, **meta).value == 1.0
    lie = "def poly(xs, x):\n    return 0.0\n\n\n" if lied else ""
    assert score(PROMPT + "    return 5.0\n\n\n" + lie, prompt=PROMPT, **meta).value == 0.0
