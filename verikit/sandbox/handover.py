"""Runs next to programs of other languages: replaces this process by the native supervisor (`native/cases.c`).

It runs cases like `supervisor.Supervisor` does, and writes the same records, for a fraction of the time. Its inputs are
prepared here: files, and a plan on descriptor 5.
"""

from __future__ import annotations

import os
import struct
from typing import Any, NoReturn

from verikit.sandbox.namespaces import WORK

RECORD, CONTENTS, PLAN = 3, 4, 5
STREAMS = (".stdin", ".stdout", ".stderr")
"""The files of a case, next to the program's. No package of Java has such a name."""


def hand_over(job: dict[str, Any], contents: int, kept: str, work: str) -> NoReturn:
    """Become the native supervisor of a job.

    Args:
        job: as for `supervisor.Supervisor`; `native` is the location of the supervisor's program.
        contents: the offset of the contents in descriptor 4.
        kept: the folder of the program and the streams.
        work: the working directory of each case.

    Raises:
        OSError: It can't be started.
    """
    base = os.path.dirname(kept)
    os.mkdir(work)
    native = f"{base}/.native"
    start, end = job["native"]
    _put(native, contents, start, end, 0o700)
    argv, alone = ([part.replace("{kept}", kept) for part in job[command]] for command in ("argv", "alone"))
    program, folders, sealed = [0, 0], [kept], list[str]()
    for name, start, end, mode in job["files"]:
        path = f"{kept}/{name}"
        if path == argv[0]:
            program = [contents + start, end - start]
        else:
            _make_folder(path, folders)
            _put(path, contents, start, end, mode)
            sealed.append(path)
    streams = [f"{kept}/{name}" for name in STREAMS]
    env = [f"{name}={value.replace('{work}', work).replace('{kept}', kept)}" for name, value in job["env"].items()]
    _plan(job, contents, program, [base, work, *streams], argv, alone, env, [WORK, base, *folders, *sealed])
    os.execve(native, [native], {})


def _make_folder(path: str, made: list[str]) -> None:
    """Make the folders of a file that are not made yet."""
    folder = path.rpartition("/")[0]
    if folder not in made:
        _make_folder(folder, made)
        os.mkdir(folder)
        made.append(folder)


def _put(path: str, contents: int, start: int, end: int, mode: int) -> None:
    """Write a file from descriptor 4, without reading it here."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    while start < end:
        sent = os.sendfile(descriptor, CONTENTS, contents + start, end - start)
        if not sent:
            raise OSError(f"{path}: the contents end early")
        start += sent
    os.close(descriptor)


def _plan(
    job: dict[str, Any], contents: int, program: list[int], paths: list[str], argv: list[str], alone: list[str],
    env: list[str], sealed: list[str],
) -> None:  # fmt: skip
    """Write `struct head`, the cases and the strings of `cases.c` to descriptor 5."""
    numbers = [
        *map(len, (argv, alone, env, sealed, job["cases"])), int(job["wall"] * 1e9), int(job["budget"] * 1e9),
        job["output"], int(job["stop"]), int(job["engine"]), *program,
    ]  # fmt: skip
    for start, end in job["cases"]:
        numbers += [contents + start, end - start]
    text = b"".join(os.fsencode(string) + b"\0" for string in (*paths, *argv, *alone, *env, *sealed))
    path = f"{os.path.dirname(paths[1])}/.plan"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(path)
    left = struct.pack(f"{len(numbers)}Q", *numbers) + text
    while left:
        left = left[os.write(descriptor, left) :]
    os.dup2(descriptor, PLAN)
    for kept in (RECORD, CONTENTS, PLAN):
        os.set_inheritable(kept, True)
    os.closerange(PLAN + 1, 256)
