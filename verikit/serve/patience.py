"""An HTTP protocol for uvicorn that does not wait for ever, nor hold what has no end: headers, or unread replies."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS_S = 10.0
"""Seconds from a connection's start, or a request's first byte, to the end of its headers."""
READING_S = 30.0
"""Seconds in which a client must read so much of a reply that more of it can be sent."""
HEADERS_BYTES = 64 * 2**10
"""Of one request, the first line included; also what a client may go on sending to which the reply was given."""
WAITING_BYTES = 32 * 2**20
"""Of all requests together that nothing vouches for yet, since their headers are not complete."""
CONNECTION_BYTES = 4 * 2**10
"""What a connection counts for among these, before it has sent anything."""
PIECE = 16 * 2**10
"""Bytes read between two looks at the limits."""


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
    """uvicorn's own, with limits for what a client does; a body has its own, in the application."""

    waiting: ClassVar[int] = 0
    """Bytes of this process's requests that nothing vouches for."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for headers."""
        super().connection_made(transport)
        self._headers, self._reading = ServiceClock(transport, HEADERS_S), ServiceClock(transport, READING_S)
        self._headers.start()
        self._in_headers, self._mine, self._sent = True, 0, 0
        self._count(CONNECTION_BYTES)

    def data_received(self, data: bytes) -> None:
        """Read in pieces; refuse what is too much before there is a request."""
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
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "too many requests are being sent at once")

    def _vouched(self) -> None:
        Patience.waiting -= self._mine
        self._mine = self._sent = 0

    def _refuse(self, status: HTTPStatus, problem: str) -> None:
        if self.transport.is_closing():
            return
        body = f'{{"error":"{problem}","hint":""}}'.encode()
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\nConnection: close\r\n"
        if self._in_headers:  # else a reply to this request was given already
            self.transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()

    def on_message_begin(self) -> None:
        """Start to wait for headers, where the connection had a request before."""
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
