"""An HTTP protocol for uvicorn that does not wait for ever: for headers that trickle, or a reply that nobody reads."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS_S = 10.0
"""Seconds from a connection's start, or a request's first byte, to the end of its headers."""
READING_S = 30.0
"""Seconds in which a client must read so much of a reply that more of it can be sent."""


class Clock:
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
    """uvicorn's own, with deadlines for what a client does; a body has one of its own, in the application."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for headers."""
        super().connection_made(transport)
        self._headers, self._reading = Clock(transport, HEADERS_S), Clock(transport, READING_S)
        self._headers.start()

    def on_message_begin(self) -> None:
        """Start to wait for headers, where the connection had a request before."""
        super().on_message_begin()
        self._headers.start()

    def on_headers_complete(self) -> None:
        """Stop waiting for them."""
        super().on_headers_complete()
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
        self._headers.stop()
        self._reading.stop()
