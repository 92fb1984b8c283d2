"""A precompiled `<bits/stdc++.h>`: most C++ answers include it, and reading it takes three quarters of their compile.

It is made once per machine, compiler, flags and state of the headers, from that one line and nothing of a candidate. It
is in the user's cache folder, and compilers in the sandbox see its folder read-only. The compiler decides whether it
fits a program, and otherwise reads the headers as usual.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from verikit.sandbox.toolchains import Toolchain

HEADER = "bits/stdc++.h"
_LINE = f"#include <{HEADER}>\n"
PAYS = 8
"""Number of programs with the header after which a process makes it. That costs as much as compiling four of them."""
_TIMEOUT_S = 120
_INCLUDES = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<bits/stdc\+\+\.h>", re.MULTILINE)
_LINKING = ("-o", "-s", "-lm")
_lock = threading.Lock()
_seen = 0


def faster(chain: Toolchain, text: str) -> Toolchain:
    """The toolchain with the header for a program that includes it, if the header exists or this call makes it."""
    if chain.language != "cpp" or not _INCLUDES.search(text):
        return chain
    folder = _folder_for(chain.build)
    if not folder:
        return chain
    compiler, *rest = chain.build
    return replace(chain, build=(compiler, f"-I{folder}", *rest), tools=(*chain.tools, folder))


def _folder_for(build: Sequence[str]) -> str:
    """The header's folder; empty if there is none. Threads that come while one makes it go on without."""
    global _seen
    if not _lock.acquire(blocking=False):
        return ""
    try:
        _seen += 1
        flags = tuple(part for part in build[1:] if part.startswith("-") and part not in _LINKING)
        folder = _place(build[0], flags)
        if folder is None:
            return ""
        if _seen >= PAYS and not is_own(folder):
            _make(build[0], flags, folder)
        return str(folder) if is_own(folder) else ""
    finally:
        _lock.release()


@cache
def _place(compiler: str, flags: tuple[str, ...]) -> Path | None:
    """The folder for this compiler, these flags and these headers. None if the compiler can't list them."""
    listed = _told(compiler, *flags, "-x", "c++", "-M", "-")
    version = _told(compiler, "--version")
    parent = _cache_folder()
    if not listed or not version or parent is None:
        return None
    digest = hashlib.sha256(repr((version, os.path.realpath(compiler), flags)).encode())
    for path in sorted(set(listed.replace("\\\n", " ").split()[1:])):
        try:
            state = os.stat(path)
        except OSError:
            return None
        digest.update(repr((path, state.st_size, state.st_mtime_ns)).encode())
    return parent / f"cpp-{digest.hexdigest()[:24]}"


def _cache_folder() -> Path | None:
    """The folder `verikit` in the user's cache folder. None for a user without a home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "verikit"
    except RuntimeError:
        return None


def is_own(folder: Path) -> bool:
    """Whether the header is there, and nobody but this user or root can have written it."""
    try:
        states = [os.lstat(path) for path in (folder, (folder / HEADER).parent, _file(folder))]
    except OSError:
        return False
    return all(state.st_uid in (0, os.geteuid()) and not state.st_mode & 0o022 for state in states)


@cache
def _make(compiler: str, flags: tuple[str, ...], folder: Path) -> None:
    """Make the header, outside any sandbox, since nothing of a candidate is in it. Tried once in a process."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    except OSError:
        return
    try:
        target, source = _file(unfinished), unfinished / "source.h"
        target.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(_LINE, encoding="ascii")
        if _told(compiler, *flags, "-x", "c++-header", str(source), "-o", str(target)) is None:
            return  # it may have left half a header
        source.unlink()
        for path, mode in ((target, 0o444), (target.parent, 0o755), (unfinished, 0o755)):
            path.chmod(mode)  # the user of the compilers in the sandbox reads it
        unfinished.rename(folder)  # another process may have been first
    except OSError:
        pass
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _file(folder: Path) -> Path:
    return folder / f"{HEADER}.gch"


def _told(*command: str) -> str | None:
    """The output of a compiler whose standard input is the one line that includes the header. None if it fails."""
    try:
        done = subprocess.run(command, input=_LINE, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout
