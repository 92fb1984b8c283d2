"""Starts a program that is a server in its own box: the inside of `verikit.artifacts.service.box`.

The box has a network namespace with nothing but its loopback, a root that shows only listed paths, a memory file system
with the workspace's files, the lower user, no capabilities, limits, and a system call filter. This process stays
outside the program's namespace of processes, so the program can neither see nor signal it. It starts and stops the
program on command, and provides sockets. A socket created here stays in the box's network wherever it is used.
"""

from __future__ import annotations

import array
import fcntl
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import Any, NoReturn

from verikit.sandbox import isolate, linux, namespaces, paths, seccomp

_FILES = 20_000
_PROCESSES = 128
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_HOSTS = "127.0.0.1 localhost\n::1 localhost\n"
_NOT_STARTED = 127
"""The exit code of a program that can't be executed, as shells give it."""


def main() -> NoReturn:
    """Make the box, then obey the caller, who is on descriptor 0, until it goes away."""
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    control = socket.socket(fileno=fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 30))
    contents, output = int(sys.argv[2]), int(sys.argv[3])
    try:
        service = StartedService(contents, output)
        control.send(b"{}")
        while message := control.recv(4096):
            reply, descriptors = service.obey(json.loads(message))
            sent = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
            control.sendmsg([json.dumps(reply).encode()], sent)
            for descriptor in descriptors:
                os.close(descriptor)
    except OSError as error:
        with suppress(OSError):
            control.send(json.dumps({"infra": str(error)}).encode())
    os._exit(0)


class StartedService:
    """The box, and the program in it.

    Args:
        contents: A file with a line of JSON (`command`, `environment`, `readable`, `memory`, `cpu`, `disk`, `folders`,
            and `files` as [path, mode, size]), followed by the bytes of the files.
        output: The destination of the program's output.
    """

    def __init__(self, contents: int, output: int) -> None:
        with open(contents, "rb") as file:
            self._order: dict[str, Any] = json.loads(file.readline())
            blob = file.read()
        self._output = output
        self._uid = namespaces.NOBODY if os.geteuid() == 0 else os.geteuid()
        self._first = 0
        """Process 1 of the program's namespace, while it runs."""
        self._exit: int | None = None
        readable = [path for path in [*self._order["readable"], "/etc/hosts"] if os.path.exists(path)]
        kept = namespaces.enter(readable, paths.DEVICES)
        _name_loopback()
        namespaces.fresh_work(self._order["disk"], _FILES, self._uid, kept)
        self._work = namespaces.inner_work(kept)
        self._lay(blob)

    def _lay(self, blob: bytes) -> None:
        """Write the workspace's files. The program is not running yet, so the paths can't be redirected."""
        start = 0
        made = [f"{self._work}/{folder}" for folder in self._order["folders"]]
        for folder in made:
            os.makedirs(folder, exist_ok=True)
        for name, mode, size in self._order["files"]:
            path = f"{self._work}/{name}"
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with open(descriptor, "wb") as file:
                file.write(blob[start : start + size])
            made.append(path)
            start += size
        for path in made:
            os.chown(path, self._uid, self._uid if os.geteuid() == 0 else -1)

    def obey(self, command: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        """Carry out a command; its reply, with the descriptors that belong to it."""
        match command["do"]:
            case "start":
                self._start()
            case "socket":
                made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
                return {}, [made.detach()]
            case "stop":
                return {"alone": self._stop(command["seconds"])}, []
        self._look()
        return {"exit": self._exit}, []

    def _start(self) -> None:
        read, write = os.pipe2(os.O_CLOEXEC)
        self._exit = None
        self._first = linux.fork_process_one()
        if self._first == 0:
            self._be_first(write)
        os.close(write)
        told = os.read(read, 4096)
        os.close(read)
        if told != b"ready":
            raise OSError(f"the program could not be restricted: {told.decode('utf-8', 'replace')}")

    def _be_first(self, told: int) -> NoReturn:
        """Restrict this process, start the program as process 2, and mirror its end. All its processes end with it."""
        try:
            os.chdir(self._work)
            os.umask(0o022)
            if os.geteuid() == 0:
                isolate.become(self._uid)
            _limit(self._order)
            second = os.fork()
            if second == 0:
                self._become_program(told)
            signal.signal(signal.SIGTERM, lambda *_: os.kill(second, signal.SIGTERM))
            os.closerange(0, 1 << 10)
            ended = status = 0
            while ended != second:
                ended, status = os.waitpid(-1, 0)
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)
        except (OSError, ValueError, MemoryError) as error:
            with suppress(OSError):
                os.write(told, repr(error).encode()[:4000])
        os._exit(1)

    def _become_program(self, told: int) -> NoReturn:
        null = os.open("/dev/null", os.O_RDWR)
        for target, descriptor in enumerate((null, self._output, self._output)):
            os.dup2(descriptor, target)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, and the program would inherit that
            signal.signal(number, signal.SIG_DFL)
        os.write(told, b"ready")
        os.closerange(3, 1 << 10)
        command = [part.replace("{work}", self._work) for part in self._order["command"]]
        environment = {**self._order["environment"], "HOME": self._work, "TMPDIR": self._work}
        try:
            os.execve(command[0], command, environment)
        except OSError as error:
            os.write(2, f"{error.strerror}\n".encode())
        os._exit(_NOT_STARTED)

    def _look(self) -> None:
        """Note whether the program has ended."""
        if self._first:
            ended, status = os.waitpid(self._first, os.WNOHANG)
            if ended:
                self._first, self._exit = 0, os.waitstatus_to_exitcode(status)

    def _stop(self, seconds: float) -> bool:
        """End the program and all its processes, after SIGTERM if `seconds` is set. Whether it exited on its own."""
        self._look()
        if not self._first:
            return True
        handle = os.pidfd_open(self._first)
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        if seconds:
            os.kill(self._first, signal.SIGTERM)
        alone = bool(waiting.poll(seconds * 1000))
        os.close(handle)
        os.kill(self._first, signal.SIGKILL)
        os.waitpid(self._first, 0)
        self._first = 0
        return alone


def _name_loopback() -> None:
    """Switch on the loopback and name it. Other names don't resolve."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        fcntl.ioctl(made, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP))
    socket.sethostname("localhost")
    if os.path.exists("/etc/hosts"):  # the machine's file, which this one replaces
        linux.mount("tmpfs", namespaces.WORK, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=1m,mode=755")
        with open(f"{namespaces.WORK}/hosts", "w", encoding="ascii") as file:
            file.write(_HOSTS)
        linux.mount(f"{namespaces.WORK}/hosts", "/etc/hosts", "none", linux.MS_BIND)
        linux.make_read_only("/etc/hosts")


def _limit(order: dict[str, Any]) -> None:
    wanted = {
        resource.RLIMIT_DATA: order["memory"], resource.RLIMIT_CPU: order["cpu"], resource.RLIMIT_FSIZE: order["disk"],
        resource.RLIMIT_NOFILE: 512, resource.RLIMIT_NPROC: _PROCESSES, resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0, resource.RLIMIT_MSGQUEUE: 0,
    }  # fmt: skip
    for kind, most in wanted.items():
        resource.setrlimit(kind, (most, most))
    linux.keep_capabilities(0)
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.install(seccomp.program(None, may_exec=True, processes=True, local_sockets=True, loopback=True))
