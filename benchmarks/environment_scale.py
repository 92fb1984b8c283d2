"""`verikit env audit` on many tasks: CPU seconds and peak memory, and a run that is killed and resumed.

    python benchmarks/environment_scale.py FOLDER [--tasks 10000]

FOLDER is for the tasks and reports. The killed audit gets SIGKILL after two fifths of the tasks.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

sound = import_module("tests.env.audit.harbor_tasks").sound  # tests have no types


def audit(root: Path, out: str) -> subprocess.Popen[bytes]:
    """Start an audit."""
    words = [sys.executable, "-m", "verikit", "env", "audit", str(root / "tasks"), "-o", str(root / out), "-q"]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL)


def report(root: Path, out: str) -> Any:
    """A report without seconds."""
    told = json.loads((root / out / "env-audit.json").read_bytes())
    for task in told["tasks"]:
        del task["seconds"]
    return told


def used() -> float:
    """CPU seconds of all children so far."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", type=int, default=10_000)
    asked = parser.parse_args()
    root: Path = asked.folder.absolute()
    for number in range(asked.tasks):
        if not (root / f"tasks/t{number:05}").exists():
            sound(root / f"tasks/t{number:05}", number)
    for name in ("fresh", "unchanged"):
        before = used()
        audit(root, "whole").wait()
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"{name}: {asked.tasks:,} tasks, {used() - before:.1f} CPU s, peak {peak:.0f} MiB", flush=True)
    records = root / "killed/.tasks/tasks.jsonl"
    killed = audit(root, "killed")
    while killed.poll() is None and (not records.exists() or records.read_bytes().count(b"\n") < 0.4 * asked.tasks):
        time.sleep(0.5)
    killed.kill()
    killed.wait()
    kept = records.read_bytes().count(b"\n")
    before = used()
    audit(root, "killed").wait()
    same = report(root, "killed") == report(root, "whole")
    print(f"killed after {kept:,} tasks: the rest in {used() - before:.1f} CPU s, the same report: {same}")


if __name__ == "__main__":
    main()
