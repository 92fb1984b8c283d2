"""`verikit env audit` beside public checkers of environments, on the same folders.

    python -m benchmarks.environment_audits FOLDER [--harbor PROGRAM] [--openenv PROGRAM] [--seconds 15]

FOLDER is for the folders: sound ones of several shapes, and the same with one planted fault. PROGRAM is the command of
an installed checker (`pip install harbor`, `pip install openenv-core`, in an environment of their own). A fault is
found by verikit if a check that the fault belongs to fails, and by another checker if it reports anything that it does
not report on the sound folder. An alarm is any report on a sound folder. No image is built.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.environment_faults import FAULTS
from benchmarks.environment_folders import HARBOR, SOUND
from verikit.env.audit import audit_tasks
from verikit.env.audit.running.run import LOOKS, RunningChecks
from verikit.env.audit.task import AuditedTask

Checker = Callable[[Path], set[str]]
"""The reports on a folder, each as one line."""


class Ours:
    """The failed checks of verikit: those that read files, and some or all of those that run a Harbor task."""

    def __init__(self, seconds: float) -> None:
        self._running = RunningChecks(seconds)

    def __enter__(self) -> Ours:
        self._running.__enter__()
        return self

    def __exit__(self, *given: object) -> None:
        self._running.__exit__(None, None, None)

    def __call__(self, folder: Path, names: Sequence[str] = tuple(LOOKS)) -> set[str]:
        """The names of the checks."""
        (record,) = audit_tasks(folder)
        found = dict(record.checks)
        if record.format == "harbor":
            found |= dict(
                self._running.check(AuditedTask.open(str(folder), ()), [one for one in LOOKS if one in names])
            )
        return {name for name, check in found.items() if check.findings}


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
    parser.add_argument("--seconds", type=float, default=60.0, help="of each running check on each task")
    asked = parser.parse_args()
    peers: dict[str, Checker] = {}
    if asked.harbor:
        peers["harbor lint"] = harbor(asked.harbor)
    if asked.openenv:
        peers["openenv validate"] = openenv(asked.openenv)
    with Ours(asked.seconds) as ours:
        _faults(asked.folder, ours, peers)
        _alarms(asked.folder, ours, peers)


def _faults(root: Path, ours: Ours, peers: Mapping[str, Checker]) -> None:
    counts: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(("folders", "verikit", *peers), 0))
    for name, fault in FAULTS.items():
        folder = written(root / "faults", name, fault.make)
        base = f"harbor, {fault.base}" if fault.base in HARBOR else fault.base.replace(" ", ", ")
        usual = written(root / "sound", base, SOUND[base])
        row = counts[fault.kind]
        row["folders"] += 1
        named = bool(ours(folder, fault.checks) & set(fault.checks))
        row["verikit"] += named
        if not named:
            print(f"missed by verikit: {name}", flush=True)
        for peer, check in peers.items():
            row[peer] += bool(check(folder) - check(usual))
    heads = ("fault", "folders", "verikit, right check", *(f"{peer}, any report" for peer in peers))
    print("|", " | ".join(heads), "|\n|", " | ".join("---" for _ in heads), "|")
    for kind, row in counts.items():
        print("|", " | ".join([kind, *map(str, row.values())]), "|")
    total = [sum(row[name] for row in counts.values()) for name in ("folders", "verikit", *peers)]
    print("|", " | ".join(["all", *map(str, total)]), "|", flush=True)


def _alarms(root: Path, ours: Ours, peers: Mapping[str, Checker]) -> None:
    alarms = dict.fromkeys(("verikit", *peers), 0)
    for name, make in SOUND.items():
        folder = written(root / "sound", name, make)
        for checker, check in (("verikit", ours), *peers.items()):
            told = check(folder)
            alarms[checker] += bool(told)
            if told:
                print(f"alarm of {checker}: {name}: {sorted(told)}", flush=True)
    print(f"sound folders: {len(SOUND)}, with an alarm: {alarms}")


if __name__ == "__main__":
    main()
