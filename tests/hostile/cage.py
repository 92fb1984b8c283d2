"""A cage for hostile programs: `enter()` moves a root process into fresh user, mount, pid, net, ipc and uts namespaces.

Inside, every mount of the host is read-only, the temporary folders and the home folder are empty memory file systems,
and the loopback is the only network; no capability reaches the machine. The process that comes back from `enter` is
process 1: all others die with it. It shares no code with the sandbox under test.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
import sys

NEW_MOUNTS = 0x20000
REST = 0x20000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000
READ_ONLY, RECURSIVE = 1, 0x8000
HIDDEN = ("/tmp", "/var/tmp", "/dev/shm", "/srv")
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    _check(_libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()))


def enter(keep: list[str], address_gb: int = 3) -> None:
    """Enter the cage; of what it hides, the folders in `keep` stay readable.

    The view is built with the machine's own root in a mount namespace, then handed over locked to a user namespace.
    """
    _check(_libc.unshare(NEW_MOUNTS))
    _mount("none", "/", "none", 0x4000 | 0x40000)
    kept = {path: os.open(path, os.O_PATH) for path in keep if os.path.isdir(path)}
    _attributes("/", RECURSIVE, put=READ_ONLY)
    _attributes("/proc", 0, clear=READ_ONLY)
    home = os.path.expanduser("~")
    for path in dict.fromkeys([*HIDDEN, home]):
        if path != "/" and os.path.isdir(path):
            _mount("tmpfs", path, "tmpfs", 2 | 4, "size=256m,mode=755" if path == home else "size=256m,mode=1777")
    for path, descriptor in kept.items():
        if not os.path.isdir(path):
            os.makedirs(path)
            _mount(f"/proc/self/fd/{descriptor}", path, "none", 0x1000 | 0x4000)
        os.close(descriptor)
    _unshare_rest()
    _libc.prctl(1, signal.SIGKILL)
    _mount("proc", "/proc", "proc", 2 | 4 | 8)
    _loopback_up()
    resource.setrlimit(resource.RLIMIT_AS, (address_gb << 30, address_gb << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _attributes(path: str, flags: int, put: int = 0, clear: int = 0) -> None:
    attributes = (ctypes.c_uint64 * 4)(put, clear, 0, 0)
    _check(_libc.syscall(442, -1, path.encode(), flags, ctypes.byref(attributes), 32))


def _unshare_rest() -> None:
    """All other namespaces, the ids mapped by a helper outside; returns in process 1 of the new pid namespace."""
    read, write = os.pipe()
    target = os.getpid()
    if (helper := os.fork()) == 0:
        os.close(write)
        os.read(read, 1)
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{target}/{name}", "w") as file:
                file.write("0 0 65536")
        os._exit(0)
    _check(_libc.unshare(REST))
    os.write(write, b"1")
    os.close(read)
    os.close(write)
    if os.waitpid(helper, 0)[1]:
        sys.exit("the cage's ids can't be mapped")
    if first := os.fork():
        os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) & 0xFF)


def _loopback_up() -> None:
    with socket.socket() as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 1 | 64))


def deny_namespaces() -> None:
    """Refuse unshare, mount and clone with namespaces from here on, as containers do; clone3 is absent."""

    def op(code: int, k: int, jt: int = 0, jf: int = 0) -> bytes:
        return struct.pack("HBBI", code, jt, jf, k)

    allow, refuse, absent = op(6, 0x7FFF0000), op(6, 0x50001), op(6, 0x50026)
    program = op(0x20, 0) + b"".join(op(0x15, n, 0, 1) + refuse for n in (155, 165, 166, 272, 308, 428, 429, 442))
    program += op(0x15, 435, 0, 1) + absent + op(0x15, 56, 1, 0) + allow + op(0x20, 16) + op(0x45, 0x7E020000, 0, 1)
    program += refuse + allow
    buffer = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer)))
    _check(_libc.prctl(38, 1, 0, 0, 0))
    _check(_libc.prctl(22, 2, header, 0, 0))
