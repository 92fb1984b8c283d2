"""Runs next to programs of other languages: starts each case as a fresh process, times it, and records how it ended.

It is process 1 of its own pid namespace, already restricted. All its children inherit the restrictions and are killed
when the case is over. The payload (descriptor 4) is a line of JSON and the bytes that it refers to. For each case a
line of JSON goes out (descriptor 3), followed by the case's output. Data that decides a verdict never comes in.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import stat
import time
from contextlib import suppress
from typing import Any, NoReturn

from verikit.sandbox import handover

RECORD, COMMANDS = 3, 4
KEPT = ".verikit"
"""The folder of programs and streams, next to the working directory of each case."""
_TICK_S = 0.05
_MOST_FILES = 2000
_DEFAULT = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that Python ignores, which its child processes would inherit."""


def main() -> NoReturn:
    """Run the cases of one payload; the process ends here."""
    with open(COMMANDS, "rb", closefd=False) as commands:
        job = json.loads(commands.readline())
        blob = b"" if job["native"] else commands.read()
        contents = commands.tell()
    supervisor: Supervisor | None = None
    try:
        supervisor = Supervisor(job, blob, contents)
        supervisor.run()
    except OSError:
        import traceback

        _reply({"spoiled" if supervisor and supervisor.has_run else "infra": traceback.format_exc()})
    os._exit(0)


def _reply(record: dict[str, Any], *contents: bytes) -> None:
    for data in (json.dumps(record).encode() + b"\n", *contents):
        view = memoryview(data)
        while view:
            view = view[os.write(RECORD, view) :]


class Supervisor:
    """The cases of one program, or one run of a compiler.

    Args:
        job: `files` ([name, start, end, mode] within the blob), `argv`, `env`, `cases` ([start, end] of the standard
            input), the limits `wall`, `budget` (seconds of a case, of all), `output` and `data` (bytes; 0: none),
            `stop` (after the first case that ends badly), `collect`, a folder whose files are sent back, and `native`
            ([start, end] of the native supervisor, or nothing).
        blob: all contents, one after another.
        contents: their offset on descriptor 4.
    """

    def __init__(self, job: dict[str, Any], blob: bytes, contents: int = 0) -> None:
        self._job, self._blob, self._contents = job, blob, contents
        self._base = os.getcwd()
        self._kept = f"{self._base}/{KEPT}"
        self._work = f"{self._base}/work"
        self._argv = [part.replace("{kept}", self._kept) for part in job["argv"]]
        self._env = {name: value.replace("{work}", self._work) for name, value in job["env"].items()}
        self.has_run = False
        """Whether the program has been let loose: what goes wrong after that is its own doing."""
        self._seals: dict[str, tuple[int, ...]] = {}
        os.mkdir(self._kept)

    def run(self) -> None:
        """Run all cases, up to the first failed one if the job has `stop`."""
        os.set_inheritable(RECORD, False)
        if data := self._job["data"]:
            resource.setrlimit(resource.RLIMIT_DATA, (data, data))
        if self._job["native"]:
            handover.hand_over(self._job, self._contents, self._kept, self._work)
        left = self._job["budget"]
        for start, end in self._job["cases"]:
            self._prepare(self._blob[start:end])
            record, contents = self._case(min(self._job["wall"], left))
            left -= record["seconds"]
            _reply(record, *contents)
            flood = max(record["out"], record["err"]) > self._job["output"]
            if left <= 0 or (self._job["stop"] and (record["exit"] or record["why"] != "exit" or flood)):
                break
        if self._job["collect"]:
            self._collect(f"{self._kept}/{self._job['collect']}")

    def _prepare(self, stdin: bytes) -> None:
        """Restore the file system for a case: the program, unmodified, and an empty working directory."""
        allowed = {os.path.basename(self._kept), os.path.basename(self._work)}
        for name in set(os.listdir(self._base)) - allowed:
            _remove(f"{self._base}/{name}")
        _remove(self._work)
        os.mkdir(self._work)
        if not stat.S_ISDIR(os.lstat(self._kept).st_mode if os.path.lexists(self._kept) else 0):
            _remove(self._kept)
            os.mkdir(self._kept)
        names = {name.split("/")[0] for name, _, _, _ in self._job["files"]}
        for name in set(os.listdir(self._kept)) - names:
            _remove(f"{self._kept}/{name}")
        for name, start, end, mode in self._job["files"]:
            self._put(f"{self._kept}/{name}", start, end, mode)
        with open(f"{self._kept}/.stdin", "wb") as file:
            file.write(stdin)

    def _put(self, path: str, start: int, end: int, mode: int) -> None:
        """Write a file of the program, unless it exists unmodified."""
        if path in self._seals and _seal(path) == self._seals[path]:
            return
        _remove(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        view = memoryview(self._blob)[start:end]
        while view:
            view = view[os.write(descriptor, view) :]
        os.close(descriptor)
        self._seals[path] = _seal(path)

    def _case(self, wall: float) -> tuple[dict[str, Any], list[bytes]]:
        """Run one process to its end, and kill the processes that it left behind."""
        streams = [
            os.open(f"{self._kept}/{name}", flags | os.O_CLOEXEC, 0o600)
            for name, flags in (
                (".stdin", os.O_RDONLY),
                (".stdout", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND),
                (".stderr", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND),
            )
        ]
        actions = [(os.POSIX_SPAWN_DUP2, descriptor, target) for target, descriptor in enumerate(streams)]
        os.chdir(self._work)
        begun = time.monotonic()
        try:
            child = os.posix_spawn(self._argv[0], self._argv, self._env, file_actions=actions, setsigdef=_DEFAULT)
        except OSError as error:
            return {"why": "exec", "exit": error.errno or 1, "seconds": 0.0, "cpu": 0.0, "full": False, "out": 0,
                    "err": 0}, []  # fmt: skip
        finally:
            os.chdir(self._base)
        self.has_run = True
        handle = os.pidfd_open(child)
        why = self._wait(handle, streams[1:], begun + wall)
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
        seconds = time.monotonic() - begun
        os.close(handle)
        with suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
        cap = self._job["output"]
        contents = [os.pread(descriptor, cap + 1, 0) for descriptor in streams[1:]]
        for descriptor in streams:
            os.close(descriptor)
        space = os.statvfs(self._base)
        return {
            "why": why, "exit": os.waitstatus_to_exitcode(status), "seconds": seconds,
            "cpu": usage.ru_utime + usage.ru_stime, "full": space.f_bavail == 0 or space.f_favail == 0,
            "out": len(contents[0]), "err": len(contents[1]),
        }, contents  # fmt: skip

    def _wait(self, handle: int, streams: list[int], deadline: float) -> str:
        """Wait for the process, its deadline, or a stream beyond its cap. Returns which."""
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if waiting.poll(max(0.0, min(left, _TICK_S)) * 1000):
                return "exit"
            if any(os.fstat(descriptor).st_size > self._job["output"] for descriptor in streams):
                return "output"
            if left <= 0:
                return "wall"

    def _collect(self, top: str) -> None:
        """Send the regular files of a folder."""
        sent = 0
        for where, _, names in os.walk(top):
            for name in sorted(names):
                path = f"{where}/{name}"
                if not stat.S_ISREG(os.lstat(path).st_mode) or sent >= _MOST_FILES:
                    continue
                with open(path, "rb") as file:
                    content = file.read()
                sent += 1
                _reply({"file": os.path.relpath(path, top), "size": len(content)}, content)


def _seal(path: str) -> tuple[int, ...]:
    """What changes when a file is changed or replaced; its owner can't set the last."""
    try:
        state = os.lstat(path)
    except OSError:
        return ()
    return state.st_ino, state.st_mode, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _remove(path: str) -> None:
    """Remove a file, or a folder with all its contents. Subfolders are first moved next to it.

    A tree may be deeper than the maximum path length and the number of descriptors allow.
    """
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
            return
    except FileNotFoundError:
        return
    folders, number = [path], 0
    while folders:
        folder = folders.pop()
        os.chmod(folder, 0o700)
        with os.scandir(folder) as found:
            entries = list(found)
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            while os.path.lexists(f"{path}.{number}"):
                number += 1
            os.chmod(entry.path, 0o700)
            os.rename(entry.path, f"{path}.{number}")
            folders.append(f"{path}.{number}")
        os.rmdir(folder)
