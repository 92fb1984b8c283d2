"""Measure the sandbox against its bars: speed as ratios interleaved in one run, punctuality, litter, memory.

    python benchmarks/sandbox.py [speed|rows|late|litter|start|memory ...]

Without arguments all of them, in a few minutes. Needs Linux; pebble and bwrap rows appear where those are installed.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from languages import processor_seconds

from verikit.sandbox import Job, LocalSandbox, RunLimits, default_sandbox
from verikit.sandbox.bwrap import BwrapSandbox
from verikit.types import Sample
from verikit.verifiers.code.verifier import Code

TRIVIAL = "print(1+1)"
SYMPY = "import sympy\nx = sympy.Symbol('x')\nprint(sympy.solve(x**2 - 2))"
ROUNDS = 7


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def plain(code: str) -> object:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)


def pebble_program(code: str) -> None:
    exec(code, {})  # noqa: S102 - the benchmark's own text


def speed() -> None:
    """Programs a second as a multiple of `subprocess.run([python, "-c", code])`.

    The multiple is of as many subprocesses at a time as there are workers, and in brackets of one at a time: two
    workers that are as much faster as two subprocesses are have the same multiple as one worker, and twice the bracket.
    """
    print("ratio to as many subprocesses at a time (to one at a time), median of", ROUNDS, "interleaved rounds")
    for name, code, few in (("trivial", TRIVIAL, 10), ("sympy", SYMPY, 2)):
        for workers in (1, 2):
            ratios: dict[str, list[float]] = {}
            with LocalSandbox(workers=workers) as box, LocalSandbox(workers=workers, namespaces=False) as bare:
                boxes: dict[str, Any] = {"local": box, "local, no namespaces": bare}
                if shutil.which("bwrap"):
                    boxes["bwrap per run"] = BwrapSandbox(workers=workers)
                for warm in (box, bare):
                    warm.map([Job(code)] * workers)
                for _ in range(ROUNDS):
                    one_round(code, few, workers, boxes, ratios)
            alone = statistics.median(ratios.pop("alone"))
            cpu = statistics.median(ratios.pop("cpu")) * 1e3
            row = ", ".join(
                f"{label} {statistics.median(found):.2f}x ({statistics.median(found) * alone:.2f}x)"
                for label, found in ratios.items()
            )
            print(f"  {name}, {workers} worker(s): {row}; {cpu:.1f} ms of a processor in `local`", flush=True)


def one_round(code: str, few: int, workers: int, boxes: dict[str, Any], ratios: dict[str, list[float]]) -> None:
    with ThreadPoolExecutor(workers) as threads:
        base = timed(lambda: list(threads.map(lambda _: plain(code), range(few * workers)))) / (few * workers)
    alone = timed(lambda: [plain(code) for _ in range(few)]) / few
    ratios.setdefault("alone", []).append(alone / base)
    ran = boxes["local"].map([Job(code)] * few)
    ratios.setdefault("cpu", []).append(statistics.median(result.cpu_s for result in ran))
    for label, box in boxes.items():
        count = few * workers * (1 if label.startswith("bwrap") else 6)
        ratios.setdefault(label, []).append(base * count / timed(lambda: box.map([Job(code)] * count)))  # noqa: B023
    try:
        from pebble import ProcessPool
    except ImportError:
        return
    with ProcessPool(max_workers=workers, max_tasks=1) as pool, open(os.devnull, "w") as null:
        saved, sys.stdout = sys.stdout, null
        try:
            count = few * workers
            seconds = timed(lambda: list(pool.map(pebble_program, [code] * count).result()))
        finally:
            sys.stdout = saved
    ratios.setdefault("pebble max_tasks=1", []).append(base * count / seconds)


PROBLEMS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "total": ("def total(n):\n    return sum(range(n + 1))", [(n,) for n in range(7)]),
    "vowels": (
        "def vowels(s):\n    return sum(c in 'aeiou' for c in s.lower())",
        [(word,) for word in ("a", "be", "Iou", "xyz", "queue", "AEI", "z")],
    ),
    "rotate": (
        "from typing import List\n\ndef rotate(xs: List[int], k: int) -> List[int]:\n"
        "    k %= len(xs)\n    return xs[-k:] + xs[:-k]",
        [([1, 2, 3, 4], k) for k in range(1, 8)],
    ),
    "is_prime": (
        "import math\n\ndef is_prime(n):\n    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))",
        [(n,) for n in (1, 2, 9, 17, 91, 97, 100)],
    ),
    "words": (
        "from collections import Counter\n\ndef words(s):\n    return dict(Counter(s.split()))",
        [(text,) for text in ("a a b", "", "x", "x y", "b b", "c c c", "d e")],
    ),
}


def problems() -> list[dict[str, Any]]:
    """HumanEval-form rows of our own: a reference program and seven asserts in `check`."""
    found = []
    for name, (program, inputs) in PROBLEMS.items():
        scope: dict[str, Any] = {}
        exec(program, scope)  # noqa: S102 - the benchmark's own text
        lines = [f"    assert candidate({', '.join(map(repr, a))}) == {scope[name](*a)!r}" for a in inputs]
        test = "\n".join(["def check(candidate):", *lines])
        found.append({"entry_point": name, "test": test, "program": program})
    return found


def rows() -> None:
    """HumanEval-form rows graded a second with two workers, against one subprocess for a whole row with two workers.

    The last ratio is of CPU seconds, one row after another. It depends less on other work of the machine.
    """
    data = problems() * 20
    samples = [Sample(completion=row["program"], meta=row) for row in data]
    whole = [f"{row['program']}\n{row['test']}\ncheck({row['entry_point']})" for row in data[:20]]
    for verifier in (Code(), Code(children="row")):
        ratios, alone, rates, used = [], [], [], []
        assert all(score.value == 1 for score in verifier.score(samples[:8]))
        for _ in range(ROUNDS):
            with ThreadPoolExecutor(2) as threads:
                base = timed(lambda: list(threads.map(plain, whole))) / len(whole)
            single = timed(lambda: [plain(program) for program in whole[:10]]) / 10
            seconds = timed(lambda: verifier.score(samples)) / len(samples)  # noqa: B023
            alone.append(single / seconds)
            ratios.append(base / seconds)
            rates.append(1 / seconds)
            marks = [processor_seconds(default_sandbox())]
            for work in (lambda: [plain(program) for program in whole], lambda: verifier.score(samples[:20])):  # noqa: B023
                work()
                marks.append(processor_seconds(default_sandbox()))
            used.append((marks[1] - marks[0]) / (marks[2] - marks[1]))
        print(
            f"HumanEval-form rows, 7 asserts, a child per {verifier.children}: "
            f"{statistics.median(rates):.0f} a second, {statistics.median(ratios):.1f}x a subprocess per row "
            f"({statistics.median(alone):.1f}x one at a time), {statistics.median(used):.1f}x by CPU seconds",
            flush=True,
        )


def late() -> None:
    """How long after its wall-clock limit a loop's result is there."""
    with LocalSandbox(workers=1) as box:
        box.run("1")
        over = sorted(
            timed(lambda: box.run("while True: pass", limits=RunLimits(wall_s=0.1))) - 0.1 for _ in range(200)
        )
    median, p99, worst = (over[n] * 1e3 for n in (100, 197, 199))
    print(f"time-out overshoot over 200 runs: median {median:.1f} ms, p99 {p99:.1f} ms, worst {worst:.1f} ms")


MIXED = [
    "print('x')",
    "def f(): return {1: [2.5]}",
    "raise ValueError",
    "import os; os._exit(1)",
    "import os; os.abort()",
    "open('f', 'w').write('x' * 5000)",
    "import threading; [threading.Thread(target=print).start() for _ in range(4)]",
    "x = bytearray(1 << 33)",
    "import os\nfor _ in range(50): os.mkdir('d'); os.chdir('d')",
    "print('x' * (1 << 16))",
]


def litter(count: int = 10_000) -> None:
    """What is left of many mixed runs: processes, zombies, files, and how much the servers grew."""
    chance = random.Random(0)
    jobs = [
        Job("while True: pass", limits=RunLimits(wall_s=0.02)) if chance.random() < 0.01 else Job(chance.choice(MIXED))
        for _ in range(count)
    ]
    temporary = Path(tempfile.mkdtemp())
    os.environ["TMPDIR"] = str(temporary)
    for namespaces in (True, False):
        before = descendants(os.getpid())
        with LocalSandbox(workers=2, namespaces=namespaces) as box:
            box.map(jobs[:200])
            servers = [s._process.pid for idle in box._pool._idle.values() for s in idle]
            start = [resident(pid) for pid in servers]
            seconds = timed(lambda: box.map(jobs))
            now = [resident(pid) for pid in servers if os.path.exists(f"/proc/{pid}/statm")]
            zombies = sum(state == "Z" for pid in servers for state in descendants(pid).values())
            own = sum(len(descendants(pid)) for pid in servers)
        growth = max((b - a for a, b in zip(start, now, strict=False)), default=0.0)
        left = set(descendants(os.getpid())) - set(before)
        litter = len(list(temporary.iterdir()))
        print(
            f"{count} mixed runs in {seconds:.0f} s, namespaces {namespaces}: survivors {len(left)}, zombies {zombies},"
        )
        print(f"    children of idle servers {own}, temporary files {litter}, growth of a server {growth:.1f} MB")


def descendants(root: int) -> dict[int, str]:
    found: dict[int, str] = {}
    done = subprocess.run(["ps", "-eo", "pid=,ppid=,stat="], capture_output=True, text=True).stdout
    table = [(int(pid), int(parent), state[0]) for pid, parent, state in (line.split() for line in done.splitlines())]
    parents = {root}
    for pid, parent, state in table * 3:
        if parent in parents and pid not in parents:
            parents.add(pid)
            found[pid] = state
    return {pid: state for pid, state in found.items() if os.path.exists(f"/proc/{pid}")}


def resident(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / (1 << 20)


def start() -> None:
    """What the start-up probes take beyond starting a server."""
    script = """
import time
from verikit.sandbox import LocalSandbox, probes
from verikit.sandbox.pool import Pool
from verikit.sandbox.guest import source
LocalSandbox  # the imports are not what is measured
pool = Pool(1, paranoid=False)
a = time.perf_counter(); pool.give(pool.take(source('bare'), 0)); b = time.perf_counter(); pool.close()
c = time.perf_counter(); LocalSandbox(strict=True).close(); d = time.perf_counter()
print((d - c - (b - a)) * 1e3, (b - a) * 1e3)
"""
    found = [
        list(
            map(
                float,
                subprocess.run(
                    [sys.executable, "-c", script], capture_output=True, text=True, check=True
                ).stdout.split(),
            )
        )
        for _ in range(9)
    ]
    probes, server = (statistics.median(column) for column in zip(*found, strict=True))
    print(f"strict start-up: self-test {probes:.0f} ms beyond the start of a server ({server:.0f} ms)")


def memory() -> None:
    """Private memory of a child while a sympy program is in it."""
    code = SYMPY + "\nimport time; time.sleep(3)"
    with LocalSandbox(workers=1) as box, ThreadPoolExecutor(1) as thread:
        box.run(SYMPY)
        running = thread.submit(box.run, code, limits=RunLimits(wall_s=8))
        time.sleep(1.5)
        (server,) = (lent._process.pid for lent in box._pool._lent)
        (child,) = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        lines = Path(f"/proc/{child}/smaps_rollup").read_text().splitlines()[1:]
        kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
        running.result()
    private = (kilobytes["Private_Dirty"] + kilobytes["Private_Clean"]) / 1024
    print(f"a running sympy child: {private:.1f} MB private, {kilobytes['Pss'] / 1024:.1f} MB proportional")


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["speed", "rows", "late", "litter", "start", "memory"]
    for name in chosen:
        {"speed": speed, "rows": rows, "late": late, "litter": litter, "start": start, "memory": memory}[name]()
