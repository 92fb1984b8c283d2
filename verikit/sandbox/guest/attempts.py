"""Attempts of the start-up probes inside the sandbox. Each line of the result is empty if the attempt was blocked.

Even if an attempt succeeds, it doesn't harm the machine.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
from collections.abc import Callable
from functools import partial

_FOLDERS = ("/var/tmp", "/dev/shm", "/home", "/usr/lib", "")
_MOUNT = 165
_FORBIDDEN = (101, _MOUNT, 272, 250, 319, 321, 323, 425)
"""ptrace, mount, unshare, keyctl, memfd_create, bpf, userfaultfd, io_uring_setup."""


def _tried(attempt: Callable[[], object]) -> str:
    """Run an attempt. Returns "" if it was blocked."""
    try:
        result = attempt()
    except (OSError, MemoryError):
        return ""
    return f"succeeded: {result!r}"[:200]


def facts(outside: str, owner: int) -> dict[str, str]:
    """Try to get out; returns what worked, by property."""
    libc = ctypes.CDLL(None, use_errno=True)

    def write(path: str) -> str:
        with open(path, "r+") as file:
            file.write("x")
        return path

    def read(path: str) -> str:
        with open(path, "rb") as file:
            return path if file.read(1) else ""

    def grab() -> int:
        return len(bytearray(1 << 27))

    def call(number: int, *arguments: int) -> str:
        if libc.syscall(number, *arguments) < 0:
            raise OSError(ctypes.get_errno(), "refused")
        return f"system call {number}"

    def create(folder: str) -> str:
        path = f"{folder}/verikit-probe-{os.getpid()}"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.remove(path)
        return path

    def execute() -> str:
        try:
            os.execv("/verikit/absent", ["absent"])
        except FileNotFoundError:  # the call was allowed, and searched for the file
            return "execve"

    def fork() -> str:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return "fork"

    outcome = {
        "file_reads": _tried(lambda: read(outside)) or _tried(lambda: read(f"/proc/{owner}/environ"))
        or _tried(lambda: read("/etc/passwd")),
        "file_writes": _tried(lambda: write(outside)) or _tried(lambda: os.remove(outside))
        or next(filter(None, (_tried(partial(create, folder)) for folder in _FOLDERS)), ""),
        "network": _tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        or _tried(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)),
        "signals": _tried(lambda: os.kill(owner, 0)) or _tried(lambda: os.kill(os.getppid(), 0)),
        "processes": _tried(fork) or _tried(execute),
        "memory": _tried(grab),
        "system_calls": next(filter(None, (_tried(partial(call, number, 0)) for number in _FORBIDDEN)), ""),
    }  # fmt: skip
    if libc.syscall(_MOUNT, 0) == 0 or ctypes.get_errno() != errno.EPERM:
        outcome["system_calls"] = outcome["system_calls"] or "mount is not refused by the filter"
    return outcome


def left_over() -> str:
    """Files that an earlier run left in the work directory."""
    return ", ".join(os.listdir("."))


def fill() -> None:
    """Write more than the limit, in small files. Prints the number of bytes written."""
    written = 0
    try:
        for n in range(40):
            with open(f"fill{n}", "wb", buffering=0) as file:
                written += file.write(b"x" * (1 << 16))
    except OSError:
        pass
    print(written)
