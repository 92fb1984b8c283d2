"""An HTTP protocol for uvicorn with limits on slow clients: their headers, and replies that they do not read."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS_S = 10.0
"""Seconds from a connection's start, or a request's first byte, to the end of its headers."""
READING_S = 30.0
"""Seconds in which a client must read enough of a reply for more to be sent."""
HEADERS_BYTES = 64 * 2**10
"""Maximum bytes of a request's head, including its first line, and of data sent after the reply was given."""
WAITING_BYTES = 32 * 2**20
"""Maximum bytes of all requests whose headers are incomplete, since no token has been checked for them."""
CONNECTION_BYTES = 4 * 2**10
"""Bytes that a connection counts for before it has sent anything."""
PIECE = 16 * 2**10
"""Bytes read between two checks of the limits."""


class ServiceClock:
    """Cuts a connection off unless it is stopped in time."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._transport, self._seconds = transport, seconds
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start, unless it runs."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._transport.abort)

    def stop(self) -> None:
        """Stop, if it runs."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Patience(HttpToolsProtocol):
    """uvicorn's protocol, with limits on clients. The application limits bodies separately."""

    waiting: ClassVar[int] = 0
    """Bytes of this process's requests whose headers are incomplete."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for headers."""
        super().connection_made(transport)
        self._headers, self._reading = ServiceClock(transport, HEADERS_S), ServiceClock(transport, READING_S)
        self._headers.start()
        self._in_headers, self._mine, self._sent = True, 0, 0
        self._count(CONNECTION_BYTES)

    def data_received(self, data: bytes) -> None:
        """Read data in pieces, and reject too much of it before a request is complete."""
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            super().data_received(piece)
            if self._in_headers or (self.cycle is not None and self.cycle.response_complete):
                self._sent += len(piece)
                self._count(len(piece))
            if self.transport.is_closing():
                return

    def _count(self, size: int) -> None:
        self._mine += size
        Patience.waiting += size
        if self._sent > HEADERS_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"headers have at most {HEADERS_BYTES} bytes")
        elif Patience.waiting > WAITING_BYTES:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "too many requests are being sent at the same time")

    def _vouched(self) -> None:
        Patience.waiting -= self._mine
        self._mine = self._sent = 0

    def _refuse(self, status: HTTPStatus, problem: str) -> None:
        if self.transport.is_closing():
            return
        body = f'{{"error":"{problem}","hint":""}}'.encode()
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        if self._in_headers:  # otherwise a reply to this request was already given
            self.transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()

    def on_message_begin(self) -> None:
        """Start the timer for headers, if the connection had an earlier request."""
        super().on_message_begin()
        self._in_headers = True
        self._headers.start()

    def on_headers_complete(self) -> None:
        """Stop waiting for them."""
        super().on_headers_complete()
        self._in_headers = False
        self._vouched()
        self._headers.stop()

    def pause_writing(self) -> None:
        """Start to wait for the client to read."""
        super().pause_writing()
        self._reading.start()

    def resume_writing(self) -> None:
        """Stop waiting: it read."""
        super().resume_writing()
        self._reading.stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._vouched()
        self._headers.stop()
        self._reading.stop()
