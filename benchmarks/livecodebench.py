"""`verikit_livecodebench` beside LiveCodeBench's own runner, on made programs: every verdict, and its estimates.

    python -m benchmarks.livecodebench [TESTING_UTIL.PY]

Without a file, the runner's rules are put down again here (`lcb_runner/evaluation/testing_util.py` and
`pass_k_utils.py`); with one, that file is run instead. Either runs the programs below, which are harmless, in a process
of its own.
"""

from __future__ import annotations

import base64
import json
import pickle
import random
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

from verikit import Sample
from verikit.verifiers.code.verifier import Code

Row = dict[str, Any]
RUNNER = '''
import ast, io, json, sys
from decimal import Decimal
from types import ModuleType
from unittest.mock import mock_open, patch

names = """string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys
json builtins typing""".split()
head = "".join(f"from {n} import *\\n" for n in names) + "".join(f"import {n}\\n" for n in names[:16])
head += "sys.setrecursionlimit(50000)\\n"

class Buffer:
    def __init__(self, text): self.data = text.encode()
    def read(self, *args): return self.data
    def readline(self, *args): return self.data.split(b"\\n")[0] + b"\\n"

class Stdin:
    def __init__(self, text): self.text, self.stream, self.buffer = text, io.StringIO(text), Buffer(text)
    def read(self, *args): return self.text
    def readline(self, *args): return self.stream.readline(*args)
    def readlines(self, *args): return self.text.split("\\n")
    def __getattr__(self, name): return getattr(self.stream, name)

def held(code):
    module = ModuleType("tmp_sol", "")
    exec(code, module.__dict__)
    return module.Solution() if "class Solution" in code else module

def wrapped(code):
    try:
        tree = ast.parse(code)
        if isinstance(tree.body[-1], ast.If) and ast.unparse(tree.body[-1].test).strip() == "__name__ == '__main__'":
            code = ast.unparse(tree.body[:-1]) + "\\n" + ast.unparse(tree.body[-1].body)
    except Exception:
        pass
    try:
        body = ast.parse(code).body
        kinds = (ast.Import, ast.ImportFrom)
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        rest = [n for n in body if not isinstance(n, kinds)]
        made = ast.FunctionDef(name="wrapped_function", args=nothing, body=rest, decorator_list=[], lineno=-1)
        imports = ast.unparse([n for n in body if isinstance(n, kinds)])
        return head + "\\n" + imports + "\\n" + ast.unparse(made) + "\\n"
    except Exception:
        return code

def printed(method, text):
    lines = iter(text.split("\\n"))
    @patch("builtins.open", mock_open(read_data=text))
    @patch("sys.stdin", Stdin(text))
    @patch("sys.stdin.readline", lambda *args: next(lines))
    @patch("sys.stdin.readlines", lambda *args: text.split("\\n"))
    @patch("sys.stdin.read", lambda *args: text)
    def inner():
        try:
            method()
        except SystemExit:
            pass
    real, sys.stdout = sys.stdout, io.StringIO()
    sys.stdout.close = lambda x: 1
    try:
        inner()
        return sys.stdout.getvalue()
    finally:
        sys.stdout = real

def decimals(line):
    return [Decimal(word) for word in line.split()]

def alike(got, wanted):
    a, b = ([line.strip() for line in text.strip().split("\\n")] for text in (got, wanted))
    return len(a) == len(b) and all(x == y or decimals(x) == decimals(y) for x, y in zip(a, b))

def right(sample, code):
    name = sample["fn_name"]
    method = getattr(held(head + "\\n\\n" + code if name else wrapped(code)), name or "wrapped_function")
    for given, wanted in zip(sample["inputs"], sample["outputs"]):
        if name:
            value = method(*map(json.loads, given.split("\\n")))
            value = list(value) if isinstance(value, tuple) else value
            if not value == json.loads(wanted):
                return False
        elif not alike(printed(method, given), wanted):
            return False
    return True
'''
MAIN = """
import builtins, os
builtins.quit = None
sample, code, sys.stdin = SAMPLE, CODE, open(os.devnull)
try:
    verdict = right(sample, code)
except BaseException:
    verdict = False
os.write(2, b"verdict:" + str(bool(verdict)).encode())
"""
FILE_MAIN = """
import importlib.util, json, os, sys
spec = importlib.util.spec_from_file_location("testing_util", PATH)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
sys.stdin, write = open(os.devnull), os.write
try:
    found, _ = module.run_test({"input_output": json.dumps(SAMPLE)}, test=CODE, debug=False, timeout=6)
    verdict = all(value > 0 for value in found)
except BaseException:
    verdict = False
write(2, b"verdict:" + str(bool(verdict)).encode())
"""
STDIN = [("3\n1 2 3\n", "6\n"), ("2\n10 -4\n", "6\n"), ("1\n7\n", "7\n")]
"""Sums of numbers, the first line their count."""
PIPED = [
    "n = int(input())\nprint(sum(map(int, input().split())))",
    "import sys\ndef main():\n    data = sys.stdin.read().split()\n    print(sum(map(int, data[1:])))\n"
    "if __name__ == '__main__':\n    main()",
    "total = 0\ndef add(x):\n    global total\n    total += x\nn = int(input())\nfor x in input().split():\n"
    "    add(int(x))\nprint(total)",
    "import sys\nlines = [line for line in sys.stdin]\nprint(sum(map(int, lines[1].split())))",
    "import sys\nread = sys.stdin.buffer.readline\nn = int(read())\nprint(sum(map(int, read().split())))",
    "import sys\ndata = sys.stdin.buffer.read().split()\nprint(sum(map(int, data[1:])))",
    "from sys import stdin\nn = int(stdin.readline())\nprint(sum(map(int, stdin.readline().split())))",
    "from sys import stdin, stdout\nn = int(stdin.readline())\n"
    "stdout.write(str(sum(map(int, stdin.readline().split()))))",
    "import sys\nn = int(input())\nsys.stdout.write(f'{sum(map(int, input().split()))}')\nsys.exit(3)",
    "n = int(input())\nprint(sum(map(int, input().split())))\nquit()",
    "n = int(input())\nprint(sum(map(int, input().split())))\nexit()",
    "data = open(0).read().split()\nprint(sum(map(int, data[1:])))",
    "n = int(input())\nprint(f'  {sum(map(int, input().split()))}.000  \\n\\n')",
    "n = int(input())\nprint(sum(map(int, input().split())), end='')\nprint()\nprint()",
    "n = int(input())\nprint('6')",
    "n = int(input())\nprint(max(map(int, input().split())))",
    "n = int(input())\nprint(sum(map(int, input().split())))\nraise ValueError",
    "n = int(input())\nprint('sum', sum(map(int, input().split())))",
    "class Solution:\n    pass\nn = int(input())\nprint(sum(map(int, input().split())))",
    "import sys\nsys.stdout.buffer.write(b'6')",
    "n = int(input())\nd = deque(map(int, input().split()))\nprint(reduce(add, d))",
    "n = int(input()\nprint(n)",
    "def solve(k):\n    return 0 if k == 0 else values[k - 1] + solve(k - 1)\nn = int(input())\n"
    "values = list(map(int, input().split()))\nprint(solve(n))",
    "",
    "import os\nn = int(input())\nos.write(1, str(sum(map(int, input().split()))).encode())",
    "import sys\nn = int(input())\nprint(sum(map(int, input().split())), file=sys.__stdout__)",
    "import os\nn = int(input())\nprint(sum(map(int, input().split())))\nos.write(1, b'debug')",
    "import atexit\nn = int(input())\ntotal = sum(map(int, input().split()))\natexit.register(lambda: print(total))",
    "import atexit\nn = int(input())\nprint(sum(map(int, input().split())))\natexit.register(lambda: print('debug'))",
    "import threading, time\nn = int(input())\ntotal = sum(map(int, input().split()))\n"
    "threading.Thread(target=lambda: (time.sleep(0.5), print(total))).start()",
    "import threading, time\nn = int(input())\nprint(sum(map(int, input().split())))\n"
    "threading.Thread(target=lambda: (time.sleep(0.5), print('debug'))).start()",
    "import threading\nn = int(input())\ntotal = sum(map(int, input().split()))\n"
    "thread = threading.Thread(target=lambda: print(total))\nthread.start()\nthread.join()",
    "import sys\nn = int(input())\nprint(sum(map(int, input().split())))\nsys.stdout.close()",
    "import sys\nn = int(input())\nprint(sum(map(int, input().split())))\nsys.stderr.write('x' * 10**6)",
]
CALLS = [("[1, 2]\n3", "[1, 2, 3]"), ("[]\n1", "[1]"), ("[5]\n5", "[5, 5]")]
"""Lists with a number put behind."""
CALLED = [
    "class Solution:\n    def put(self, a: List[int], b: int) -> List[int]:\n        return a + [b]",
    "class Solution:\n    def put(self, a, b):\n        return tuple(a + [b])",
    "class Solution:\n    def put(self, a, b):\n        return [float(x) for x in a + [b]]",
    "class Solution:\n    def put(self, a, b):\n        a.append(b)",
    "class Solution:\n    def put(self, a, b):\n        return deque(a + [b])",
    "def put(a, b):\n    return a + [b]",
    "class Other:\n    def put(self, a, b):\n        return a + [b]",
    "class Solution:\n    def __init__(self):\n        input()\n    def put(self, a, b):\n        return a + [b]",
    "class Solution:\n    def put(self, a, b):\n        print('noise')\n        return a + [b]",
    "class Solution:\n    def put(self, a, b):\n        return str(a + [b])",
    "class Solution:\n    def put(self, a):\n        return a",
    "class Solution:\n    def put(self, a, b):\n        return a + [b]\nif __name__ == '__main__':\n    1 / 0",
    "class Solution:\n    def put(self, a, b):\n        print('x' * 2_000_000)\n        return a + [b]",
]


def packed(text: str) -> str:
    """A text as LiveCodeBench packs its private tests."""
    return base64.b64encode(zlib.compress(pickle.dumps(text))).decode()


def row(tests: Sequence[tuple[str, str]], function: str = "", **columns: Any) -> Row:
    """A row in the form it is published in: the first test is public, the others are packed."""
    kind = "functional" if function else "stdin"
    cases = [{"input": given, "output": wanted, "testtype": kind} for given, wanted in tests]
    return {
        "public_test_cases": json.dumps(cases[:1]),
        "private_test_cases": packed(json.dumps(cases[1:])),
        "metadata": json.dumps({"func_name": function} if function else {}),
        **columns,
    }


def official(tests: Sequence[tuple[str, str]], function: str, program: str, file: str = "") -> bool:
    """The runner's verdict on a program."""
    inputs, outputs = [given for given, _ in tests], [wanted for _, wanted in tests]
    sample = {"inputs": inputs, "outputs": outputs, "fn_name": function or None}
    names = f"SAMPLE, CODE, PATH = {sample!r}, {program!r}, {file!r}\n"
    code = names + (FILE_MAIN if file else RUNNER + MAIN)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
    return done.stderr.rpartition("verdict:")[2].strip() == "True"


def extracted(reply: str) -> str:
    """The program that the runner takes from a reply: between the last two lines with fences."""
    lines = reply.split("\n")
    fences = [n for n, line in enumerate(lines) if "```" in line]
    return "\n".join(lines[fences[-2] + 1 : fences[-1]]) if len(fences) > 1 else ""


def estimate(n: int, c: int, k: int) -> float:
    """pass@k of a problem, as `pass_k_utils` has it."""
    return 1.0 if n - c < k else 1.0 - prod(1.0 - k / i for i in range(n - c + 1, n + 1))


def verdicts(replies: Sequence[tuple[str, Row]]) -> list[float | None]:
    """The task's verdicts on replies."""
    verifier = Code(preset="livecodebench", wall_s=6, row_s=705, memory_mb=4096)
    return [score.value for score in verifier.score([Sample("", text, meta=held) for text, held in replies])]


def main() -> None:
    """Compare all verdicts, and print those that differ."""
    file = sys.argv[1] if len(sys.argv) > 1 else ""
    made = [(program, STDIN, "") for program in PIPED] + [(program, CALLS, "put") for program in CALLED]
    draw = random.Random(0)
    frames = ["```python\n{}\n```", "First\n```\nx = 1\n```\nthen\n```python\n{}\n```\nDone.", "{}", "```python\n{}"]
    replies = [draw.choices(frames, [8, 2, 1, 1])[0].replace("{}", program) for program, _, _ in made]
    wanted = [
        official(tests, name, extracted(reply), str(Path(file).resolve()) if file else "")
        for reply, (_, tests, name) in zip(replies, made, strict=True)
    ]
    found = verdicts([(reply, row(tests, name)) for reply, (_, tests, name) in zip(replies, made, strict=True)])
    differ = [reply for reply, own, other in zip(replies, found, wanted, strict=True) if own != float(other)]
    print(f"{len(differ)} of {len(replies)} verdicts differ; {sum(wanted)} are right there")
    for reply in differ:
        print(repr(reply))
    assert not differ


if __name__ == "__main__":
    main()
