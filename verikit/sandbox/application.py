"""Puts a browser or an office program into a separate box: the inside of `verikit.artifacts.apart`.

Such an application needs more than the sandbox gives programs: its own /proc, sockets between its processes, shared
memory. So it runs in its own box, which is never weaker. The box has a namespace without any network, a root that
shows only listed paths, a memory file system, the lower user, no capabilities, limits, and a filter that allows only
local sockets. If the kernel doesn't support one of these, the application does not start.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import sys
from typing import Any, NoReturn

from verikit.sandbox import isolate, linux, namespaces, paths, seccomp

_COMMANDS, _ANSWERS = 3, 4
"""The descriptors that an application reads commands from and writes answers to."""
_FILES = 20_000


def main() -> NoReturn:
    """Take the order named on the command line, restrict oneself, become the application."""
    order = json.loads(sys.argv[2])
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        _descriptors(order["commands"], order["answers"])
        _enter(order)
        _limit(order)
        os.chdir(namespaces.WORK)
        _quiet()
        os.execve(order["command"][0], order["command"], order["environment"])
    except OSError as error:
        os.write(2, f"{error}\n".encode())
    os._exit(1)


def _descriptors(commands: int, answers: int) -> None:
    """Move the two ends of the pipes to the descriptors that the application uses, and close all others."""
    high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10) for descriptor in (commands, answers)]
    os.dup2(high[0], _COMMANDS)
    os.dup2(high[1], _ANSWERS)
    os.closerange(_ANSWERS + 1, 1024)


def _enter(order: dict[str, Any]) -> None:
    """Namespaces, with a private /proc that covers the machine's."""
    uid = namespaces.NOBODY if os.geteuid() == 0 else os.geteuid()
    readable = [path for path in order["readable"] if os.path.exists(path)]
    kept = namespaces.enter([*readable, "/proc"], paths.DEVICES)
    namespaces.enter_own_processes()
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_RDONLY
    linux.mount("proc", "/proc", "proc", flags)
    namespaces.fresh_work(order["disk"], _FILES, uid, kept)
    if os.geteuid() == 0:
        isolate.become(uid)


def _limit(order: dict[str, Any]) -> None:
    wanted = {
        resource.RLIMIT_DATA: order["memory"], resource.RLIMIT_CPU: order["cpu"], resource.RLIMIT_FSIZE: order["disk"],
        resource.RLIMIT_NOFILE: 1024, resource.RLIMIT_NPROC: 512, resource.RLIMIT_CORE: 0, resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }  # fmt: skip
    for kind, most in wanted.items():
        resource.setrlimit(kind, (most, most))
    linux.keep_capabilities(0)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.install(seccomp.program(None, may_exec=True, processes=True, local_sockets=True))


def _quiet() -> None:
    """Discard the application's output. The launcher's own errors went to standard error before."""
    null = os.open("/dev/null", os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
