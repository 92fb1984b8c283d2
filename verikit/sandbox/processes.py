"""Resource use of the processes of a run together, read from outside by a descriptor of /proc."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator

_PAGE = resource.getpagesize()
_TICKS = os.sysconf("SC_CLK_TCK")


def resident(proc: int, root: int) -> int:
    """Bytes of memory that a process and all its descendants have in use; shared pages are counted for each process.

    Args:
        proc: a descriptor of /proc.
        root: the first process.
    """
    return sum(int(told.split()[1]) * _PAGE for told in _told(proc, root, "statm"))


def largest(proc: int, root: int) -> int:
    """The same for the one process that uses most."""
    return max((int(told.split()[1]) * _PAGE for told in _told(proc, root, "statm")), default=0)


def processor_seconds(proc: int, root: int) -> float:
    """CPU time of a process, all its descendants, and its ended descendants that were waited for."""
    return sum(sum(map(int, told.rpartition(b")")[2].split()[11:15])) for told in _told(proc, root, "stat")) / _TICKS


def measured(measure: Callable[[int, int], float], root: int) -> float:
    """Return a measurement of a process and its descendants: `resident`, `largest` or `processor_seconds`."""
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return measure(proc, root)
    finally:
        os.close(proc)


def _told(proc: int, root: int, name: str) -> Iterator[bytes]:
    """A file of /proc of a process and of each of its descendants that still runs."""
    pending = [root]
    while pending:
        pid = pending.pop()
        try:
            told = _read(proc, f"{pid}/{name}")
            tasks = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
            try:
                for task in os.listdir(tasks):
                    pending += map(int, _read(tasks, f"{task}/children").split())
            finally:
                os.close(tasks)
        except OSError:  # it has ended meanwhile
            continue
        if told:
            yield told


def _read(directory: int, name: str) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)
