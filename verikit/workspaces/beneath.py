"""Opens paths beneath a folder and nothing outside it. No link is followed, even if one is swapped in meanwhile.

Linux opens a whole path with `openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)`. If that call is missing, each name is
opened separately from its parent folder with `O_NOFOLLOW`, which follows no link either.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Sequence
from functools import cache

_OPENAT2 = 437
_NO_SYMLINKS, _BENEATH = 0x04, 0x08
_ABSENT = (errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG)
FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""A fifo that took a file's place is opened without waiting for a writer."""


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_root(folder: str | os.PathLike[str]) -> int:
    """Open a folder that verikit controls. Its own path may contain links.

    Raises:
        OSError: It is not a folder, or can't be read.
    """
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def open_beneath(root: int, names: Sequence[str], flags: int = 0) -> int:
    """Open the path with these names beneath an open folder, for reading.

    Raises:
        OSError: It doesn't exist, a link is on the path, or it can't be read.
    """
    if not names:
        return os.dup(root)
    if _has_openat2():
        return _openat2(root, os.fsencode("/".join(names)), FLAGS | flags)
    return open_by_steps(root, names, flags)


def open_within(folder: str | os.PathLike[str], names: Sequence[str], flags: int = 0) -> int:
    """Open the path with these names beneath a folder that verikit controls.

    Raises:
        OSError: As `open_root` and `open_beneath`.
    """
    root = open_root(folder)
    try:
        return open_beneath(root, names, flags)
    finally:
        os.close(root)


def open_by_steps(root: int, names: Sequence[str], flags: int = 0) -> int:
    """The same without `openat2`: name after name.

    Raises:
        OSError: As `open_beneath`.
    """
    at = os.dup(root)
    try:
        for number, name in enumerate(names, 1):
            own = flags if number == len(names) else os.O_DIRECTORY
            below = os.open(name, FLAGS | own, dir_fd=at)
            os.close(at)
            at = below
    except BaseException:
        os.close(at)
        raise
    return at


@cache
def _has_openat2() -> bool:
    """Whether the kernel has the call and lets us use it."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        here = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return False  # a sandbox hides the root, and opening by steps follows no link either
    try:
        os.close(_openat2(here, b".", FLAGS | os.O_DIRECTORY))
    except OSError as error:
        if error.errno in _ABSENT:
            return False
    finally:
        os.close(here)
    return True


def _openat2(root: int, path: bytes, flags: int) -> int:
    how = _How(flags, 0, _NO_SYMLINKS | _BENEATH)
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    while True:
        found = call(_OPENAT2, root, path, ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how)))
        if found >= 0:
            return int(found)
        code = ctypes.get_errno()
        if code not in (errno.EINTR, errno.EAGAIN):  # EAGAIN: something moved while the kernel looked
            raise OSError(code, os.strerror(code), os.fsdecode(path))
