"""The few kernel calls Python has no function for, by number, for x86-64 Linux.

Each wrapper raises OSError as `os` does. Nothing here decides anything; the layers (`seccomp`, `landlock`,
`namespaces`) do. Loaded by the fork server, so it imports the standard library only.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys

if sys.platform == "linux":  # on other systems this can be imported, but not called
    _libc = ctypes.CDLL(None, use_errno=True)
    _libc.syscall.restype = ctypes.c_long
    _library = ctypes.PyDLL(None, use_errno=True)
    _library.syscall.restype = ctypes.c_long
    _add_rule = _libc["syscall"]
    _add_rule.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_long)
    _add_rule.restype = ctypes.c_long
    _prctl = _libc["prctl"]
    _prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    _set_filter = _libc["prctl"]
    _set_filter.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_ulong)
    _restrict = _libc["syscall"]
    _restrict.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_long)
    _restrict.restype = ctypes.c_long
    _capset = _libc["capset"]
    _capset.argtypes = (ctypes.c_char_p, ctypes.c_char_p)
_OWN_CAPABILITIES = struct.pack("II", 0x20080522, 0)

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 36, 38
PR_SET_KEEPCAPS, CAP_DAC_READ_SEARCH = 8, 1 << 2
SYS_PIVOT_ROOT, SYS_MOUNT_SETATTR, SYS_LANDLOCK_ADD_RULE, SYS_LANDLOCK_RESTRICT_SELF = 155, 442, 445, 446
_AT_RECURSIVE, _MADV_COLLAPSE = 0x8000, 25
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID, _MOUNT_ATTR_NODEV = 1, 2, 4


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def syscall(number: int, *arguments: object) -> int:
    """Call the kernel by number; integers are passed as longs."""
    return _checked(_libc.syscall(number, *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)))


def landlock_add_rule(rules: int, rule: bytes) -> None:
    """Add a rule for everything beneath a path."""
    _checked(_add_rule(SYS_LANDLOCK_ADD_RULE, rules, 1, rule, 0))


def landlock_restrict_self(rules: int) -> None:
    """Put this process under a set of rules."""
    _checked(_restrict(SYS_LANDLOCK_RESTRICT_SELF, rules, 0))


def set_filter(program: bytes) -> None:
    """Install a system call filter, given as `struct sock_fprog`."""
    _checked(_set_filter(PR_SET_SECCOMP, 2, program, 0, 0))


def prctl(option: int, value: int | ctypes.Array[ctypes.c_char] = 0, pointer: object = 0) -> int:
    """Operate on the calling process or thread."""
    if isinstance(value, int) and pointer == 0:
        return _checked(_prctl(option, value, 0, 0, 0))
    return syscall(157, option, value, pointer, 0, 0)


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for new ones."""
    _checked(_libc.unshare(flags))


def fork_bare() -> int:
    """Fork like the C library, without Python's own work after it: half the cost of `os.fork`.

    Python's extra work is for threads, which the caller must not have, and for `random`, which the child must reseed.
    """
    return _checked(_library.fork())


def fork_process_one() -> int:
    """Fork a child that is process 1 of a new pid namespace. All its child processes end with it.

    Only for a process without other threads: the C library is not informed of the fork.
    """
    return _checked(_library.syscall(56, ctypes.c_long(CLONE_NEWPID | signal.SIGCHLD), *[ctypes.c_long(0)] * 4))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount `source` on `target`."""
    _checked(_libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()))


def unmount(target: str) -> None:
    """Detach a mount immediately. It remains for its current users until they end."""
    _checked(_libc.umount2(target.encode(), MNT_DETACH))


def pivot_root_here() -> None:
    """Make the current directory the root, and detach the old one."""
    syscall(SYS_PIVOT_ROOT, b".", b".")
    _checked(_libc.umount2(b".", MNT_DETACH))
    os.chdir("/")


def make_read_only(path: str) -> None:
    """Set a mount and all below it read-only, without devices and set-uid programs."""
    attributes = (ctypes.c_uint64 * 4)(_MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID | _MOUNT_ATTR_NODEV, 0, 0, 0)
    syscall(SYS_MOUNT_SETATTR, -1, path.encode(), _AT_RECURSIVE, ctypes.byref(attributes), 32)


def keep_capabilities(kept: int) -> None:
    """Give up every capability that is not in the bit set `kept`."""
    _checked(_capset(_OWN_CAPABILITIES, struct.pack("6I", kept, kept, 0, 0, 0, 0)))


def use_huge_pages(maps: str) -> None:
    """Gather this process's own memory into huge pages: a fork then copies a few large entries, not thousands.

    A kernel before 6.1 doesn't support it, which only affects the speed.

    Args:
        maps: the text of /proc/self/maps.
    """
    huge = 1 << 21
    for line in maps.splitlines():
        span, mode, _, _, _, *name = line.split(maxsplit=5)
        if mode.startswith("rw") and name in ([], ["[heap]"]):
            low, high = (int(end, 16) for end in span.split("-"))
            low, high = (low + huge - 1) // huge * huge, high // huge * huge
            if low < high:
                _libc.madvise(ctypes.c_void_p(low), ctypes.c_size_t(high - low), _MADV_COLLAPSE)
