"""The system call filter: an allow-list for x86-64. All other calls fail with EPERM.

The number space is cut into intervals with one verdict each and searched as a binary tree, so a call costs about seven
comparisons. A few calls are allowed by their arguments: threads but no processes, signals to oneself, socket pairs but
no sockets. Changes of mode, owner and time report success and do nothing: `shutil.copy2` works, and files outside are
unchanged. If programs may start others, a file can be made executable. Linkers do that, and only the run's own file
system is writable there. A call through another architecture's entry (int 0x80, x32) ends the process.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from functools import lru_cache

from verikit.sandbox import linux

ALLOWED = [
    *range(16), *range(17, 29), *range(32, 41), 45, 48, 51, 52, 54, 55, 60, 61, 63, 73, 74, 75, *range(76, 90),
    *range(95, 101), 102, 104, 107, 108, 110, 111, 115, 118, 120, 121, 124, 125, 127, 128, 130, 131, 137, 138, 140,
    143, 145, 146, 147, 148, 158, 160, 186, 187, 201, 202, 204, 213, 217, 218, 219, 221, *range(222, 227),
    *range(228, 234), 257, 258, *range(262, 268), 269, 270, 271, 273, *range(281, 288), *range(289, 294), 295, 296,
    309, 315, 316, 318, 324, 326, 327, 328, 332, 334, 436, 437, 439, 441, 449,
]  # fmt: skip
"""By number; the names are in asm/unistd_64.h. Not 57-59 (fork, vfork, execve), not 41-43 (socket, connect, accept)."""
PRETENDED = [90, 91, 92, 93, 94, 132, 235, 260, 261, 268, 280, 452]
"""chmod, chown, utime and their kin."""
UNSUPPORTED = range(188, 200)
"""Extended attributes."""
ABSENT = [435]
"""clone3. The C library then falls back to clone, whose flags the filter can read."""

FCNTL = [*range(8), 36, 37, 38, 1030, 1032]
"""Duplicate, flags, locks; no F_SETOWN or F_SETSIG, which send signals to others."""
IOCTL = [0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451]
PRCTL = [3, 15, 16, 23, 27, 39, 0x53564D41]
"""Reads, and the thread's name."""

_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_X86_64, _X32 = 0xC000003E, 0x40000000
_CLONE_THREAD = 0x10000
_NEW_NAMESPACES = 0x7E020000
_CHMOD, _FCHMOD, _FCHMODAT, _FCHMODAT2 = 90, 91, 268, 452
_EXECUTABLE = 0o755
"""The file mode that linkers and `install` set for a program."""
_SETRESUID, _SETRESGID = 117, 119
_UNCHANGED = 0xFFFFFFFF
"""-1 as the id in such a call: no change."""
_JOBS = (109, 112, 247, 434)
"""Process groups, sessions, waiting, and a descriptor of a process."""
_LOCAL_SOCKETS = (42, 43, 44, 46, 47, 49, 50, 288, 299, 307, 319, 141, 203)
"""connect, accept, sendto, sendmsg, recvmsg, bind, listen and similar calls; shared memory, priorities, CPUs."""
_SOCKET, _AF_UNIX, _AF_INET, _AF_INET6 = 41, 1, 2, 10
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
_LOAD, _EQUAL, _AT_LEAST, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_OWN_PID = 0xA5A5A5A5
"""Placeholder in the compiled filter for the child's own pid."""

Instruction = tuple[int, int, int, int]


def _argument(index: int, allowed: list[int], refusal: int = errno.EPERM) -> list[Instruction]:
    """Allow if the low word of an argument is one of `allowed`."""
    code: list[Instruction] = [(_LOAD, _ARGUMENTS + 8 * index, 0, 0)]
    for position, value in enumerate(allowed):
        code.append((_EQUAL, value, len(allowed) - position, 0))
    return [*code, (_RETURN, _ERRNO | refusal, 0, 0), (_RETURN, _ALLOW, 0, 0)]


def _thread_only() -> list[Instruction]:
    refuse: Instruction = (_RETURN, _ERRNO | errno.EPERM, 0, 0)
    return [(_LOAD, _ARGUMENTS, 0, 0), (_BITS, _CLONE_THREAD, 1, 0), refuse, (_RETURN, _ALLOW, 0, 0)]


def _no_address() -> list[Instruction]:
    """`sendto` without a destination: a pair's own other end."""
    low, high = _ARGUMENTS + 32, _ARGUMENTS + 36
    refuse: Instruction = (_RETURN, _ERRNO | errno.EPERM, 0, 0)
    return [
        (_LOAD, low, 0, 0), (_EQUAL, 0, 1, 0), refuse,
        (_LOAD, high, 0, 0), (_EQUAL, 0, 1, 0), refuse, (_RETURN, _ALLOW, 0, 0),
    ]  # fmt: skip


def _any_process() -> list[Instruction]:
    """New processes, but no new namespaces."""
    refuse: Instruction = (_RETURN, _ERRNO | errno.EPERM, 0, 0)
    return [(_LOAD, _ARGUMENTS, 0, 0), (_BITS, _NEW_NAMESPACES, 0, 1), refuse, (_RETURN, _ALLOW, 0, 0)]


def _effective_id_only() -> list[Instruction]:
    """`setresuid(-1, id, -1)` and the group equivalent: `posix_spawn` with POSIX_SPAWN_RESETIDS (make) calls them so.

    Without capabilities, the kernel only allows an id that the process has already.
    """
    refuse: Instruction = (_RETURN, _ERRNO | errno.EPERM, 0, 0)
    return [
        (_LOAD, _ARGUMENTS, 0, 0), (_EQUAL, _UNCHANGED, 1, 0), refuse,
        (_LOAD, _ARGUMENTS + 16, 0, 0), (_EQUAL, _UNCHANGED, 1, 0), refuse, (_RETURN, _ALLOW, 0, 0),
    ]  # fmt: skip


def _verdicts(
    may_exec: bool, own_pid_only: bool, processes: bool, local_sockets: bool = False, loopback: bool = False
) -> dict[int, list[Instruction]]:
    """The action for each call number that is not denied."""

    def errno_of(number: int) -> list[Instruction]:
        return [(_RETURN, _ERRNO | number, 0, 0)]

    table = {number: [(_RETURN, _ALLOW, 0, 0)] for number in ALLOWED}
    table |= {number: errno_of(0) for number in PRETENDED}
    table |= {number: errno_of(errno.ENOTSUP) for number in UNSUPPORTED}
    table |= {number: errno_of(errno.ENOSYS) for number in ABSENT}
    to_self = _argument(0, [_OWN_PID]) if own_pid_only else [(_RETURN, _ALLOW, 0, 0)]
    table |= {62: to_self, 234: to_self, 302: _argument(0, [0]), 56: _thread_only(), 44: _no_address()}
    table |= {53: _argument(0, [1]), 72: _argument(1, FCNTL, errno.EINVAL), 157: _argument(0, PRCTL)}
    table[16] = _argument(1, IOCTL, errno.ENOTTY)
    if may_exec:  # and let the new program narrow the filter
        table |= {59: table[332], 157: _argument(0, [*PRCTL, linux.PR_SET_SECCOMP])}
    if processes:
        narrow = [linux.PR_SET_PDEATHSIG, linux.PR_SET_SECCOMP, linux.PR_SET_NO_NEW_PRIVS, linux.PR_SET_CHILD_SUBREAPER]
        table |= {56: _any_process(), 57: table[332], 58: table[332], 157: _argument(0, [*PRCTL, *narrow])}
        table |= dict.fromkeys(_JOBS, table[332])
        table |= dict.fromkeys((_CHMOD, _FCHMOD), _argument(1, [_EXECUTABLE], refusal=0))
        table |= dict.fromkeys((_FCHMODAT, _FCHMODAT2), _argument(2, [_EXECUTABLE], refusal=0))
        table |= dict.fromkeys((_SETRESUID, _SETRESGID), _effective_id_only())
    if local_sockets or loopback:
        families = [_AF_UNIX, _AF_INET, _AF_INET6] if loopback else [_AF_UNIX]
        table |= dict.fromkeys(_LOCAL_SOCKETS, table[332]) | {_SOCKET: _argument(0, families)}
    return table


@lru_cache
def _compiled(
    may_exec: bool, own_pid_only: bool, processes: bool, local_sockets: bool = False, loopback: bool = False
) -> bytes:
    """The filter in the kernel's format, with a placeholder for the pid."""
    refuse: list[Instruction] = [(_RETURN, _ERRNO | errno.EPERM, 0, 0)]
    table = _verdicts(may_exec, own_pid_only, processes, local_sockets, loopback)
    cuts: list[tuple[int, list[Instruction]]] = []
    for number in range(max(table) + 2):
        verdict = table.get(number, refuse)
        if not cuts or cuts[-1][1] != verdict:
            cuts.append((number, verdict))

    def tree(low: int, high: int) -> list[Instruction]:
        if high - low == 1:
            return cuts[low][1]
        middle = (low + high) // 2
        left, right = tree(low, middle), tree(middle, high)
        if len(left) > 255:
            return [(_AT_LEAST, cuts[middle][0], 0, 1), (0x05, len(left), 0, 0), *left, *right]
        return [(_AT_LEAST, cuts[middle][0], len(left), 0), *left, *right]

    entry: list[Instruction] = [
        (_LOAD, _ARCH, 0, 0), (_EQUAL, _X86_64, 1, 0), (_RETURN, _KILL, 0, 0),
        (_LOAD, _NUMBER, 0, 0), (_BITS, _X32, 0, 1), (_RETURN, _KILL, 0, 0),
    ]  # fmt: skip
    return b"".join(struct.pack("HBBI", op, jt, jf, k) for op, k, jt, jf in entry + tree(0, len(cuts)))


def program(
    pid: int | None, *, may_exec: bool = False, processes: bool = False, local_sockets: bool = False,
    loopback: bool = False,
) -> bytes:  # fmt: skip
    """The filter as an array of `struct sock_filter`.

    Args:
        pid: the only process that signals may go to; None lifts that (in a separate pid namespace).
        may_exec: let the process replace itself again (bwrap needs this to start the program).
        processes: let it create others as well (a compiler, a shell, a program that starts each case).
        local_sockets: let its processes communicate by local sockets and shared memory (a browser, in a separate
            network
            namespace). It can't create other families of sockets.
        loopback: let them also use internet sockets (a server). Only for a network namespace that has nothing but its
            loopback.
    """
    code = _compiled(may_exec, pid is not None, processes, local_sockets, loopback)
    return code if pid is None else code.replace(struct.pack("I", _OWN_PID), struct.pack("I", pid))


class OwnFilter:
    """The filter of a fork server's children, complete except for the child's pid.

    Building it in the child would cost as much as a small program does.
    """

    def __init__(self) -> None:
        code, mark = _compiled(False, True, False), struct.pack("I", _OWN_PID)
        self._buffer = ctypes.create_string_buffer(code, len(code))
        self._header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(self._buffer))
        self._pids = [offset for offset in range(0, len(code), 4) if code[offset : offset + 4] == mark]

    def install(self, pid: int) -> None:
        """Apply it to this process, whose pid is given, for good. Requires no-new-privs."""
        for offset in self._pids:
            struct.pack_into("I", self._buffer, offset, pid)
        linux.set_filter(self._header)


@lru_cache
def own_filter() -> OwnFilter:
    """The one of this process."""
    return OwnFilter()


def install(code: bytes) -> None:
    """Put the filter on this process for good; needs no-new-privs."""
    buffer = ctypes.create_string_buffer(code, len(code))
    linux.set_filter(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer)))
