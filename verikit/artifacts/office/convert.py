"""Starts LibreOffice in its box for some files, and reads what it made of them.

A file may have taken control of LibreOffice. So the answer is hostile: it is bounded, and its contents are checked by
the caller.
"""

from __future__ import annotations

import glob
import json
import os
import re
import select
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from verikit.artifacts.apart import DISPLAYING, ApplicationBox, python_paths
from verikit.errors import SandboxError, WorkspaceError

Kind = Literal["xlsx", "docx", "pptx"]
_APPS = {"xlsx": ("libsclo.so", "calc"), "docx": ("libswlo.so", "writer"), "pptx": ("libsdlo.so", "impress")}
CPU_S, MEMORY_MB, DISK_MB, WALL_S = 60, 1024, 512, 240.0
"""Limits of a start. The wall clock is far off: a busy machine must not change a score."""
RESIDENT_MB = 1536
"""Maximum of all its processes together."""
_MOST_LINE, _MOST_ANSWER = 1 << 20, 256 << 20
_LOOK_S = 0.5
"""Seconds between checks of the memory and CPU time in use."""


@cache
def program() -> str:
    """LibreOffice's own program, not the script around it. Empty if it is not installed."""
    found = shutil.which("soffice") or shutil.which("libreoffice") or ""
    folders = [os.path.dirname(os.path.realpath(found))] if found else []
    for folder in [*folders, "/usr/lib/libreoffice/program", *sorted(glob.glob("/opt/libreoffice*/program"))]:
        if os.access(f"{folder}/soffice.bin", os.X_OK):
            return f"{folder}/soffice.bin"
    return ""


class NoOffice(WorkspaceError):
    """LibreOffice is not installed here."""


class OverLimit(WorkspaceError):
    """LibreOffice used more processor time or memory than it may, or made too much: its files cause this."""


def missing(kind: Kind) -> str:
    """The command that installs LibreOffice for a kind of file. Empty if it is installed."""
    library, app = _APPS[kind]
    if program() and os.path.exists(os.path.join(os.path.dirname(program()), library)):
        return ""
    return f"apt-get install libreoffice-{app}-nogui"


def converted(
    files: Sequence[bytes], kind: Kind, form: str, cells: Mapping[str, int] | None = None
) -> list[bytes | None]:
    """Have LibreOffice convert files in one start. The result for each is None if it can't read the file.

    Args:
        files: Their contents.
        kind: Their format.
        form: The format to convert to.
        cells: Cells with the numbers of their sheets. The result then maps each, in JSON, to its type and text in the
            converted workbook.

    Raises:
        NoOffice: LibreOffice is not installed.
        OverLimit: It exceeded a limit.
        WorkspaceError: It died or took too long.
        SandboxError: The machine can't isolate it.
    """
    if sys.platform != "linux":
        raise NoOffice("office files are converted on Linux only")
    if hint := missing(kind):
        raise NoOffice(f"LibreOffice is not installed for {kind} files", hint=hint)
    order = {
        "program": program(), "kind": kind, "form": form, "cells": dict(cells or {}), "sizes": list(map(len, files)),
        "build": _setting("versionrc", "buildid"),  # in the profile, or else a first start only makes the profile
    }  # fmt: skip
    box = ApplicationBox(_command(), _readable(), {"memory": MEMORY_MB << 20, "disk": DISK_MB << 20, "cpu": CPU_S})
    try:
        answer = _exchange(box, json.dumps(order).encode() + b"\n" + b"".join(files))
        found = _parsed(answer, len(files))
        if found is not None:
            return found
        if told := box.told():
            raise SandboxError(f"the sandbox for LibreOffice can't start: {told}")
        raise WorkspaceError("LibreOffice ended before it answered")
    finally:
        box.close()


def _command() -> list[str]:
    return [sys.executable, "-I", "-S", "-c", Path(__file__).with_name("inside.py").read_text()]


def _readable() -> list[str]:
    own = [os.path.dirname(os.path.dirname(program())), "/etc/libreoffice", "/usr/share/libreoffice",
           "/var/lib/libreoffice", "/usr/share/liblangtag"]  # fmt: skip
    return [*DISPLAYING, *python_paths(), *own]


def version() -> str:
    """Name and version of the installed LibreOffice."""
    return _setting("bootstraprc", "ProductKey")


@cache
def _setting(file: str, name: str) -> str:
    """A setting of the installation. Empty if it does not have it."""
    try:
        told = Path(program()).with_name(file).read_text()
    except OSError:
        return ""
    line = re.search(rf"^{name}=(.*)$", told, re.MULTILINE)
    return line[1] if line else ""


def _exchange(box: ApplicationBox, request: bytes) -> bytes:
    """Send the request, and read to the end of the answer under the limits."""
    answer, sent, looked = bytearray(), memoryview(request), time.monotonic()
    deadline = looked + WALL_S
    waiting = select.poll()
    waiting.register(box.answers, select.POLLIN)
    waiting.register(box.commands, select.POLLOUT)
    while True:
        for descriptor, _ in waiting.poll(_LOOK_S * 1000):
            if descriptor == box.commands:
                sent = _sent(box.commands, sent)
                if not sent:
                    waiting.unregister(box.commands)
                continue
            read = os.read(box.answers, 1 << 16)
            if not read:
                return bytes(answer)
            answer += read
        if len(answer) > _MOST_ANSWER:
            raise OverLimit(f"LibreOffice made more than {_MOST_ANSWER >> 20} MB")
        now = time.monotonic()
        if now - looked >= _LOOK_S:
            looked = now
            _check_use(box, now > deadline)


def _sent(descriptor: int, rest: memoryview) -> memoryview:
    try:
        return rest[os.write(descriptor, rest[: 1 << 16]) :]
    except BlockingIOError:
        return rest
    except OSError:  # it has ended, which the answers show
        return rest[len(rest) :]


def _check_use(box: ApplicationBox, late: bool) -> None:
    if late:
        raise WorkspaceError(f"LibreOffice took more than {WALL_S:g} s")
    if box.cpu_s() > CPU_S:
        raise OverLimit(f"LibreOffice used more than {CPU_S} s of CPU time")
    if box.resident_mb() > RESIDENT_MB:
        raise OverLimit(f"LibreOffice used more than {RESIDENT_MB} MB of memory")


def _parsed(answer: bytes, count: int) -> list[bytes | None] | None:
    """The results in an answer. None if it is not one."""
    line, found, rest = answer[:_MOST_LINE].partition(b"\n")[0], [], answer
    try:
        sizes = json.loads(line)["sizes"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if type(sizes) is not list or len(sizes) != count:
        return None
    rest = answer[len(line) + 1 :]
    for size in sizes:
        if size is not None and (type(size) is not int or not 0 <= size <= len(rest)):
            return None
        found.append(None if size is None else rest[:size])
        rest = rest[size or 0 :]
    return found
