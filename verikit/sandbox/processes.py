"""What the processes of a run hold together, read from outside by a descriptor of /proc."""

from __future__ import annotations

import os
import resource

_PAGE = resource.getpagesize()


def resident(proc: int, root: int) -> int:
    """Bytes of memory that a process and all its descendants have in use; pages they share count for each.

    Args:
        proc: a descriptor of /proc.
        root: the first process.
    """
    total, pending = 0, [root]
    while pending:
        pid = pending.pop()
        try:
            total += int(_read(proc, f"{pid}/statm").split()[1]) * _PAGE
            tasks = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
            try:
                for task in os.listdir(tasks):
                    pending += map(int, _read(tasks, f"{task}/children").split())
            finally:
                os.close(tasks)
        except (OSError, IndexError):  # it has ended meanwhile
            continue
    return total


def _read(directory: int, name: str) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)
