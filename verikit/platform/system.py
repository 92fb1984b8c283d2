"""Differences between operating systems, in one module: Linux supports everything, macOS most, Windows little.

Nothing here is tested at import, so `import verikit` works anywhere. Using an unsupported feature raises an error that
names it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import IO, Any

from verikit.errors import VerikitError

POSIX_MODULES = frozenset(("_posixsubprocess", "fcntl", "grp", "pwd", "resource", "termios"))
"""Modules of Python's library that are missing on Windows."""
WSL = "on Windows run verikit inside WSL 2 (`wsl --install`, then install verikit there)"


class UnsupportedSystem(VerikitError):
    """This operating system lacks a required feature. The hint contains the remedy."""


def needs_posix(what: str) -> UnsupportedSystem:
    """Return the error for a feature that works only on Linux and macOS."""
    return UnsupportedSystem(f"{what} needs Linux or macOS, not {sys.platform}", hint=WSL)


def processors() -> int:
    """Return the number of CPUs this process may use, or of all CPUs if the system does not report that."""
    return len(processor_numbers())


def processor_numbers() -> list[int]:
    """Return the numbers of the CPUs that this process may use, in order."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def lock_file(stream: IO[Any], *, wait: bool = False) -> None:
    """Lock an open file for exclusive use by this process, until it is closed.

    Raises:
        BlockingIOError: Another process has the lock, and `wait` is not set.
        OSError: Its file system has no locks.
        UnsupportedSystem: This is Windows.
    """
    try:
        import fcntl
    except ImportError:
        raise needs_posix("writing a folder of results") from None
    fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def at_fork(
    *,
    before: Callable[[], object] | None = None,
    in_parent: Callable[[], object] | None = None,
    in_child: Callable[[], object] | None = None,
) -> None:
    """Register functions to call when this process is forked. A system that can't fork needs none."""
    given = {"before": before, "after_in_parent": in_parent, "after_in_child": in_child}
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**{name: call for name, call in given.items() if call is not None})


def peak_memory_mb() -> float:
    """Return this process's peak memory in MiB, or 0 if the system does not report it."""
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)  # bytes there, KiB elsewhere
