"""Code that a row brings along: what a reply makes it do is the reply's 0.0, broken code leaves the row unscored."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.verifiers.repositories import CALC, MENDED, ROWS, diff
from tests.verifiers.test_patch import score as patch_score
from verikit.types import Sample
from verikit.verifiers.code import checkers
from verikit.verifiers.code.verifier import Code
from verikit.verifiers.reading.row_faults import RowFaults

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")


def test_a_row_is_asked_once_however_many_replies_fail_together() -> None:
    asked, faults, gate = [], RowFaults(), threading.Event()

    def find() -> str:
        asked.append(1)
        gate.wait(30)
        return "broken"

    with ThreadPoolExecutor(8) as threads:
        found = [threads.submit(faults.of, ("row", 1), find) for _ in range(8)]
        gate.set()
        assert {each.result() for each in found} == {"broken"}
    assert len(asked) == 1
    assert faults.of(("row", 2), lambda: "") == ""


def test_a_probe_that_raises_is_asked_again_and_old_rows_are_forgotten() -> None:
    faults = RowFaults(most=2)
    with pytest.raises(OSError, match="full"):
        faults.of("a", lambda: (_ for _ in ()).throw(OSError("full")))
    assert faults.of("a", lambda: "found") == "found"
    for row in "bc":
        assert faults.of(row, lambda: "") == ""
    assert faults.of("a", lambda: "anew") == "anew"


CHECKERS = {
    "reads numbers": "def check(given, expected, output):\n    a, b = map(int, output.split())\n    return a + b == 7",
    "backtracks": "import re\ndef check(given, expected, output):\n    return bool(re.match('(3| |4)+$', output))\n",
    "indexes": "def check(given, expected, output):\n    return output.splitlines()[0].split()[1] == '4'\n",
}


@LINUX
@pytest.mark.parametrize("kind", CHECKERS)
@pytest.mark.parametrize("program", ["print('x')", "print('34 ' * 40 + 'x')", "", "print('9' * 9999)", "print('\\0')"])
def test_no_output_makes_a_working_checker_leave_a_program_unscored(kind: str, program: str) -> None:
    meta = {"tests": [{"input": "7", "output": "3 4"}], "checker": CHECKERS[kind]}
    scores = Code(wall_s=3).score([Sample(completion=text, meta=meta) for text in ("print(3, 4)", program)])
    assert [(score.value, score.status) for score in scores] == [(1.0, "ok"), (0.0, "ok")], scores


@LINUX
@pytest.mark.parametrize("body", ["return undefined", "return False", "raise SystemExit", "while True: pass"])
def test_a_checker_that_refuses_what_is_expected_is_the_rows_fault_and_tried_once(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    asked = checkers._asked
    monkeypatch.setattr(checkers, "_asked", lambda case, *rest: tried.append(rest[0]) or asked(case, *rest))
    checker = f"def check(given, expected, output):\n    if output == 'no\\n': return False\n    {body}\n"
    meta = {"tests": [{"input": "", "output": "3 4"}], "checker": checker}
    scores = [Code(wall_s=2)(f"print({text!r})", **meta) for text in ("3 4", "5", "6")]
    if body == "return False":  # a verdict: whether it is a right one is for who wrote the row
        assert [score.value for score in scores] == [0.0, 0.0, 0.0]
    else:
        assert [score.status for score in scores] == ["error"] * 3
        assert tried.count("3 4") == 1


SAYS = (
    "import os, sys, json\n_frame = sys._getframe()\nwhile 'say' not in _frame.f_locals: _frame = _frame.f_back\n"
    "_say = _frame.f_locals['say']\n_frame = None\n{0}\nos._exit(0)\n"
)
CLAIMS = {
    "a runner that is missing": "_say('missing', 'pytest is not installed')",
    "too few words": "_say('test')",
    "no kind": "_say()",
    "a count that is none": "_say('end', 'x', 'y', 'z')",
    "no JSON": "_c = dict(zip(_say.__code__.co_freevars, (c.cell_contents for c in _say.__closure__)))\n"
    "os.write(_c['record'], (_c['nonce'] + ' {{\\n').encode())",
    "JSON that nests": "_c = dict(zip(_say.__code__.co_freevars, (c.cell_contents for c in _say.__closure__)))\n"
    "os.write(_c['record'], (_c['nonce'] + ' ' + '[' * 99999 + '\\n').encode())",
}


@LINUX
@pytest.mark.parametrize("claim", CLAIMS)
def test_no_record_that_a_patch_writes_makes_it_unscored(claim: str) -> None:
    core = CALC["calc/core.py"] + SAYS.format(CLAIMS[claim])
    found = patch_score(diff(CALC, {"calc/core.py": core}), ROWS["calc"])
    assert (found.value, found.status) == (0.0, "ok"), found


@LINUX
def test_a_right_patch_passes_beside_these_claims() -> None:
    assert patch_score(diff(CALC, MENDED["calc"]), ROWS["calc"]).value == 1.0


WRITES = "import json, os\nos.write(3, json.dumps({{'status': 'ok', 'value': {0}}}).encode() + b'\\n')\nos._exit(0)"
ENDS = {
    "SkipTest": "import unittest\ndef f(x): raise unittest.SkipTest('x')",
    "pytest.skip": "import pytest\ndef f(x): pytest.skip('x')",
    "no tests": WRITES.format("['list', []]"),
    "no rows": WRITES.format("['list', [['list', [['int', '0x1']]]]]"),
    "no list": WRITES.format("['none']"),
}
FILES = {
    "unittest": "import unittest\nclass T(unittest.TestCase):\n    def test_f(self): self.assertEqual(f(3), 9)\n",
    "pytest": "import pytest\ndef test_f():\n    assert f(3) == 9\n",
}


@LINUX
@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("in_process", [False, True])
def test_no_program_makes_a_test_file_that_runs_leave_it_unscored(form: str, in_process: bool) -> None:
    verifier, tests = Code(in_process=in_process), FILES[form]
    assert verifier("def f(x): return x * x", tests=tests).value == 1.0
    for how, program in ENDS.items():
        found = verifier(program, tests=tests)
        assert (found.value, found.status) == (0.0, "ok"), (how, found)
    skipped = FILES["pytest"].replace("def", "@pytest.mark.skip\ndef")
    assert verifier("def f(x): return x * x", tests=skipped).status == "error"
