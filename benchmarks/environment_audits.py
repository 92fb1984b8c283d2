"""`verikit env audit` beside public checkers of environments, on the same folders.

    python -m benchmarks.environment_audits FOLDER [--harbor PROGRAM] [--openenv PROGRAM] [--seconds 15]

FOLDER is for the folders: sound ones of several shapes, and the same with one planted fault. PROGRAM is the command of
an installed checker (`pip install harbor`, `pip install openenv-core`, in an environment of their own). A fault is
found if the checker reports something that it does not report on the sound folder, and named if verikit's finding is
of a check that the fault belongs to. An alarm is a sound folder with a report. Nothing of the folders is built.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from benchmarks.environment_faults import FAULTS
from benchmarks.environment_folders import HARBOR, SOUND
from verikit.env.audit import audit_tasks

Checker = Callable[[Path], set[str]]
"""The reports on a folder, each as one line."""


def ours(seconds: float) -> Checker:
    """The failed checks of verikit, also of running ones."""

    def check(folder: Path) -> set[str]:
        records = audit_tasks(folder, run=True, seconds=seconds)
        return {name for one in records for name, check in one.checks.items() if check.findings}

    return check


def harbor(program: str) -> Checker:
    """`harbor lint`, by rule."""

    def check(folder: Path) -> set[str]:
        if not (folder / "task.toml").exists():
            return set()
        told = subprocess.run([program, "lint", "--json", str(folder)], capture_output=True, text=True, check=False)
        found = told.stdout[told.stdout.index("[") :] if "[" in told.stdout else "[]"
        return {one["rule"] for one in json.loads(found)}

    return check


def openenv(program: str) -> Checker:
    """`openenv validate`, by issue."""

    def check(folder: Path) -> set[str]:
        if not (folder / "openenv.yaml").exists():
            return set()
        told = subprocess.run([program, "validate", "--json", str(folder)], capture_output=True, text=True, check=False)
        return set(json.loads(told.stdout[told.stdout.index("{") :])["issues"])

    return check


def written(root: Path, name: str, make: Callable[[Path], object]) -> Path:
    """A new folder. Its last name is an identifier, which some formats need."""
    folder = root / "".join(c if c.isalnum() else "_" for c in name)
    if not folder.exists():
        folder.mkdir(parents=True)
        make(folder)
    return folder


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--harbor")
    parser.add_argument("--openenv")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each running check on each task")
    asked = parser.parse_args()
    checkers: dict[str, Checker] = {"verikit": ours(asked.seconds)}
    if asked.harbor:
        checkers["harbor lint"] = harbor(asked.harbor)
    if asked.openenv:
        checkers["openenv validate"] = openenv(asked.openenv)
    usual: dict[str, dict[str, set[str]]] = {}
    for name, make in SOUND.items():
        folder = written(asked.folder / "sound", name, make)
        usual[name] = {checker: check(folder) for checker, check in checkers.items()}
        for checker, told in usual[name].items():
            if told:
                print(f"alarm of {checker}: {name}: {sorted(told)}", flush=True)
    counts: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(("faults", "named", *checkers), 0))
    for name, fault in FAULTS.items():
        if asked.only not in name:
            continue
        folder = written(asked.folder / "faults", name, fault.make)
        base = f"harbor, {fault.base}" if fault.base in HARBOR else fault.base.replace(" ", ", ")
        told = {checker: check(folder) - usual[base][checker] for checker, check in checkers.items()}
        counts[fault.kind]["faults"] += 1
        counts[fault.kind]["named"] += bool(told["verikit"] & set(fault.checks))
        for checker, found in told.items():
            counts[fault.kind][checker] += bool(found)
        if not told["verikit"] & set(fault.checks):
            print(f"missed by verikit: {name}: {sorted(told['verikit'])}", flush=True)
    heads = ["fault", "folders", "verikit, right check", *(f"{checker}, any report" for checker in checkers)]
    print("|", " | ".join(heads), "|\n|", " | ".join("---" for _ in heads), "|")
    for kind, row in counts.items():
        print("|", " | ".join([kind, *(str(one) for one in row.values())]), "|")
    total = [sum(row[name] for row in counts.values()) for name in ("faults", "named", *checkers)]
    print("|", " | ".join(["all", *map(str, total)]), "|")
    alarms = {checker: sum(bool(told[checker]) for told in usual.values()) for checker in checkers}
    print(f"sound folders: {len(usual)}, with an alarm: {alarms}")


if __name__ == "__main__":
    main()
