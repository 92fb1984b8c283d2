"""Steps an hour of the recipes' tiny worlds, this code against another checkout's, side by side.

    python benchmarks/recipe_speed.py RUNS --against CHECKOUT [--only absolute-zero-tiny …] [--steps 12] [--seeds 0]

For each seed this code warms a recipe up in RUNS (once: a second call starts with the steps), and both codes go on from
copies of that checkpoint, each in a process of its own. They take their steps in turn, never at the same time, so what
else the machine does meets both alike. Of each step are taken its wall seconds and the CPU seconds of the whole tree of
processes, the sandbox's among them; the first step, which fills buffers, is left out. Ratios are of pairs of steps:
above 1, this code is faster. `steps an hour` is by CPU seconds, of one processor. What the last step's policy scores on
held-out problems is told beside, and the number of steps whose metrics (but times) are the other's to the last bit.

Without `--against` only this code runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

FIRST = {"absolute-zero-tiny": 1, "spice-tiny": 1, "r1-searcher-tiny": 1}
"""Steps of the warm checkpoint."""
HERE = Path(__file__).resolve().parents[1]
_TIMES = ("seconds", "tokens_per_second", "memory_mb")
Row = dict[str, Any]


def cpu_seconds(pid: int) -> float:
    """CPU seconds of a process and its descendants so far, those that have ended and been waited for among them."""
    ticks, parents = dict[int, int](), dict[int, int]()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        parents[int(name)], ticks[int(name)] = int(fields[1]), sum(map(int, fields[11:15]))
    members, found = [pid], 0
    while members:
        member = members.pop()
        found += ticks.get(member, 0)
        members += [child for child, parent in parents.items() if parent == member]
    return found / os.sysconf("SC_CLK_TCK")


def work(name: str, path: Path, steps: int, seed: int, changes: Sequence[str], *, turns: bool) -> None:
    """Train up to a step, from the last checkpoint; with `turns` each step waits for a line of standard input."""
    from verikit.trainers.config import load_config
    from verikit.trainers.distributed import World
    from verikit.trainers.grpo import Trainer
    from verikit.trainers.run import RunFolder

    spent = 0.0

    def report(row: Row) -> None:
        nonlocal spent
        if not turns:
            return
        now = cpu_seconds(os.getpid())
        print(json.dumps({**row, "cpu": now - spent}), flush=True)
        sys.stdin.readline()
        spent = cpu_seconds(os.getpid())

    every = ["run.evaluate_every=0", "run.save_every=1000000"]
    config = load_config(name, [f"run.steps={steps}", f"seed={seed}", *every, *changes])
    folder = RunFolder(path)
    trainer = Trainer(config, folder, World(), report)
    trainer.resume()
    report({"phase": "ready"})
    trainer.run()
    trainer.close()
    folder.close()


class Worker:
    """A checkout's process."""

    def __init__(self, checkout: Path, arguments: Sequence[str]) -> None:
        environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), *arguments], env=environment, cwd=checkout,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def next(self) -> Row | None:
        """Wait for the next row; None at the end."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line and self._process.wait():
            raise SystemExit(f"a worker ended with {self._process.returncode}")
        row: Row | None = json.loads(line) if line else None
        return row

    def go_on(self) -> None:
        """Have it do its next step."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()


def in_turns(workers: Mapping[str, Worker]) -> dict[str, list[Row]]:
    """Run the workers a step at a time, and return their rows."""
    rows: dict[str, list[Row]] = {label: [] for label in workers}
    for worker in workers.values():
        worker.next()
    left = list(workers)
    while left:
        for label in list(left):
            workers[label].go_on()
            row = workers[label].next()
            if row is None:
                left.remove(label)
            else:
                rows[label].append(row)
        left.reverse()
    return rows


def is_timing(key: str) -> bool:
    """Whether a metric says how long something took, or how much memory."""
    return key == "cpu" or key.startswith(_TIMES)


def span(values: Sequence[float], digits: int) -> str:
    """Write a median and the range."""
    low, middle, high = min(values), median(values), max(values)
    return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def told(rows: Mapping[str, list[Row]]) -> None:
    """Print what was measured of one seed."""
    steps = {label: [row for row in found if "seconds_step" in row][1:] for label, found in rows.items()}
    for label, found in steps.items():
        cpu, wall = [row["cpu"] for row in found], [row["seconds_step"] for row in found]
        collect = [row["seconds_collect"] / row["seconds_step"] for row in found]
        print(f"  {label:6} steps an hour {3600 / median(cpu):8.0f}   CPU s {span(cpu, 2)}   wall s {span(wall, 2)}"
              f"   collect {span(collect, 2)}")  # fmt: skip
        for row in rows[label]:
            held_out = {key.removeprefix("held-out/"): row[key] for key in row if key.startswith("held-out/")}
            plain = [f"{key} {value:.3f}" for key, value in held_out.items() if "/" not in key]
            if plain:
                print(f"  {'':6} held out, step {row['step']}: {', '.join(plain)}")
    if len(steps) == 2:
        this, other = steps.values()
        pairs = list(zip(this, other, strict=True))
        same = [all(a[key] == b[key] for key in a.keys() & b.keys() if not is_timing(key)) for a, b in pairs]
        print(f"  faster by CPU {span([b['cpu'] / a['cpu'] for a, b in pairs], 2)}"
              f"   by wall {span([b['seconds_step'] / a['seconds_step'] for a, b in pairs], 2)}"
              f"   same metrics in {sum(same)} of {len(same)} steps", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--against", type=Path, help="root of another checkout")
    parser.add_argument("--only", nargs="*", choices=FIRST, default=list(FIRST))
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--set", action="append", default=[], dest="changes", help="KEY=VALUE of the config")
    parser.add_argument("--worker", choices=("warm", "step"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return work(given.only[0], given.runs, given.steps, given.seeds[0], given.changes, turns=given.worker == "step")
    checkouts = {"this": HERE} | ({"other": given.against.resolve()} if given.against else {})
    for name in given.only:
        for seed in given.seeds:
            warm = given.runs.resolve() / f"{name}-{seed}"
            common = ["--only", name, "--seeds", str(seed), *(f"--set={change}" for change in given.changes)]
            if not (warm / "checkpoints").exists():
                Worker(HERE, [str(warm), *common, "--worker=warm", f"--steps={FIRST[name]}"]).next()
            with tempfile.TemporaryDirectory() as folder:
                workers = {}
                for label, checkout in checkouts.items():
                    path = shutil.copytree(warm, Path(folder) / label)
                    last = f"--steps={FIRST[name] + given.steps}"
                    workers[label] = Worker(checkout, [str(path), *common, "--worker=step", last])
                print(f"{name}, seed {seed}, {given.steps} steps", flush=True)
                told(in_turns(workers))


if __name__ == "__main__":
    main()
