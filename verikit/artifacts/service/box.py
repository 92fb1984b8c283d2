"""Starts a server in its box, monitors its resource use, and ends it with all its processes."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from verikit.artifacts.service.programs import ServiceProgram
from verikit.errors import AgentFault, SandboxUnavailable, WorkspaceError
from verikit.workspaces.names import shown

CPU_S, MEMORY_MB, DISK_MB, TOTAL_S = 60, 1024, 256, 120
"""Limits of a box: CPU seconds and memory of all processes together, its file system, and seconds from start to end."""
FILES_MB = 128
"""Maximum MiB of the workspace's files, which use part of the box's file system."""
_TICK_S = 0.05
_COMMAND_S = 60.0
"""Maximum seconds for a command of the box. The box runs verikit's code, so this limit is for a stuck machine."""
_CLOSE_S = 5.0
_SHOWN = 400
"""Bytes at the end of the program's output that reasons show."""
_REMEDY = "docker: --security-opt seccomp=… with unshare and mount; Ubuntu: an AppArmor profile with `userns`"


class ServiceBox:
    """One box. A program can be started and stopped in it many times. Its files stay until the box is closed.

    Args:
        program: The command.
        files: Content and mode of the workspace's files, by path.
        folders: Paths of the workspace's folders.
        port: The port that the program should listen on, passed to it as `PORT`.

    Raises:
        WorkspaceError: This is not Linux, or the files are too large.
        SandboxUnavailable: The machine doesn't allow namespaces.
    """

    def __init__(
        self, program: ServiceProgram, files: Mapping[str, tuple[bytes, int]], folders: Sequence[str], port: int
    ) -> None:
        if sys.platform != "linux":
            raise WorkspaceError("services are started on Linux only")
        if sum(len(data) for data, _ in files.values()) > FILES_MB << 20:
            raise WorkspaceError(f"the workspace has over {FILES_MB} MB of files")
        from verikit.sandbox.client import clean_environment, command, sealed

        order = {
            "command": list(program.command), "readable": list(program.readable), "folders": list(folders),
            "files": [[path, mode, len(data)] for path, (data, mode) in files.items()],
            "environment": {
                "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "PORT": str(port),
                "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
            },
            "memory": MEMORY_MB << 20, "cpu": CPU_S, "disk": DISK_MB << 20,
        }  # fmt: skip
        self.port = port
        self._ends = time.monotonic() + TOTAL_S
        self._told = b""
        self._output, output = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(output, True)
        contents = sealed(json.dumps(order).encode() + b"\n", *(data for data, _ in files.values()))
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(_COMMAND_S)
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [*command("service"), str(contents), str(output)], stdin=theirs.fileno(), stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, cwd="/", env=clean_environment(), start_new_session=True,
                pass_fds=[contents, output],
            )  # fmt: skip
        except OSError as error:
            self._control.close()
            os.close(self._output)
            raise SandboxUnavailable(f"the service's box can't be made: {error}") from None
        finally:
            theirs.close()
            os.close(contents)
            os.close(output)
        try:
            self._reply()
        except SandboxUnavailable:
            self.close()
            raise

    def start(self) -> None:
        """Start the program.

        Raises:
            SandboxUnavailable: It could not be restricted.
        """
        self._command("start")

    def stop(self, seconds: float = 0.0) -> bool:
        """End the program and all its processes, after SIGTERM if `seconds` is set. Whether it exited on its own."""
        return bool(self._command("stop", seconds=min(seconds, _COMMAND_S / 2))["alone"])

    def new_socket(self) -> socket.socket:
        """An unconnected socket in the network of the box."""
        self._control.send(b'{"do": "socket"}')
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, 4096, 1)
        except OSError as error:
            raise SandboxUnavailable(f"the service's box does not answer: {error}") from None
        if not message or not descriptors:
            raise SandboxUnavailable("the service's box has ended")
        made = socket.socket(fileno=descriptors[0])
        made.setblocking(False)
        return made

    def check_running(self, when: str) -> None:
        """Look whether the program runs.

        Raises:
            AgentFault: It has ended.
        """
        code = self._command("look")["exit"]
        if code is not None:
            self._drain()
            end = self._told.decode("utf-8", "replace").strip()
            raise AgentFault(f"the program ended with exit code {code} {when}" + (f": …{shown(end)}" if end else ""))

    def wait(self, link: socket.socket | None, deadline: float, what: str, *, writing: bool = False) -> None:
        """Wait until a socket is ready, or for one tick without a socket. Meanwhile, monitor the program."""
        waiting = select.poll()
        waiting.register(self._output, select.POLLIN)
        if link is not None:
            waiting.register(link, select.POLLIN | (select.POLLOUT if writing else 0))
        until = time.monotonic() + _TICK_S
        while True:
            self._check_use()
            now = time.monotonic()
            if now >= min(deadline, self._ends):
                raise AgentFault(what if now >= deadline else f"the service took over {TOTAL_S} seconds in all")
            if link is None and now >= until:
                return
            ready = dict(waiting.poll(_TICK_S * 1000))
            if self._output in ready:
                self._drain()
            if link is not None and link.fileno() in ready:
                return

    def _drain(self) -> None:
        """Read the program's output, to keep it from blocking, and keep the end of that output."""
        with suppress(BlockingIOError):
            for _ in range(16):  # a program that prints without end must not keep us here
                read = os.read(self._output, 1 << 16)
                if not read:
                    return
                self._told = (self._told + read)[-_SHOWN:]

    def _check_use(self) -> None:
        from verikit.sandbox import processes

        if processes.measured(processes.resident, self._process.pid) > MEMORY_MB << 20:
            raise AgentFault(f"the program uses over {MEMORY_MB} MB of memory")
        if processes.measured(processes.processor_seconds, self._process.pid) > CPU_S:
            raise AgentFault(f"the program uses over {CPU_S} seconds of CPU time")

    def _command(self, do: str, **arguments: float) -> dict[str, Any]:
        try:
            self._control.send(json.dumps({"do": do, **arguments}).encode())
        except OSError as error:
            raise SandboxUnavailable(f"the service's box has ended: {error}") from None
        return self._reply()

    def _reply(self) -> dict[str, Any]:
        try:
            message = self._control.recv(1 << 16)
        except OSError as error:
            raise SandboxUnavailable(f"the service's box does not answer: {error}") from None
        reply: dict[str, Any] = json.loads(message) if message else {"infra": "it has ended"}
        if "infra" in reply:
            raise SandboxUnavailable(f"the service's box can't be made: {reply['infra']}", hint=_REMEDY)
        return reply

    def close(self) -> None:
        """End the box with all that runs in it, and wait until that has ended."""
        self._control.settimeout(_CLOSE_S)
        with suppress(SandboxUnavailable):
            self.stop()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._control.close()
        os.close(self._output)

    def __enter__(self) -> ServiceBox:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
