"""SIGKILL at random moments, the same command again each time: the output must be that of an uninterrupted run.

Kills the main process of `verikit score` (its workers must die with it), at moments drawn with a seed over the time an
uninterrupted run takes; with 1 and with 2 jobs.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from score import generate, tree


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


def kill_at(command: list[str], moment: float) -> bool:
    """Run a command for so many seconds and kill it; whether it was still running. Its workers must be gone soon."""
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        run.wait(moment)
    except subprocess.TimeoutExpired:
        processes = tree(run.pid)
        run.send_signal(signal.SIGKILL)
        run.wait()
        deadline = time.monotonic() + 5
        while any(Path(f"/proc/{pid}").exists() for pid in processes):
            assert time.monotonic() < deadline, "a worker survived its parent"
            time.sleep(0.01)
        return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=80_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "candidates.jsonl")
        generate(path, options.candidates)
        base = [sys.executable, "-m", "verikit", "score", str(path), "-v", "exact", "--select", "majority", "-q"]
        start = time.perf_counter()
        subprocess.run([*base, "-o", f"{folder}/whole"], check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        whole = content(Path(folder, "whole"))
        for jobs in (1, 2):
            out = Path(folder, f"out{jobs}")
            command = [*base, "-o", str(out), "--jobs", str(jobs)]
            killed, indices = 0, set()
            for _ in range(options.kills):
                hit = kill_at(command, rng.uniform(0.3, 0.3 + seconds / 4))
                killed += hit
                indices.add((out / "scores.jsonl").stat().st_size if (out / "scores.jsonl").exists() else 0)
                if not hit:  # it came to its end: begin another
                    assert content(out) == whole, "a resumed run differs"
                    subprocess.run(["rm", "-r", str(out)], check=True)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            same = content(out) == whole
            print(f"jobs {jobs}: {options.kills} runs, {killed} killed, at {len(indices)} places; same bytes: {same}")
            assert same
    print(f"an uninterrupted run of {options.candidates:,} candidates takes {seconds:.1f} s")


if __name__ == "__main__":
    main()
