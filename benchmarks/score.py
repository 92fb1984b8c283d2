"""A million candidates through `verikit score -v exact`: rate, memory, and what a second process gains.

Runs 1 and 2 jobs in turn, `--rounds` times, and samples the resident memory of the main process and of each worker.
Bars: no process over 300 MB; the memory of the last quarter of a run within 25 % of its second quarter (the table of
ids, 64 MiB at most, still fills then; with `--candidates 3000000` it is full before); 2 jobs at least 1.7 times as fast
as 1. Where others use the machine, compare CPU seconds: on idle cores 2 jobs take about half of them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean

CANDIDATES_A_PROMPT = 8
MAX_MB, MIN_RATIO, MAX_GROWTH = 300, 1.7, 1.25
SAMPLE_S = 0.1


def generate(path: Path, candidates: int) -> None:
    rng = random.Random(0)
    with open(path, "w") as stream:
        for i in range(candidates // CANDIDATES_A_PROMPT):
            gold = str(rng.randrange(1000))
            found = [gold if rng.random() < 0.5 else str(rng.randrange(1000)) for _ in range(CANDIDATES_A_PROMPT)]
            row = {"id": f"p{i}", "prompt": f"What is {i}?" + " Think." * 10, "completions": found, "answer": gold}
            stream.write(json.dumps(row) + "\n")


def tree(pid: int) -> list[int]:
    """A process and its Python children (multiprocessing's resource tracker, which does no work, left out)."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(int(c) for c in children if b"spawn_main" in Path(f"/proc/{c}/cmdline").read_bytes())]


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(path: Path, out: Path, jobs: int) -> tuple[float, float, dict[int, list[float]]]:
    """Seconds of one run, CPU seconds of all its processes, and the memory of each over time (MB)."""
    command = [sys.executable, "-m", "verikit", "score", str(path), "-v", "exact", "-o", str(out), "--restart", "-q"]
    start, cpu = time.perf_counter(), cpu_seconds()
    run = subprocess.Popen([*command, "--jobs", str(jobs)], stdout=subprocess.DEVNULL)
    memory: dict[int, list[float]] = {}
    while run.poll() is None:
        try:
            for pid in tree(run.pid):
                memory.setdefault(pid, []).append(resident_mb(pid))
        except (OSError, IndexError):
            pass  # a process has just ended
        time.sleep(SAMPLE_S)
    seconds = time.perf_counter() - start
    assert run.returncode == 0, run.returncode
    return seconds, cpu_seconds() - cpu, memory


def cpu_seconds() -> float:
    """What all ended children took so far; theirs too, once they have waited for them."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def growth(samples: list[float]) -> float:
    quarter = len(samples) // 4
    return mean(samples[3 * quarter : 4 * quarter - 3]) / mean(samples[quarter : 2 * quarter])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "candidates.jsonl")
        generate(path, options.candidates)
        print(f"{options.candidates:,} candidates, {path.stat().st_size / 1e6:.0f} MB, load {os.getloadavg()[0]:.1f}")
        seconds: dict[int, list[float]] = {1: [], 2: []}
        peak = grown = 0.0
        for _ in range(options.rounds):
            for jobs in (1, 2):
                took, cpu, memory = measure(path, Path(folder, f"out{jobs}"), jobs)
                seconds[jobs].append(took)
                peaks = [max(samples) for samples in memory.values()]
                growths = [growth(samples) for samples in memory.values() if len(samples) > 20]
                peak, grown = max(peak, *peaks), max(grown, *growths)
                print(
                    f"jobs {jobs}: {took:5.1f} s, {options.candidates / took:9,.0f} candidates/s; CPU {cpu:5.1f} s; "
                    + "peak MB "
                    + ", ".join(f"{peak:.0f}" for peak in peaks)
                    + "; last quarter over second "
                    + ", ".join(f"{growth:.2f}" for growth in growths),
                    flush=True,
                )
        for name in ("scores.jsonl", "summary.json"):
            assert Path(folder, "out1", name).read_bytes() == Path(folder, "out2", name).read_bytes(), name
    each = [single / double for single, double in zip(seconds[1], seconds[2], strict=True)]
    best = min(seconds[1]) / min(seconds[2])
    print(f"2 jobs over 1: best of each {best:.2f}, by round {', '.join(f'{ratio:.2f}' for ratio in each)}")
    bars = {
        f"peak {peak:.0f} MB <= {MAX_MB}": peak <= MAX_MB,
        f"growth {grown:.2f} <= {MAX_GROWTH}": grown <= MAX_GROWTH,
        f"ratio {best:.2f} >= {MIN_RATIO}": best >= MIN_RATIO,
    }
    for name, met in bars.items():
        print("met   " if met else "MISSED", name)
    sys.exit(not all(bars.values()))


if __name__ == "__main__":
    main()
