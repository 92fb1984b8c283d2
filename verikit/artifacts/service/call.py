"""Sends one HTTP request to a service and reads its reply, within limits of time and size."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import h11

from verikit.artifacts.service.box import ServiceBox
from verikit.errors import AgentFault

MOST_HEAD, MOST_BODY = 64 << 10, 1 << 20
"""Bytes of a reply's status and headers, and of its body."""
_MOST_BYTES = 2 * MOST_BODY
"""Maximum bytes of a service's output per request: headers, interim replies, and chunk marks included."""
_MOST_PARTS = 10_000
"""Interim replies, and chunks of the body. Each takes time to read, however small it is."""


class ConnectionEnded(AgentFault):
    """The service ended the connection, or nothing listens: its program may have ended."""


@dataclass(frozen=True)
class HttpRequest:
    """A request, exactly as sent."""

    method: str
    target: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""

    def encoded(self, connection: h11.Connection) -> bytes:
        """Its bytes.

        Raises:
            h11.LocalProtocolError: a header or the target is invalid.
        """
        length = (
            [("Content-Length", str(len(self.body)))] if self.body or self.method in ("POST", "PUT", "PATCH") else []
        )
        event = h11.Request(method=self.method, target=self.target, headers=[*self.headers, *length])
        return b"".join(connection.send(part) or b"" for part in (event, h11.Data(data=self.body), h11.EndOfMessage()))


@dataclass
class HttpReply:
    """A reply, as far as it has come."""

    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    """Names are in lower case."""
    body: bytearray = field(default_factory=bytearray)
    parts: int = 0


def client() -> h11.Connection:
    """The rules of one exchange."""
    return h11.Connection(our_role=h11.CLIENT, max_incomplete_event_size=MOST_HEAD)


def connected(box: ServiceBox, deadline: float, late: str) -> socket.socket | None:
    """A connection to the program; None if it doesn't listen.

    Raises:
        AgentFault: It is not accepted in time.
    """
    link = box.new_socket()
    try:
        problem = link.connect_ex(("127.0.0.1", box.port))
        if problem == errno.EINPROGRESS:
            box.wait(link, deadline, late, writing=True)
            problem = link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if not problem:
            return link
    except BaseException:
        link.close()
        raise
    link.close()
    return None


def call(box: ServiceBox, request: HttpRequest, seconds: float) -> HttpReply:
    """Send a request on a new connection, and read the whole reply.

    Raises:
        AgentFault: There is no whole reply in time, it is malformed, or it is too large.
    """
    connection, reply = client(), HttpReply()
    pending, received = memoryview(request.encoded(connection)), 0
    deadline, late = time.monotonic() + seconds, f"no whole reply within {seconds:g} seconds"
    link = connected(box, deadline, late)
    if link is None:
        raise ConnectionEnded(f"nothing listens at port {box.port}")
    with link:
        while True:
            box.wait(link, deadline, late, writing=bool(pending))
            if pending:
                pending = send(link, pending)
            try:
                data = link.recv(1 << 16)
            except BlockingIOError:
                continue
            except OSError as error:
                raise ConnectionEnded(f"the connection broke off: {error.strerror}") from None
            received += len(data)
            if received > _MOST_BYTES:
                raise AgentFault(f"the reply has over {_MOST_BYTES >> 20} MB")
            if _take(connection, data, reply):
                return reply


def send(link: socket.socket, pending: memoryview) -> memoryview:
    """Send as much as possible. A service may reply and close before it has read the whole request."""
    try:
        return pending[link.send(pending) :]
    except BlockingIOError:
        return pending
    except OSError:
        return pending[:0]


def _take(connection: h11.Connection, data: bytes, reply: HttpReply) -> bool:
    """Read more of a reply; whether that was its end.

    Raises:
        AgentFault: It is malformed or too large.
    """
    if not data and not reply.status:
        raise ConnectionEnded("the connection ended without a reply")
    try:
        connection.receive_data(data)
        while True:
            event = connection.next_event()
            reply.parts += 1
            if reply.parts > _MOST_PARTS:
                raise AgentFault(f"the reply comes in over {_MOST_PARTS:,} parts")
            if event is h11.NEED_DATA:
                return False
            if isinstance(event, h11.EndOfMessage):
                return True
            if isinstance(event, h11.Response):
                reply.status = event.status_code
                reply.headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers]
            elif isinstance(event, h11.Data):
                reply.body += event.data
            elif event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
                raise AgentFault("the service changes to another protocol")
            if len(reply.body) > MOST_BODY:
                raise AgentFault(f"the body of the reply has over {MOST_BODY >> 20} MB")
    except h11.RemoteProtocolError as error:
        raise AgentFault(f"the reply is not valid HTTP: {error}") from None
