"""The caller's end of a fork server: start it, pass it a run, read the output, always with a deadline.

The caller owns the descriptors of a run. The server only passes them to the child. Output is read here with its caps.
The server measures time, and this module does so if the server fails. `Broken` means that the server itself has ended
or is unsound.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from verikit.errors import SandboxError, SandboxUnavailable
from verikit.platform.system import WSL
from verikit.sandbox import meter
from verikit.sandbox.types import RunLimits

try:
    import fcntl
except ImportError:  # the first module of the sandbox that Windows lacks something for
    raise SandboxUnavailable(f"programs can't be run on {sys.platform}", hint=WSL) from None

START_S = 180.0
"""A server that loads spreadsheet engines takes two CPU seconds, and far longer on a busy machine."""
GRACE_S = 10.0
"""Seconds past a run's own deadline before the server must report it."""
_BOOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "boot.py")
_STEPS = 100
"""The number of full steps of a session that the CPU time covers. Each step has its own wall clock."""
RECORD_MORE = 1 << 16
"""Bytes of a record in addition to its value."""
_KEPT = ("LD_LIBRARY_PATH", "PYTHONHOME", "TMPDIR")
"""Paths of libraries, and of work directories for a server without namespaces (its children see another path)."""
_SEALED = 0x000F


class Broken(SandboxError):
    """A fork server died, hung, or could not restrict a child; the run may be tried on another."""


class Refused(Broken):
    """A fork server started and reported that it can't work as configured."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of a new fork server."""

    preload: str
    """The program that loads what children share."""
    seed: int
    namespaces: bool
    paranoid: bool
    tools: tuple[str, ...] = ()
    """Paths of compilers and engines; with them the server runs programs of other languages."""
    places: tuple[str, ...] = ()
    """Folders at the root, such as `/app`, that lead into the work folder of a program."""


def clean_environment(seed: int = 0) -> dict[str, str]:
    """The whole environment of a sandboxed interpreter. Only library paths are inherited."""
    fixed = {
        "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": str(seed),
        "PYTHONIOENCODING": "utf-8:strict", "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "1",  # glibc reserves 64 MiB of addresses for each thread, which the memory limit counts
    }  # fmt: skip
    return fixed | {name: os.environ[name] for name in _KEPT if name in os.environ}


def command(mode: str) -> list[str]:
    """The command line of a sandboxed interpreter (`-I` and `-E` would ignore the hash seed)."""
    return [sys.executable, "-s", "-P", _BOOT, mode]


class ForkServer:
    """One server process; used by one thread at a time."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.runs: int = 0
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._control = ours
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                command("server"),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=clean_environment(options.seed),
                start_new_session=True,
            )
        try:
            order = {"namespaces": options.namespaces, "preload": options.preload, "paranoid": options.paranoid,
                     "tools": options.tools, "places": options.places}  # fmt: skip
            self._control.send(json.dumps(order).encode())
            self.facts: dict[str, Any] = self._receive(START_S)
        except (OSError, Broken) as error:
            self.close()
            raise Broken(f"the fork server did not start: {error}") from None
        if not self.facts["ready"]:
            self.close()
            raise Refused(self.facts["reason"])

    def _receive(self, seconds: float) -> dict[str, Any]:
        self._control.settimeout(seconds)
        try:
            message = self._control.recv(1 << 16)
        except TimeoutError:
            raise Broken(f"no word from the fork server in {seconds:.0f} s") from None
        if not message:
            raise Broken("the fork server has ended")
        facts: dict[str, Any] = json.loads(message)
        return facts

    def start(
        self, limits: RunLimits, stdin: int, commands: int, *, wall_s: float, session: bool = False,
        resident_mb: int = 0, record_cap: int = 0,
    ) -> Flight:  # fmt: skip
        """Start a child that reads `commands`; the flight reads its output.

        Args:
            limits: of the run; with `resident_mb`, the supervisor divides its memory.
            stdin: a descriptor.
            commands: a descriptor of the payload.
            wall_s: of the whole run; 0: none.
            session: many payloads, one after another.
            resident_mb: maximum memory of all processes of the run together.
            record_cap: bytes of the record; 0: from the limits.
        """
        self.runs += 1
        cpu = limits.cpu_s
        if cpu is None:
            cpu = (limits.wall_s + 1) * (_STEPS if session else 1)
        order = {
            "wall": wall_s, "cpu": cpu, "memory": limits.memory_mb << 20, "disk": limits.disk_mb << 20,
            "files": limits.files, "threads": limits.threads, "session": session,
            "resident": resident_mb << 20,
        }  # fmt: skip
        pipes = [os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK) for _ in range(3)]
        writers = [write for _, write in pipes]
        try:
            for write in writers:
                os.set_blocking(write, True)
            socket.send_fds(
                self._control, [json.dumps(order).encode()], [stdin, writers[0], writers[1], writers[2], commands]
            )
        except OSError as error:
            for read, _ in pipes:
                os.close(read)
            raise Broken(f"the fork server has ended: {error}") from None
        finally:
            for write in writers:
                os.close(write)
        return Flight(self._control, [read for read, _ in pipes], limits, record_cap)

    def forget(self) -> None:
        """In a forked copy of the caller: close the descriptors. The server still belongs to the caller."""
        self._control.close()
        self._process.returncode = 0  # it is not our child: nothing to wait for

    def close(self) -> None:
        """End the server and its child, and wait for it."""
        self._control.close()
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            if base := getattr(self, "facts", {}).get("base"):
                from verikit.sandbox.paths import remove_tree

                with suppress(OSError):
                    remove_tree(base)


def caps(limits: RunLimits) -> dict[str, int]:
    """Maximum bytes of each stream of a child."""
    output = limits.output_kb << 10
    return {"stdout": output, "stderr": output, "record": (limits.value_kb << 10) + RECORD_MORE}


class Flight:
    """A running child: its output so far, and the server's report of its end."""

    def __init__(self, control: socket.socket, reads: list[int], limits: RunLimits, record_cap: int = 0) -> None:
        self._control = control
        self._open = dict(zip(reads, ("stdout", "stderr", "record"), strict=True))
        self._caps = caps(limits) | ({"record": record_cap} if record_cap else {})
        self.data: dict[str, bytearray] = {name: bytearray() for name in self._caps}
        self.overflow: str = ""
        """The stream that exceeded its cap."""
        self.ended: dict[str, Any] | None = None
        self._stopping = False

    def pump(self, deadline: float, *, commands: int = -1, send: bytes = b"", lines: int = 0) -> None:
        """Move data until the child's end, or until `lines` lines of records have arrived.

        Args:
            deadline: of `time.monotonic`; after it the child is stopped.
            commands: a descriptor to write `send` to meanwhile.
            send: input for the child.
            lines: return when this many lines of records have arrived (0: only at the end).

        Raises:
            Broken: The server did not report in time.
        """
        waiting = select.poll()
        for read in self._open:
            waiting.register(read, select.POLLIN)
        waiting.register(self._control, select.POLLIN)
        if send:
            waiting.register(commands, select.POLLOUT)
        while self.ended is None:
            left = deadline - time.monotonic()
            if left <= 0:
                if self._stopping:
                    raise Broken("the fork server does not answer")
                self.stop()
                deadline += GRACE_S
                continue
            for descriptor, _ in waiting.poll(left * 1000 + 1):
                if descriptor in self._open:
                    if not self._read(descriptor):
                        waiting.unregister(descriptor)
                        os.close(descriptor)
                        del self._open[descriptor]
                elif descriptor == commands:
                    send = self._write(commands, send)
                    if not send:
                        waiting.unregister(commands)
                else:
                    self._hear()
            if lines and not self._stopping and self.data["record"].count(b"\n") >= lines:
                return
        self.gather()
        self.close()

    def stop(self) -> None:
        """Have the server end the child now."""
        if not self._stopping:
            self._stopping = True
            with suppress(OSError):
                self._control.send(b"stop")

    def _read(self, descriptor: int) -> bool:
        name = self._open[descriptor]
        try:
            chunk = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return True
        kept = self.data[name]
        kept += chunk
        if len(kept) > self._caps[name]:
            del kept[self._caps[name] :]
            self.overflow = self.overflow or name
            self.stop()
        return bool(chunk)

    @staticmethod
    def _write(descriptor: int, send: bytes) -> bytes:
        try:
            return send[os.write(descriptor, send[: 1 << 16]) :]
        except BlockingIOError:
            return send
        except OSError:
            return b""

    def _hear(self) -> None:
        message = self._control.recv(1 << 16)
        if not message:
            raise Broken("the fork server ended during a run")
        self.ended = json.loads(message)
        if self.ended and self.ended["why"] == "infra":
            raise Broken(self.ended["reason"] or "a child ended before it was restricted")
        if self.ended:
            meter.count(float(self.ended["cpu"]))

    def gather(self) -> None:
        """Read all data in the pipes now, without waiting. A forked caller may have their other ends open."""
        waiting = select.poll()
        for descriptor, name in self._open.items():
            if name != "record" or self.ended is not None:
                waiting.register(descriptor, select.POLLIN)
        while not self.overflow and (ready := [d for d, event in waiting.poll(0) if event & select.POLLIN]):
            for descriptor in ready:
                self._read(descriptor)

    def close(self) -> None:
        """Close the pipes."""
        for descriptor in self._open:
            os.close(descriptor)
        self._open = {}


def sealed(*pieces: bytes) -> int:
    """A descriptor of sealed memory with `pieces`, one after another."""
    descriptor = os.memfd_create("verikit", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    for piece in pieces:
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALED)
    return descriptor
