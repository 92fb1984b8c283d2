"""The restrictions of a fork server's children, and how a child applies them to itself, for good.

The server prepares everything for a run before it forks. The child only applies it: resource limits, the lower user, no
capabilities, Landlock, the system call filter, in this order. Any failure raises: a child that is not fully restricted
never runs anything.
"""

from __future__ import annotations

import math
import os
import resource
import signal
from collections.abc import Mapping
from dataclasses import dataclass

from verikit.sandbox import landlock, linux, seccomp

_PAGE = resource.getpagesize()


@dataclass
class Cage:
    """The restrictions one fork server puts on its children; found by trial when it starts."""

    landlock_abi: int
    drop_to: int | None
    """The user and group to become; None: stay who we are."""
    capabilities: int
    """Retained capabilities, only to read Python's own files in a closed folder (Landlock lists them)."""
    readable: list[int]
    """Descriptors of readable paths, for Landlock."""
    devices: list[int]
    """Devices that every run may read and write."""
    statm: int
    """An open /proc/self/statm: limits on memory count from the server's own size."""
    tasks: int
    """Tasks that the user has already, if the limit on threads includes them."""
    programs: bool = False
    """Whether readable files may also be executed, each in a separate process (compilers, other languages)."""

    def __post_init__(self) -> None:
        self.rules: list[bytes] = []
        """Landlock rules, all except the rule of a run's own directory."""
        if self.landlock_abi:
            self.rules += landlock.readable_rules(self.readable, execute=self.programs)
            self.rules += landlock.writable_rules(self.landlock_abi, self.devices, execute=self.programs)
        if self.programs:
            _programs_filter()  # built once, for all children


@dataclass
class Prepared:
    """One run's restrictions, ready to be put on."""

    limits: list[tuple[int, tuple[int, int]]]
    drop_to: int | None
    capabilities: int
    rules: int | None
    programs: bool = False


def prepare(cage: Cage, order: Mapping[str, float], work: str) -> Prepared:
    """In the server: the settings that the child of this run must apply. `release` it after the fork."""
    size = int(os.pread(cage.statm, 64, 0).split()[0]) * _PAGE
    rules = None
    if cage.landlock_abi:
        directory = os.open(work, os.O_PATH | os.O_CLOEXEC)
        own = landlock.writable_rules(cage.landlock_abi, [directory], execute=cage.programs)
        rules = landlock.ruleset(cage.landlock_abi, [*cage.rules, *own])
        os.close(directory)
    return Prepared(resource_limits(order, size, cage.tasks), cage.drop_to, cage.capabilities, rules, cage.programs)


def release(prepared: Prepared) -> None:
    """In the server: let go of a run's rules."""
    if prepared.rules is not None:
        os.close(prepared.rules)


def confine(prepared: Prepared) -> None:
    """In the child: apply the restrictions."""
    os.umask(0o022)
    for kind, pair in prepared.limits:
        resource.setrlimit(kind, pair)
    if prepared.drop_to is not None:
        become(prepared.drop_to)
    linux.keep_capabilities(prepared.capabilities)
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    if prepared.rules is not None:
        landlock.restrict(prepared.rules)
    if prepared.programs:
        seccomp.install(_programs_filter())
    else:
        seccomp.own_filter().install(os.getpid())


def _programs_filter() -> bytes:
    return seccomp.program(None, may_exec=True, processes=True)


def become(uid: int) -> None:
    """Take on a user and group for good; capabilities stay until they are dropped."""
    linux.prctl(linux.PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def resource_limits(order: Mapping[str, float], base: int, tasks: int) -> list[tuple[int, tuple[int, int]]]:
    """(kind, (soft, hard)) of each limit; `base` is the address space in use before the program."""
    cpu, memory, disk = math.ceil(order["cpu"]), base + int(order["memory"]), int(order["disk"])
    threads = tasks + int(order["threads"])
    wanted = {
        resource.RLIMIT_AS: (memory, memory),
        resource.RLIMIT_CPU: (cpu, cpu + 1),
        resource.RLIMIT_FSIZE: (disk, disk),
        resource.RLIMIT_NOFILE: (64, 64),
        resource.RLIMIT_NPROC: (threads, threads),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_MEMLOCK: (0, 0),
        resource.RLIMIT_MSGQUEUE: (0, 0),
    }
    return [(kind, _within(pair, resource.getrlimit(kind)[1])) for kind, pair in wanted.items()]


def _within(pair: tuple[int, int], most: int) -> tuple[int, int]:
    return pair if most == resource.RLIM_INFINITY else (min(pair[0], most), min(pair[1], most))


def tasks_of(uid: int) -> int:
    """How many tasks (processes and threads) a user runs now."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == uid:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return count
