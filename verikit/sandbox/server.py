"""The fork server: waits with everything loaded, forks one restricted child per program, reports how it ended.

It never sees a program, its input or its output: the caller passes descriptors, and only the child reads them. So
nothing of one run is left in memory that a later child inherits. One run at a time; several servers make a pool. It is
exec'd, never forked, and ends with its caller (it monitors a pidfd and the socket's end), taking its child along.
"""

from __future__ import annotations

import array
import fcntl
import gc
import importlib
import json
import os
import re
import select
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from typing import Any, NoReturn

from verikit.sandbox import isolate, landlock, linux, namespaces, paths, processes, runner, seccomp, supervisor

_PASSED = 5
"""Descriptors of a run: standard input, output, error, records, commands."""
_POLL_DISK_MS = 20


def main() -> NoReturn:
    """Serve on descriptor 0 until the caller goes away."""
    control = socket.socket(fileno=fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 30))
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    owner = os.pidfd_open(os.getppid())
    server = None
    try:
        server = Server(control, owner, json.loads(control.recv(1 << 16)))
        control.send(json.dumps({"ready": True, **server.describe()}).encode())
        server.serve()
    except (OSError, ImportError, MemoryError) as error:
        reason = "".join(traceback.format_exception_only(error)).strip()
        control.send(json.dumps({"ready": False, "reason": reason}).encode())
    finally:
        if server is not None:
            server.clean_up()
    os._exit(0)


class Server:
    """One fork server: its restrictions, and the loop."""

    def __init__(self, control: socket.socket, owner: int, options: dict[str, Any]) -> None:
        self._control, self._owner, self._options = control, owner, options
        self._base, self._kept = "", dict[str, str]()
        self._worn = False
        """Whether the work directory of a run could not be cleared: this server must not be used again."""
        statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        maps = os.open("/proc/self/maps", os.O_RDONLY | os.O_CLOEXEC)
        self._programs = bool(options["tools"])
        """Whether programs of other languages are run, and compilers, instead of Python."""
        self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if self._programs else -1
        readable = [*paths.readable(), *filter(os.path.exists, options["tools"])]
        uid, tasks = os.geteuid(), 0
        for name in re.findall(r"^import (verikit[.\w]+)$", options["preload"], re.MULTILINE):
            importlib.import_module(name)  # out of reach once the namespaces are entered
        if options["namespaces"]:
            self._kept = namespaces.enter(readable, paths.DEVICES, streams=self._programs, places=options["places"])
            self._writable = namespaces.WORK
            self._work = namespaces.inner_work(self._kept)
        else:
            self._base = _temporary_folder()
            os.chmod(self._base, 0o711)
            self._work = self._writable = self._base + "/work"
            tasks = isolate.tasks_of(uid if uid else namespaces.NOBODY)
        os.environ.update(HOME=self._work, TMPDIR=self._work)
        exec(compile(options["preload"], "<preload>", "exec"), {"__name__": "preload"})  # noqa: S102 - verikit's own source
        drop, capabilities = _lower_user(readable) if uid == 0 else (None, 0)
        self._paranoid = options["paranoid"] and options["namespaces"] and not self._programs
        if self._paranoid:
            linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
        self._uid = uid if drop is None else drop
        self._cage = isolate.Cage(
            landlock.abi(),
            drop,
            capabilities,
            landlock.open_paths(readable),
            landlock.open_paths(paths.DEVICES),
            statm,
            tasks,
            self._programs,
        )
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
        seccomp.own_filter()
        gc.collect()
        gc.freeze()
        with open(maps, encoding="utf-8") as file:
            linux.use_huge_pages(file.read())

    def describe(self) -> dict[str, Any]:
        """The server's setup, for the report."""
        return {
            "landlock": self._cage.landlock_abi,
            "namespaces": self._options["namespaces"],
            "user_drop": self._cage.drop_to is not None,
            "root": os.geteuid() == 0,
            "base": self._base,
            "modules": [name for name in ("numpy", "sympy") if name in sys.modules],
        }

    def serve(self) -> None:
        """Take runs until the socket ends."""
        waiting = select.poll()
        waiting.register(self._control, select.POLLIN)
        waiting.register(self._owner, select.POLLIN)
        while True:
            ready = dict(waiting.poll())
            if self._owner in ready:
                return
            message, descriptors = _receive(self._control)
            if not message:
                return
            if descriptors:
                try:
                    reply = self._run(json.loads(message), descriptors)
                except OSError as error:
                    reply = {"why": "infra", "reason": str(error)}
                if reply is None:
                    return
                self._control.send(json.dumps(reply).encode())
                if self._worn:
                    return

    def _run(self, order: dict[str, Any], descriptors: list[int]) -> dict[str, Any] | None:
        """Fork a child for one run and see it to its end; None when the caller has gone meanwhile."""
        ready_read, ready_write = os.pipe()
        self._fresh_work(order)
        prepared = isolate.prepare(self._cage, order, self._writable)
        try:
            child = linux.fork_process_one() if self._programs else linux.fork_bare()
            if child == 0:
                self._child(prepared, order["session"], descriptors, ready_write)
        finally:
            isolate.release(prepared)
            for descriptor in (*descriptors, ready_write):
                os.close(descriptor)
        handle = os.pidfd_open(child)
        try:
            problem = os.read(ready_read, 4096)
            start = time.monotonic()
            why = "infra" if problem != b"ready" else self._watch(handle, child, order, start)
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)
            os.close(ready_read)
            _, status, usage = os.wait4(child, 0)
            if self._paranoid:
                _reap()
            full = self._disk_full(order)
            self._drop_work()
        if why == "owner gone":
            return None
        return {
            "why": why,
            "reason": problem.decode("utf-8", "replace") if why == "infra" else "",
            "exit": os.waitstatus_to_exitcode(status),
            "seconds": time.monotonic() - start,
            "cpu": usage.ru_utime + usage.ru_stime,
            "peak": usage.ru_maxrss,
            "cpu_over": usage.ru_utime + usage.ru_stime >= order["cpu"],
            "disk_full": full,
        }

    def _watch(self, handle: int, child: int, order: dict[str, Any], start: float) -> str:
        """Wait for the child's end, its deadline, or a message from the caller. Returns which."""
        waiting = select.poll()
        for descriptor in (handle, self._control.fileno(), self._owner):
            waiting.register(descriptor, select.POLLIN)
        deadline = start + order["wall"] if order["wall"] else None
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
            if self._base or self._programs:
                left = _POLL_DISK_MS if left is None else min(left, _POLL_DISK_MS)
            ready = dict(waiting.poll(left))
            if handle in ready:
                return "exit"
            if self._owner in ready:
                return "owner gone"
            if self._control.fileno() in ready:
                return "stopped" if self._control.recv(4096) else "owner gone"
            if deadline is not None and time.monotonic() >= deadline:
                return "wall"
            if self._base and self._disk_full(order):
                return "disk"
            if self._programs and processes.resident(self._proc, child) > order["resident"]:
                return "memory"

    def _child(self, prepared: isolate.Prepared, session: bool, descriptors: list[int], ready_write: int) -> NoReturn:
        """In the child: take the descriptors, restrict oneself, run."""
        told = ready_write
        try:
            high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 40) for descriptor in descriptors]
            ready = fcntl.fcntl(ready_write, fcntl.F_DUPFD, 40)
            if self._paranoid:
                namespaces.enter_own_processes()
            os.chdir(self._work)
            isolate.confine(prepared)
            for target, descriptor in enumerate(high):
                os.dup2(descriptor, target)
            told = os.dup2(ready, _PASSED)
            os.closerange(_PASSED + 1, 1 << 16)
            if "random" in sys.modules:
                sys.modules["random"].seed()
            if "numpy.random" in sys.modules:
                sys.modules["numpy.random"].seed()
            os.write(_PASSED, b"ready")
            os.close(_PASSED)
        except BaseException as error:  # noqa: BLE001 - a worker's main
            os.write(told, f"a child could not be restricted: {error!r}".encode()[:4000])
            os._exit(1)
        try:
            if self._programs:
                supervisor.main()
            runner.main(session=session)
        finally:
            os._exit(1)

    def _fresh_work(self, order: dict[str, Any]) -> None:
        if not self._base:
            namespaces.fresh_work(int(order["disk"]), int(order["files"]), self._uid, self._kept)
            return
        os.mkdir(self._work, 0o700)
        os.chown(self._work, self._uid, self._uid if os.geteuid() == 0 else -1)

    def _drop_work(self) -> None:
        if not self._base:
            namespaces.drop_work()
            return
        try:
            paths.remove_tree(self._work)
        except OSError:
            self._worn = True

    def _disk_full(self, order: dict[str, Any]) -> bool:
        """Whether the run has used up its disk space."""
        if self._base:
            return paths.exceeds(self._work, int(order["disk"]), int(order["files"]))
        state = os.statvfs(self._work)
        return state.f_bavail == 0 or state.f_favail == 0

    def clean_up(self) -> None:
        """Remove the files on the disk of the machine."""
        if self._base:
            with suppress(OSError):
                paths.remove_tree(self._base)


def _temporary_folder() -> str:
    """Imported only here: it loads libraries that each fork would copy the maps of."""
    import tempfile

    folder = tempfile.mkdtemp(prefix="verikit-")
    tempfile.tempdir = None  # a child has another one
    return folder


def _reap() -> None:
    """Collect the processes a killed run left to us."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


def _receive(control: socket.socket) -> tuple[bytes, list[int]]:
    """One message and the descriptors that came with it."""
    message, ancillary, _, _ = control.recvmsg(1 << 16, socket.CMSG_LEN(_PASSED * 4), socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    return message, list(descriptors)


def _lower_user(readable: list[str]) -> tuple[int | None, int]:
    """The user that root's children become, and their capabilities; found by a child that tries it."""
    child = os.fork()
    if child == 0:
        try:
            isolate.become(namespaces.NOBODY)
            linux.keep_capabilities(0)
        except OSError:
            os._exit(2)
        os._exit(0 if all(os.access(path, os.R_OK) for path in (os.__file__, *readable)) else 1)
    found = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if found == 2:
        return None, 0
    return namespaces.NOBODY, linux.CAP_DAC_READ_SEARCH if found and landlock.abi() else 0
