"""`verikit score -v answer` with two local processes and with two actors of a local Ray: same bytes, and Ray's cost.

Runs both in turn on `--rows` prompts of one candidate each, and compares the folders byte by byte. Ray's start is
measured apart, since a cluster is there already. CPU seconds are those of the command itself, and of all below it:
workers, and Ray's own processes. Needs the extra ray.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RAY = """
import sys, time
start = time.perf_counter()
import ray
ray.init(num_cpus=2, include_dashboard=False, object_store_memory=200 * 2**20, log_to_driver=False)
print("START", time.perf_counter() - start, file=sys.stderr)
start = time.perf_counter()
import verikit.cli as cli
cli.cli.main(sys.argv[1:], standalone_mode=False)
print("SCORE", time.perf_counter() - start, file=sys.stderr)
ray.shutdown()
"""


def generate(path: Path, rows: int) -> None:
    rng = random.Random(0)
    with open(path, "w") as stream:
        for i in range(rows):
            a, b = rng.randrange(1, 1000), rng.randrange(1, 1000)
            said = a + b if rng.random() < 0.6 else a + b + rng.randrange(1, 9)
            text = f"First I add {a} and {b}. " * rng.randrange(5, 15) + f"So the answer is \\boxed{{{said}}}."
            row = {"id": f"r{i}", "prompt": f"{a} + {b}?", "completions": [text], "answer": str(a + b)}
            stream.write(json.dumps(row) + "\n")


def run(command: list[str]) -> tuple[float, float, float, str]:
    """Wall seconds, CPU seconds of the command itself and of all it started, and what stderr says."""
    begun = time.perf_counter()
    with tempfile.TemporaryFile("w+") as stream:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stream)
        seconds: dict[int, float] = {}
        while process.poll() is None:
            for pid in tree(process.pid):
                seconds[pid] = cpu_of(pid) or seconds.get(pid, 0.0)
            time.sleep(0.2)
        wall = time.perf_counter() - begun
        stream.seek(0)
        text = stream.read()
    if process.returncode:
        sys.exit(text)
    return wall, seconds.pop(process.pid), sum(seconds.values()), text


def tree(pid: int) -> list[int]:
    """A process and all below it; Ray's actors are children of its raylet."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [pid, *(below for child in children for below in tree(int(child)))]


def cpu_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def told(text: str, key: str) -> float:
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(key))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        generate(folder / "in.jsonl", options.rows)
        print(f"{options.rows:,} rows, {(folder / 'in.jsonl').stat().st_size / 2**20:.0f} MiB")
        plan = ["score", str(folder / "in.jsonl"), "-q", "--fail-over", "100%"]
        for name, command in (
            ("--jobs 1", [sys.executable, "-m", "verikit", *plan, "-o", str(folder / "one")]),
            ("--jobs 2", [sys.executable, "-m", "verikit", *plan, "--jobs", "2", "-o", str(folder / "two")]),
            ("--jobs ray:2", [sys.executable, "-c", RAY, *plan, "--jobs", "ray:2", "-o", str(folder / "ray")]),
        ):
            wall, own, below, text = run(command)
            line = (
                f"{name}: {options.rows / wall:,.0f} rows/s, wall {wall:.1f} s, CPU {own:.1f} s and {below:.1f} s below"
            )
            if "START" in text:
                seconds = told(text, "SCORE")
                line += f"; Ray's start {told(text, 'START'):.1f} s,"
                line += f" scoring {seconds:.1f} s ({options.rows / seconds:,.0f} rows/s)"
            print(line)
        same = all(
            (folder / name / file.name).read_bytes() == file.read_bytes()
            for name in ("two", "ray")
            for file in (folder / "one").iterdir()
            if file.name != ".lock"
        )
        print("same bytes" if same else "THE FOLDERS DIFFER")
        sys.exit(not same)


if __name__ == "__main__":
    main()
