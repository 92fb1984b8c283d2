"""Runs in the sandbox: create a file tree, run one script in it, end every process, and pack the resulting files.

The order is JSON on the standard input. Contents are in `in/` next to this file, named by numbers. Packed files go to
`out/`: `result.json`, and a file per content. Readers must treat it as hostile, because the script can write there too.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import stat
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:  # not loaded in the box, because each run would take the time
    from collections.abc import Iterator
    from typing import Any

KEPT = os.path.dirname(os.path.abspath(__file__))
OUT = f"{KEPT}/out"
_DEFAULT = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that Python ignores, which its child processes would inherit."""


def main() -> None:
    """Carry out one order."""
    order = json.load(sys.stdin)
    os.makedirs(OUT, exist_ok=True)
    ours = {top for top in order["places"] if _is_ours(top)}
    missing = [top for top in order["tops"] if top not in ours]
    if missing:
        _tell({"missing": missing})
        return
    _lay_out(order, ours)
    told = _run(order)
    _tell({**told, **_packed(order)})


def _lay_out(order: dict[str, Any], ours: set[str]) -> None:
    """Make the folders, files and links, and a home if the machine's own folder of that name shows here."""
    for folder in order["folders"]:
        if "/" + folder.split("/")[1] in ours:
            os.makedirs(folder, exist_ok=True)
    if not os.access(order["env"]["HOME"], os.W_OK):
        order["env"]["HOME"] = f"{os.getcwd()}/home"
        os.makedirs(order["env"]["HOME"], exist_ok=True)
    for path, number, mode in order["files"]:
        _put(path, number, mode)
    for path, target in order["links"]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(target, path)


def _is_ours(top: str) -> bool:
    """Whether a folder at the root can be written: it leads into the work folder."""
    target = os.path.realpath(top)
    if not target.startswith(os.getcwd() + "/"):
        return False
    os.makedirs(target, exist_ok=True)
    return True


def _put(path: str, number: int, mode: int) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(f"{KEPT}/in/{number}", "rb") as source, open(path, "wb") as target:
        target.write(source.read())
    os.chmod(path, 0o755 if mode & 0o100 else 0o644)


def _run(order: dict[str, Any]) -> dict[str, Any]:
    """Run the script to its end or its deadline; then end all that it started."""
    env = {name: value.replace("{kept}", KEPT) for name, value in order["env"].items()}
    argv = [part.replace("{kept}", KEPT) for part in order["argv"]]
    begun = time.monotonic()
    why = "exit"
    os.chdir(order["cwd"])
    begins = _stdin(order["stdin"])
    try:
        child = os.posix_spawn(argv[0], argv, env, file_actions=begins, setsigdef=_DEFAULT)
    except OSError as error:
        return {"why": "start", "exit": error.errno, "seconds": 0.0, "cpu": 0.0, "memory_mb": 0.0}
    ended = select.poll()
    ended.register(os.pidfd_open(child), select.POLLIN)
    if not ended.poll(order["wall"] * 1000):
        why = "wall"
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    seconds = time.monotonic() - begun
    _end_all()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    return {"why": why, "exit": code, "seconds": seconds, "cpu": cpu, "memory_mb": memory}


def _stdin(text: str) -> list[Any]:
    """The script's input: a text that is short enough for a pipe, otherwise nothing."""
    if not text:
        return [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)]
    given, told = os.pipe()
    os.write(told, text.encode())
    os.close(told)
    return [(os.POSIX_SPAWN_DUP2, given, 0)]


def _end_all() -> None:
    """Kill every other process, also those that start others meanwhile."""
    for _ in range(1000):
        try:
            os.kill(-1, signal.SIGKILL)
        except OSError:  # there is no other
            return
        with suppress(OSError):
            while True:
                os.waitpid(-1, 0)


def _packed(order: dict[str, Any]) -> dict[str, Any]:
    """Copy the files at and below the requested paths."""
    files: list[list[object]] = []
    links: list[list[str]] = []
    left, count = order["most_bytes"], 0
    for top in order["pack"]:
        for path in _below(top):
            count += 1
            state = os.lstat(path)
            if stat.S_ISLNK(state.st_mode):
                links.append([path, os.readlink(path)])
            elif stat.S_ISREG(state.st_mode):
                left -= state.st_size
                if left < 0 or count > order["most_files"]:
                    return {"over": path}
                os.chmod(path, state.st_mode | 0o400)
                with open(path, "rb") as source, open(f"{OUT}/{len(files)}", "wb") as target:
                    target.write(source.read())
                files.append([path, len(files), stat.S_IMODE(state.st_mode)])
    return {"files": files, "links": links}


def _below(top: str) -> Iterator[str]:
    """The files at and below a path, and links unchanged. A top folder at the root is a link of the box."""
    real = os.path.realpath(top) if top.count("/") == 1 else top
    if os.path.islink(real) or os.path.isfile(real):
        yield top
        return
    for where, folders, names in os.walk(real):
        shown = top + where[len(real) :]
        for name in sorted(names):
            yield f"{shown}/{name}"
        for name in sorted(folders):
            if os.path.islink(f"{where}/{name}"):
                yield f"{shown}/{name}"


def _tell(result: dict[str, Any]) -> None:
    path = f"{OUT}/result.json"
    if os.path.lexists(path):
        os.unlink(path)
    with open(path, "w") as stream:
        json.dump(result, stream)


if __name__ == "__main__":
    main()
