"""What a freshly forked child does to itself before it runs a program; in this order, for good.

Resource limits, then the lower user, then no capabilities, then Landlock, then the system call filter. Any failure
raises: a child that is not fully restricted never runs anything.
"""

from __future__ import annotations

import math
import os
import resource
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from verikit.sandbox import landlock, linux, seccomp


@dataclass
class Cage:
    """The restrictions one fork server puts on its children; found by trial when it starts."""

    landlock_abi: int
    drop_to: int | None
    """The user and group to become; None: stay, with no capability."""
    readable: list[int]
    """Descriptors of what may be read, for Landlock."""
    devices: list[int]
    statm: int
    """An open /proc/self/statm: limits on memory count from the server's own size."""
    tasks: int
    """Tasks the user has already, where the limit on threads counts them too."""


def confine(cage: Cage, limits: Mapping[str, float], work: str, page: int = resource.getpagesize()) -> None:
    """Restrict this process."""
    os.umask(0o022)
    set_limits(limits, base=int(os.pread(cage.statm, 64, 0).split()[0]) * page, tasks=cage.tasks)
    if cage.drop_to is not None:
        if os.geteuid() == 0:
            os.setgroups([])
        os.setresgid(cage.drop_to, cage.drop_to, cage.drop_to)
        os.setresuid(cage.drop_to, cage.drop_to, cage.drop_to)
    linux.drop_capabilities()
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    if cage.landlock_abi:
        writable = landlock.open_paths([work])
        landlock.restrict(cage.landlock_abi, cage.readable, [*writable, *cage.devices])
        os.close(writable[0])
    seccomp.install(seccomp.program(os.getpid()))


def set_limits(limits: Mapping[str, float], base: int, tasks: int) -> None:
    """Set the resource limits; `base` is the address space in use before the program."""
    cpu = math.ceil(limits["cpu"])
    memory = base + int(limits["memory"])
    for kind, soft, hard in (
        (resource.RLIMIT_AS, memory, memory),
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_FSIZE, int(limits["disk"]), int(limits["disk"])),
        (resource.RLIMIT_NOFILE, 64, 64),
        (resource.RLIMIT_NPROC, tasks + int(limits["threads"]), tasks + int(limits["threads"])),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
    ):
        most = resource.getrlimit(kind)[1]
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(kind, (soft, hard))


def tasks_of(uid: int, processes: Iterable[str] | None = None) -> int:
    """How many tasks (processes and threads) a user runs now."""
    count = 0
    for name in processes if processes is not None else os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == uid:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return count
