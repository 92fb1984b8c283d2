"""A private root: user, mount, network, ipc and host-name namespaces, built once per fork server.

Inside there is a read-only view of the files that Python needs, five devices, and an empty /tmp. Every run has a fresh
memory file system on /tmp, which also shows the files that Python needs from the machine's own /tmp. The
loopback is down, and nothing else of the machine has a name. It works as root, and without root if the kernel lets
users create namespaces. Any failure raises OSError. The caller then starts over without namespaces and reports it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping
from typing import NoReturn

from verikit.sandbox import linux

NOBODY = 65534
WORK = "/tmp"
_KEPT = "/kept"
"""Second path of files below `WORK` on the machine, because each run's own file system covers `WORK`."""
_ALL = linux.CLONE_NEWUSER | linux.CLONE_NEWNS | linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS


STREAMS = ("stdin", "stdout", "stderr")


def enter(
    readable: Iterable[str], devices: Iterable[str], *, streams: bool = False, places: Iterable[str] = ()
) -> dict[str, str]:
    """Move this process into its own namespaces, with a private root that shows only the given paths.

    With `streams`, `/dev/stdin`, `/dev/stdout` and `/dev/stderr` lead to files of a supervisor, because there is no
    /proc.

    Each of `places` (`/app`) that doesn't exist otherwise leads to a folder of that name in a supervisor's work folder.

    Returns, for `fresh_work`, the new paths or link targets of paths below `WORK` (such as an environment created
    there).
    """
    _unshare_user()
    linux.mount("none", "/", "none", linux.MS_REC | linux.MS_PRIVATE)
    sources = {path: os.open(path, os.O_PATH) for path in _outermost(readable)}
    nodes = {path: os.open(path, os.O_PATH) for path in devices if os.path.exists(path)}
    links = _links(readable)  # read now: paths below `WORK` are covered after this
    linux.mount("tmpfs", WORK, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=1m,mode=755")
    for path, descriptor in sources.items():
        _bind(descriptor, WORK + path)
        linux.make_read_only(WORK + path)
    kept = {path: f"{_KEPT}/{number}" for number, path in enumerate(sources) if path.startswith(WORK + "/")}
    for path, copy in kept.items():
        _bind(sources[path], WORK + copy)
        linux.make_read_only(WORK + copy)
    for path, descriptor in nodes.items():
        _bind(descriptor, WORK + path)
    for link, target in links:
        if not os.path.lexists(WORK + link):
            os.makedirs(os.path.dirname(WORK + link), exist_ok=True)
            os.symlink(target, WORK + link)
    below = {link: target for link, target in links if link.startswith(WORK + "/")}
    for name in STREAMS if streams else ():
        os.symlink(f"{inner_work(kept | below)}/.verikit/.{name}", f"{WORK}/dev/{name}")
    _lead(places, f"{inner_work(kept | below)}/work")
    os.makedirs(WORK + WORK, exist_ok=True)
    for descriptor in (*sources.values(), *nodes.values()):
        os.close(descriptor)
    os.chdir(WORK)
    linux.pivot_root_here()
    flags = linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV
    linux.mount("none", "/", "none", flags)
    return kept | below


def _lead(places: Iterable[str], into: str) -> None:
    """Make links at the root that lead to folders of their names in a work folder."""
    for place in places:
        if not os.path.lexists(WORK + place):
            os.symlink(f"{into}{place}", WORK + place)


def fresh_work(disk_bytes: int, files: int, uid: int, kept: Mapping[str, str]) -> None:
    """Mount a memory file system on `WORK`: empty, or with what `enter` kept and an empty `inner_work`."""
    inodes = files + sum(path.count("/") for path in kept)
    options = f"size={disk_bytes},nr_inodes={inodes},mode=700,uid={uid},gid={uid}"
    linux.mount("tmpfs", WORK, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, options)
    for path, copy in kept.items():
        if copy.startswith(_KEPT):
            _make_target(path, like=copy)
            linux.mount(copy, path, "none", linux.MS_BIND | linux.MS_REC)
        elif not os.path.lexists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(copy, path)
    if kept:
        os.mkdir(inner_work(kept), 0o700)
        os.chown(inner_work(kept), uid, -1)


def inner_work(kept: Mapping[str, str]) -> str:
    """The directory where a run starts: a separate one if other paths appear in `WORK`."""
    return f"{WORK}/.verikit-work" if kept else WORK


def drop_work() -> None:
    """Take the run's file system away with all that is in it."""
    linux.unmount(WORK)


def enter_own_processes() -> None:
    """Continue in a separate pid and mount namespace, as process 2. The caller's process stays behind and mirrors it.

    Process 1 only waits. Signals to oneself behave as usual in process 2, and all end with either of the others.
    """
    linux.unshare(linux.CLONE_NEWPID | linux.CLONE_NEWNS)
    first = os.fork()
    if first:
        number = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
        _die_of(number if number > 0 else -number)
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    second = os.fork()
    if second:
        os._exit(max(0, -os.waitstatus_to_exitcode(os.waitpid(second, 0)[1])))


def _die_of(number: int) -> NoReturn:
    """End in the same way as the program: by the same signal, or normally."""
    if number:
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(0)


def _unshare_user() -> None:
    """Enter the namespaces; root keeps two ids (root and `nobody`), a user only its own.

    Two ids can only be mapped from outside, so a helper that stays behind writes the maps.
    """
    uid, gid, own = os.geteuid(), os.getegid(), os.getpid()
    go_read, go_write = os.pipe()
    helper = os.fork()
    if helper == 0:
        os.close(go_write)
        try:
            if os.read(go_read, 1):
                _write_maps(own, uid, gid)
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or 1)
    os.close(go_read)
    try:
        linux.unshare(_ALL)
        os.write(go_write, b"1")
    finally:
        os.close(go_write)
        _, status = os.waitpid(helper, 0)
    if status:
        number = os.waitstatus_to_exitcode(status)
        raise OSError(number, f"user namespace made, but its ids can't be mapped: {os.strerror(number)}")


def _write_maps(pid: int, uid: int, gid: int) -> None:
    def put(name: str, text: str) -> None:
        with open(f"/proc/{pid}/{name}", "w") as file:
            file.write(text)

    if uid == 0:
        put("uid_map", f"0 0 1\n{NOBODY} {NOBODY} 1\n")
        put("gid_map", f"0 0 1\n{NOBODY} {NOBODY} 1\n")
    else:
        put("setgroups", "deny")
        put("uid_map", f"{uid} {uid} 1\n")
        put("gid_map", f"{gid} {gid} 1\n")


def _outermost(paths: Iterable[str]) -> list[str]:
    """Real paths, without paths that are below another."""
    kept: list[str] = []
    for path in sorted({os.path.realpath(path) for path in paths}):
        if not kept or not path.startswith(kept[-1] + "/"):
            kept.append(path)
    return kept


def _links(paths: Iterable[str]) -> list[tuple[str, str]]:
    """(name, real path) of those paths that lead through a symbolic link."""
    return [(path, os.path.realpath(path)) for path in paths if os.path.realpath(path) != path]


def _make_target(path: str, *, like: str) -> None:
    """Create a mount point for the same kind of entry: a directory or a file."""
    if os.path.isdir(like):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o444))


def _bind(descriptor: int, target: str) -> None:
    """Bind the descriptor's file or directory to `target`."""
    source = f"/proc/self/fd/{descriptor}"
    _make_target(target, like=source)
    linux.mount(source, target, "none", linux.MS_BIND | linux.MS_REC)
