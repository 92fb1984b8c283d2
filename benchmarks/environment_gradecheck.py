"""gradecheck on the folders of `environment_audits`, and the grade command that it runs on Harbor tasks.

    python benchmarks/environment_gradecheck.py TASK WORKSPACE

gradecheck attacks packages of verifiers directly. For a Harbor task it needs a configuration. Here the tree that it
attacks has the files of the agent's image, and the command above grades it: the task's tests run in verikit's box.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from verikit.env.audit.running.box import BoxFile, TaskBox
from verikit.env.audit.running.rehearsal import Rehearsal, RehearsalLimits
from verikit.env.audit.task import AuditedTask

PASS = "RESULT: PASS"
_REPORTS = ("fooled", "warn", "error")
CONFIG = """[env]
workspace = "app"
[grade]
cmd = {command}
pass_marker = "{passed}"
score = [{{ regex = 'SCORE: (\\d+)/(\\d+)' }}]
source = {sources}
timeout = 120
"""


def gradecheck(program: str, folders: Sequence[Path]) -> dict[Path, set[str]]:
    """`gradecheck` on the Harbor tasks and the packages of verifiers among some folders, by attack and verdict."""
    found: dict[Path, set[str]] = {folder: set() for folder in folders}
    for folder in folders:
        if (folder / "task.toml").exists():
            found[folder] = _harbor(program, folder)
        elif (folder / "pyproject.toml").exists() and not (folder / "openenv.yaml").exists():
            found[folder] = _verifiers(program, folder)
    return found


def _harbor(program: str, folder: Path) -> set[str]:
    with tempfile.TemporaryDirectory() as spare:
        ignored = shutil.ignore_patterns("Dockerfile", ".dockerignore")
        shutil.copytree(folder / "environment", Path(spare) / "app", ignore=ignored)
        command = f"{sys.executable} {Path(__file__).absolute()} {folder} {{workspace}}"
        sources = [str(path) for path in (folder / "tests").rglob("*.py")]
        text = CONFIG.format(passed=PASS, command=json.dumps(command), sources=json.dumps(sources))
        (Path(spare) / "gradecheck.toml").write_text(text)
        return _told([program, "run", spare, "--json"], os.environ.copy())


def _verifiers(program: str, folder: Path) -> set[str]:
    """The module of a package is named like the package: shop_1 or shop_1.py."""
    name = next(path.stem for path in sorted(folder.iterdir()) if path.name.startswith("shop_"))
    return _told([program, "verifiers", name, "--json", "--sample", "20"], {**os.environ, "PYTHONPATH": str(folder)})


def _told(words: list[str], env: dict[str, str]) -> set[str]:
    """Attacks that succeeded or could not be tried. A refusal of the whole environment counts as a report too."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    if "{" not in done.stdout:
        return {"refused"}
    report = json.loads(done.stdout[done.stdout.index("{") :])
    return {f"{one['attack']}: {one['verdict']}" for one in report["findings"] if one["verdict"] in _REPORTS}


def main() -> None:
    """Print the reward of a tree of files at /app."""
    task, workspace = map(Path, sys.argv[1:])
    paths = [path for path in workspace.rglob("*") if path.is_file()]
    files = {f"/app/{path.relative_to(workspace)}": BoxFile(path.read_bytes()) for path in paths}
    box = TaskBox()
    try:
        rehearsal = Rehearsal.prepare(AuditedTask.open(str(task), ()), box, RehearsalLimits())
        rehearsal.begin()
        reward = rehearsal.grade(files, name="gradecheck").value or 0.0
    finally:
        box.close()
    print(f"SCORE: {round(1000 * min(max(reward, 0.0), 1.0))}/1000")
    if reward >= 1:
        print(PASS)


if __name__ == "__main__":
    main()
