"""What runs on this machine, by process id. A process may end while it is read, which is no failure of a test."""

import os


def runs(pid):
    """Whether a process has not ended; a zombie has."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children(pid):
    """The processes that a process has started, zombies too."""
    found = set()
    for task in _entries(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found |= set(map(int, file.read().split()))
        except OSError:  # this thread has ended
            continue
    return found


def below(pid):
    """A process and all that descend from it."""
    return {pid}.union(*(below(child) for child in children(pid)))


def _entries(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []
