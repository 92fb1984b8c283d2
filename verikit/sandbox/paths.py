"""Files on the server's side: what programs may read, and work directories on a real disk.

A program may leave behind trees that defeat ordinary removal (thousands of levels deep, without permissions), so
`remove_tree` flattens them instead of descending.
"""

from __future__ import annotations

import os
import sys
import sysconfig

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/localtime", "/etc/ld.so.cache")


def readable() -> list[str]:
    """Paths that a program needs: Python's library, installed packages, shared libraries, time zones."""
    python = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    python += [path for path in sys.path if path.endswith(("site-packages", "dist-packages", "lib-dynload"))]
    return [path for path in dict.fromkeys([*python, *_SYSTEM]) if os.path.exists(path)]


def exceeds(tree: str, most_bytes: int, most_files: int) -> bool:
    """Whether a tree has more than this many bytes or files. Stops counting there."""
    size = count = 0
    pending = [tree]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    count += 1
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if size > most_bytes or count > most_files:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except OSError:
            continue
    return False


def remove_tree(top: str) -> None:
    """Remove a directory with all below it, of any depth and without permissions to it."""
    moved = 0
    os.chmod(top, 0o700)
    while inner := _empty(top):
        for directory in inner:
            for deeper in _empty(directory):
                moved += 1
                os.rename(deeper, f"{top}/.verikit-{moved}")
            os.rmdir(directory)
    os.rmdir(top)


def _empty(directory: str) -> list[str]:
    """Unlink all files of a directory; the directories in it are opened up and returned."""
    inner = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, 0o700)
                inner.append(entry.path)
            else:
                os.unlink(entry.path)
    return inner
