"""Runs one script in the sandbox, on a tree of files at absolute paths, and returns the resulting files."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verikit.env.audit.running import clock
from verikit.env.audit.running.stand_ins import STAND_INS
from verikit.errors import SandboxUnavailable
from verikit.helper import Helper
from verikit.sandbox.local import LocalSandbox
from verikit.sandbox.types import RunLimits, RunResult
from verikit.verifiers.patch.runs import PYTHON, job_packages, tools_of

MAX_FILES = 1500
MAX_BYTES = 32 << 20
"""Maximum bytes of a run's input files, and of its output files."""
TOPS = tuple(
    f"/{name}" for name in "app tests logs solution workspace work data home root opt srv mnt var repo".split()
)
"""Folders at the root that every run has."""
_PYTEST = "import sys\n\nimport pytest\n\nsys.exit(pytest.main())\n"
"""As its own command: the folder it starts in is not importable."""
_INSIDE, _CTRF = Path(__file__).with_name("inside.py"), Path(__file__).with_name("ctrf.py")
_PLUGIN = "verikit_ctrf"
GROUP = "group"
"""The file with the process group of the process that grades rows."""
_LAST_S = 20.0
"""Seconds for the files, in addition to the script's."""


@dataclass(frozen=True, slots=True)
class BoxFile:
    """A file, or a link."""

    content: bytes = b""
    executable: bool = False
    link: str = ""
    """The target of a link; empty for a file."""

    @property
    def mode(self) -> int:
        """The file's permissions."""
        return 0o755 if self.executable else 0o644


Files = Mapping[str, BoxFile]
"""Files by their absolute paths."""


@dataclass(frozen=True, slots=True)
class RunSurroundings:
    """What may differ between two runs that have to end alike."""

    name: str = "usual"
    hash_seed: int = 0
    days: int = 0
    """Days by which the clock is ahead."""
    cpus: int = 0
    """Number of CPUs that programs see; 0: this machine's."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables that override the task's."""


@dataclass(frozen=True, slots=True)
class BoxRun:
    """How a script ended, and the files that it left."""

    why: str
    """`exit`, `wall` (its time was up), or a limit that it broke: `output`, `memory`, `disk`, `killed`, `files`."""
    code: int = 0
    files: Files = field(default_factory=dict)
    text: str = ""
    """The end of its output."""
    seconds: float = 0.0
    cpu_s: float = 0.0
    memory_mb: float = 0.0
    needs: str = ""
    """The thing that this machine lacks for it, if the script did not run for that reason."""


class TaskBox:
    """Runs scripts in one sandbox. `close` ends it."""

    def __init__(self) -> None:
        self._box = LocalSandbox(workers=1)
        self._clock: bytes | None = None
        self._tools, _ = tools_of("")
        self.helper = Helper(workers=1, memory_mb=None, preload=("verikit.env.audit.running.row_runs",))
        """Grades rows in a process that can be ended."""
        self.scratch = tempfile.mkdtemp(prefix="verikit-audit-")
        """The temporary folder of that process."""

    def close(self) -> None:
        """End every process."""
        self.helper.close()
        self.end_grading()
        shutil.rmtree(self.scratch, ignore_errors=True)
        self._box.close()

    def end_grading(self) -> None:
        """End what a grading started, after its own process ended."""
        path = Path(self.scratch, GROUP)
        with suppress(OSError, ValueError):  # there is no group, or no process left in it
            group = int(path.read_text())
            path.unlink()
            os.killpg(group, signal.SIGKILL)

    def clock(self) -> bytes:
        """The library for the clock and for `/dev/fd`; empty if it can't be built here."""
        if self._clock is None:
            self._clock = clock.built(self._box)
        return self._clock

    def run(
        self,
        files: Files,
        argv: list[str],
        *,
        cwd: str,
        pack: Iterable[str],
        wall_s: float,
        memory_mb: int,
        folders: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
        surroundings: RunSurroundings = RunSurroundings(),
        tops: Iterable[str] = (),
        stdin: str = "",
    ) -> BoxRun:
        """Run a script in a tree of files.

        Args:
            files: The tree.
            argv: The script's words.
            cwd: The folder it starts in.
            pack: Files and folders to return.
            wall_s: Its seconds.
            memory_mb: Of each of its processes.
            folders: Created in advance.
            env: Variables of the task.
            surroundings: Seed, clock and other surroundings.
            tops: More folders at the root than `TOPS`.
            stdin: A short text for the script.
        """
        if _is_large(files):
            return BoxRun("files", needs=f"at most {MAX_FILES} files and {MAX_BYTES >> 20} MiB")
        plain = [(path, one) for path, one in files.items() if not one.link]
        links = [[path, one.link] for path, one in files.items() if one.link]
        library = self.clock() if surroundings.days or surroundings.cpus or _names_streams(files) else b""
        order = {
            "tops": tops_of((*files, cwd)),
            "places": list(dict.fromkeys((*TOPS, *tops))),
            "folders": [*folders, cwd],
            "files": [[path, number, one.mode] for number, (path, one) in enumerate(plain)],
            "links": links,
            "argv": argv,
            "cwd": cwd,
            "stdin": stdin,
            "env": {**self._variables(surroundings, env or {}, library), "PWD": cwd},
            "wall": wall_s,
            "pack": list(pack),
            "most_bytes": MAX_BYTES,
            "most_files": MAX_FILES,
        }
        sent = {f"in/{number}": one.content for number, (_, one) in enumerate(plain)} | self._programs(library)
        return self._execute(order, sent, wall_s, memory_mb)

    def _execute(self, order: dict[str, Any], sent: Mapping[str, bytes], wall_s: float, memory_mb: int) -> BoxRun:
        limits = RunLimits(
            wall_s=wall_s + _LAST_S, cpu_s=2 * wall_s + _LAST_S, memory_mb=memory_mb, disk_mb=256, output_kb=1024,
            files=4 * MAX_FILES + 20_000, threads=256,
        )  # fmt: skip
        try:
            done = self._box.programs.execute(
                [PYTHON, "-I", "-S", "{kept}/inside.py"], sent, json.dumps(order).encode(), limits,
                tools=tuple(self._tools), env={}, places=tuple(order["places"]), collect="out",
            )  # fmt: skip
        except SandboxUnavailable as error:
            return BoxRun("start", needs=str(error))
        return _read(done)

    def _variables(self, surroundings: RunSurroundings, env: Mapping[str, str], library: bytes) -> dict[str, str]:
        variables = {
            "PATH": "{kept}/bin:/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "TZ": "UTC",
            "PYTEST_PLUGINS": _PLUGIN,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": str(surroundings.hash_seed), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **env,
        }  # fmt: skip
        own = (*filter(None, env.get("PYTHONPATH", "").split(":")), "{kept}/plugins", *job_packages())
        variables["PYTHONPATH"] = ":".join(own)
        if library:
            variables["LD_PRELOAD"] = "{kept}/clock.so"
            variables[clock.SECONDS] = str(86400 * surroundings.days)
            variables[clock.CPUS] = str(surroundings.cpus)
        return {**variables, **dict(surroundings.env)}

    def _programs(self, library: bytes) -> dict[str, bytes]:
        """The driver, the library, and Python's commands under the names that scripts use."""
        lead = f"#!/bin/sh\nexec {PYTHON}"
        return {
            **({"clock.so": library} if library else {}),
            "inside.py": _INSIDE.read_bytes(),
            "bin/python": f'{lead} "$@"\n'.encode(),
            "bin/python3": f'{lead} "$@"\n'.encode(),
            "bin/pytest": f"#!{PYTHON}\n{_PYTEST}".encode(),
            **{f"bin/{name}": f"#!/bin/sh\n{text}".encode() for name, text in STAND_INS.items()},
            f"plugins/{_PLUGIN}.py": _CTRF.read_bytes(),
            "out/.keep": b"",
        }


def _names_streams(files: Files) -> bool:
    """Whether a script of the tests or the solution needs `/dev/fd`."""
    scripts = (one.content for path, one in files.items() if path.startswith(("/tests/", "/solution/")))
    return any(mark in content for content in scripts for mark in (b"<(", b">(", b"/dev/fd/", b"/dev/std"))


def _is_large(files: Files) -> bool:
    return len(files) > MAX_FILES or sum(len(one.content) for one in files.values()) > MAX_BYTES


def tops_of(paths: Iterable[str]) -> list[str]:
    """The folders at the root that contain some paths."""
    return sorted({f"/{path.split('/')[1]}" for path in paths} - {"/"})


def has_program(name: str) -> bool:
    """Whether scripts in the box find a program."""
    return (
        name in ("python", "python3", "pytest") or shutil.which(name, path="/usr/local/bin:/usr/bin:/bin") is not None
    )


def _read(done: RunResult) -> BoxRun:
    """The driver's report, unless the sandbox saw the run end otherwise."""
    text = (done.stdout + done.stderr)[-4000:]
    if done.status == "infra_error":
        return BoxRun("start", needs=f"a sandbox that works: {done.error}"[:300])
    if done.status == "error":
        return BoxRun("start", needs=f"files that can be laid out in the sandbox: {text.strip()[-200:]}")
    if done.status != "ok":
        return BoxRun(done.status, done.exit_code, text=text, seconds=done.seconds, cpu_s=done.cpu_s)
    try:
        return _told(json.loads(done.files["result.json"]), done.files, text)
    except (ValueError, KeyError, TypeError, RecursionError, IndexError):
        return BoxRun("killed", text=text, seconds=done.seconds, cpu_s=done.cpu_s)


def _told(told: dict[str, Any], contents: Mapping[str, bytes], text: str) -> BoxRun:
    if "missing" in told:
        return BoxRun("start", needs=f"folders that can be written: {', '.join(map(str, told['missing']))}"[:300])
    files: dict[str, BoxFile] = {}
    for path, number, mode in told.get("files", ()):
        files[_path(path)] = BoxFile(contents[str(int(number))], bool(int(mode) & 0o100))
    for path, target in told.get("links", ()):
        files[_path(path)] = BoxFile(link=str(target)[:4000])
    seconds, cpu, memory = (float(told[name]) for name in ("seconds", "cpu", "memory_mb"))
    if not all(map(math.isfinite, (seconds, cpu, memory))):
        raise ValueError("a number is not finite")
    why = "files" if "over" in told else str(told["why"])
    return BoxRun(why, int(told["exit"]), files, text, seconds, cpu, memory)


def _path(path: Any) -> str:
    """An absolute path without `..`."""
    if not isinstance(path, str) or not path.startswith("/") or ".." in path.split("/") or len(path) > 4000:
        raise ValueError("the path is invalid")
    return path
