"""Sends lines to a service over a connection, and reads the lines of its replies, within limits of time and size."""

from __future__ import annotations

import select
import socket
import time
from contextlib import suppress

from verikit.artifacts.service.box import ServiceBox
from verikit.artifacts.service.call import MOST_BODY, ConnectionEnded, connected, send
from verikit.errors import AgentFault

_PAUSE_S, _QUIET_S = 0.05, 0.2
"""Seconds to wait for lines that are not part of a reply: before each line, and where no line may follow. Lines that
come after the pause are read as the next reply, or are left over at the end."""


class LineConnection:
    """One connection to a service."""

    def __init__(self, box: ServiceBox, link: socket.socket) -> None:
        self._box, self._link, self._pending = box, link, bytearray()

    @classmethod
    def opened(cls, box: ServiceBox, seconds: float) -> LineConnection:
        """Open a connection.

        Raises:
            AgentFault: It is not accepted within these seconds.
        """
        link = connected(box, time.monotonic() + seconds, f"no connection within {seconds:g} seconds")
        if link is None:
            raise ConnectionEnded(f"nothing listens at port {box.port}")
        return cls(box, link)

    def ask(self, line: bytes | None, count: int, seconds: float, *, silent: bool = False) -> list[bytes]:
        """Send a line, if there is one, and read this many lines without their ends.

        Args:
            line: The line.
            count: The number of lines of its reply.
            seconds: Time for the reply.
            silent: Whether the service must be silent or end the connection after the reply.

        Raises:
            AgentFault: They don't come in time, are too large, or there are others.
        """
        if line is not None:
            self._check_silent(_PAUSE_S)
        read = self._exchange(line, count, seconds)
        if silent:
            with suppress(ConnectionEnded):
                self._check_silent(_QUIET_S)
        return read

    def _exchange(self, line: bytes | None, count: int, seconds: float) -> list[bytes]:
        pending = memoryview(b"" if line is None else line + b"\n")
        deadline, late = time.monotonic() + seconds, f"no whole reply within {seconds:g} seconds"
        read: list[bytes] = []
        while True:
            while len(read) < count and (end := self._pending.find(b"\n")) >= 0:
                read.append(bytes(self._pending[:end].removesuffix(b"\r")))
                del self._pending[: end + 1]
            if len(read) == count and not pending:
                return read
            self._box.wait(self._link, deadline, late, writing=bool(pending))
            pending = send(self._link, pending)
            if len(read) < count:
                self._receive()
            if sum(map(len, read)) + len(self._pending) > MOST_BODY:
                raise AgentFault(f"the reply has over {MOST_BODY >> 20} MB")

    def _check_silent(self, seconds: float) -> None:
        """Wait for lines that reply to no line."""
        waiting = select.poll()
        waiting.register(self._link, select.POLLIN)
        if not self._pending and waiting.poll(seconds * 1000):
            self._receive()
        if self._pending:
            raise AgentFault(f"the service sends {bytes(self._pending[:80])!r}, which is not part of a reply")

    def _receive(self) -> None:
        try:
            data = self._link.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError as error:
            raise ConnectionEnded(f"the connection broke off: {error.strerror}") from None
        if not data:
            raise ConnectionEnded("the connection ended without a whole reply")
        self._pending += data

    def close(self) -> None:
        """Close it."""
        self._link.close()
