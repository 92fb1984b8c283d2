"""Landlock: which files a program may open, by the kernel's own path rules; needs no privilege.

The access bits are those that the running kernel supports (its ABI), so an old kernel gets a smaller rule set instead
of an error. ABI 4 and later also deny TCP. ABI 6 and later also deny signals and abstract sockets that leave the
sandbox. `seccomp` covers the same ground on older kernels. Not governed by Landlock: stat, chmod, chown, utime.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

from verikit.sandbox import linux

_CREATE = 444
_EXECUTE, _WRITE, _READ, _READ_DIR, _TRUNCATE, _IOCTL = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_MAKE_CHAR, _MAKE_SOCK, _MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 11
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_FS_BITS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}


def abi() -> int:
    """The kernel's Landlock version, or 0."""
    try:
        return linux.syscall(_CREATE, 0, 0, 1)
    except OSError:
        return 0


def open_paths(paths: Iterable[str]) -> list[int]:
    """Descriptors for `paths`. A missing path is skipped."""
    found = []
    for path in paths:
        try:
            found.append(os.open(path, os.O_PATH | os.O_CLOEXEC))
        except OSError:
            continue
    return found


def readable_rules(descriptors: Iterable[int], *, execute: bool = False) -> list[bytes]:
    """Rules that allow reading below the given descriptors, and with `execute` also executing."""
    return [_rule(descriptor, _READ | _READ_DIR | (_EXECUTE if execute else 0)) for descriptor in descriptors]


def writable_rules(version: int, descriptors: Iterable[int], *, execute: bool = False) -> list[bytes]:
    """Rules that allow all below the given descriptors but devices and sockets, and running unless with `execute`."""
    refused = (0 if execute else _EXECUTE) | _MAKE_CHAR | _MAKE_SOCK | _MAKE_BLOCK | _IOCTL
    return [_rule(descriptor, _everything(version) & ~refused) for descriptor in descriptors]


def _everything(version: int) -> int:
    return (1 << _FS_BITS_BY_ABI.get(version, 16)) - 1


def _rule(descriptor: int, access: int) -> bytes:
    directory = os.fstat(descriptor).st_mode & 0o170000 == 0o040000
    return struct.pack("=Qi", access if directory else access & _OF_FILES, descriptor)


def ruleset(version: int, allowed: Iterable[bytes]) -> int:
    """A descriptor of rules that allow only the given accesses."""
    everything = _everything(version)
    attributes = struct.pack("QQQ", everything, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    fields = 1 + (version >= 4) + (version >= 6)  # files, then the network, then scopes
    size = 8 * fields
    rules = linux.syscall(_CREATE, ctypes.c_char_p(attributes), size, 0)
    for rule in allowed:
        linux.landlock_add_rule(rules, rule)
    return rules


def restrict(rules: int) -> None:
    """Put this process under the rules for good; needs no-new-privs."""
    linux.landlock_restrict_self(rules)
