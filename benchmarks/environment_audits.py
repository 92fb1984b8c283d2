"""`verikit env audit` beside public checkers of environments, on the same folders.

    python benchmarks/environment_audits.py FOLDER [--harbor PROGRAM] [--openenv PROGRAM]
        [--gradecheck PROGRAM] [--peers] [--seconds 15]

FOLDER is for the folders: sound ones of several shapes, and the same with one planted fault. PROGRAM is the command of
an installed checker, in an environment of its own: `pip install harbor`, `pip install openenv-core`, or
`pip install gradecheck verifiers==0.1.9`. `--peers` runs only those. A fault is found by verikit if a check that the
fault belongs to fails, and by another checker if it reports anything that it does not report on the sound folder. An
alarm is any report on a sound folder. No image is built.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from environment_faults import FAULTS
from environment_folders import HARBOR, SOUND
from environment_gradecheck import gradecheck

from verikit.env.audit import audit_tasks
from verikit.env.audit.running.run import LOOKS, RunningChecks
from verikit.env.audit.task import AuditedTask

Reports = Mapping[Path, set[str]]
"""What a checker reports on each folder."""


class Ours:
    """The failed checks of verikit: those that read files, and some or all of those that run a Harbor task."""

    def __init__(self, seconds: float, off: bool = False) -> None:
        self.off = off
        self._running = RunningChecks(seconds)

    def __enter__(self) -> Ours:
        self._running.__enter__()
        return self

    def __exit__(self, *given: object) -> None:
        self._running.__exit__(None, None, None)

    def __call__(self, folder: Path, names: Sequence[str] = tuple(LOOKS)) -> set[str]:
        """The names of the checks."""
        if self.off:
            return set()
        (record,) = audit_tasks(folder)
        found = dict(record.checks)
        if record.format == "harbor":
            found |= dict(
                self._running.check(AuditedTask.open(str(folder), ()), [one for one in LOOKS if one in names])
            )
        return {name for name, check in found.items() if check.findings}


def harbor(program: str, folders: Sequence[Path]) -> dict[Path, set[str]]:
    """`harbor lint` on the Harbor tasks among some folders, by rule."""
    tasks = [folder for folder in folders if (folder / "task.toml").exists()]
    words = [program, "lint", "--json", *map(str, tasks)]
    told = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    found: dict[Path, set[str]] = {folder: set() for folder in folders}
    for one in json.loads(told[told.index("[") :]):
        for folder in {*Path(one["path"]).parents, Path(one["path"])} & found.keys():
            found[folder].add(one["rule"])
    return found


def openenv(program: str, folders: Sequence[Path]) -> dict[Path, set[str]]:
    """`openenv validate` on the OpenEnv folders among some, by issue."""
    found: dict[Path, set[str]] = {folder: set() for folder in folders}
    for folder in folders:
        if (folder / "openenv.yaml").exists():
            words = [program, "validate", "--json", str(folder)]
            told = subprocess.run(words, capture_output=True, text=True, check=False).stdout
            found[folder] = set(json.loads(told[told.index("{") :])["issues"])
    return found


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
    parser.add_argument("--gradecheck")
    parser.add_argument("--peers", action="store_true", help="run the other checkers only")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each running check on each task")
    asked = parser.parse_args()
    root: Path = asked.folder.absolute()
    sound = {name: written(root / "sound", name, make) for name, make in SOUND.items()}
    faulty = {name: written(root / "faults", name, fault.make) for name, fault in FAULTS.items()}
    every = [*sound.values(), *faulty.values()]
    peers: dict[str, Reports] = {}
    if asked.harbor:
        peers["harbor lint"] = harbor(asked.harbor, every)
    if asked.openenv:
        peers["openenv validate"] = openenv(asked.openenv, every)
    if asked.gradecheck:
        peers["gradecheck"] = gradecheck(asked.gradecheck, every)
    with Ours(asked.seconds, asked.peers) as ours:
        _faults(sound, faulty, ours, peers)
        _alarms(sound, ours, peers)


def _faults(sound: Mapping[str, Path], faulty: Mapping[str, Path], ours: Ours, peers: Mapping[str, Reports]) -> None:
    counts: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(("folders", "verikit", *peers), 0))
    for name, fault in FAULTS.items():
        usual = sound[f"harbor, {fault.base}" if fault.base in HARBOR else fault.base.replace(" ", ", ")]
        row = counts[fault.kind]
        row["folders"] += 1
        named = bool(ours(faulty[name], fault.checks) & set(fault.checks))
        row["verikit"] += named
        if not (named or ours.off):
            print(f"missed by verikit: {name}", flush=True)
        for peer, told in peers.items():
            row[peer] += bool(told[faulty[name]] - told[usual])
    heads = ("fault", "folders", "verikit, right check", *(f"{peer}, any report" for peer in peers))
    print("|", " | ".join(heads), "|\n|", " | ".join("---" for _ in heads), "|")
    for kind, row in counts.items():
        print("|", " | ".join([kind, *map(str, row.values())]), "|")
    total = [sum(row[name] for row in counts.values()) for name in ("folders", "verikit", *peers)]
    print("|", " | ".join(["all", *map(str, total)]), "|", flush=True)


def _alarms(sound: Mapping[str, Path], ours: Ours, peers: Mapping[str, Reports]) -> None:
    alarms = dict.fromkeys(("verikit", *peers), 0)
    for name, folder in sound.items():
        for checker, told in {"verikit": ours(folder), **{peer: one[folder] for peer, one in peers.items()}}.items():
            alarms[checker] += bool(told)
            if told:
                print(f"alarm of {checker}: {name}: {sorted(told)}", flush=True)
    print(f"sound folders: {len(sound)}, with an alarm: {alarms}")


if __name__ == "__main__":
    main()
