"""An HTTP protocol for uvicorn that does not wait for a client that sends its request line and headers too slowly."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS_S = 10.0
"""Seconds from a connection's start, or a request's first byte, to the end of its headers."""


class Patience(HttpToolsProtocol):
    """uvicorn's own, with a deadline for headers: a connection that only trickles would hold its place for ever."""

    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock with the connection."""
        super().connection_made(transport)
        self._start()

    def on_message_begin(self) -> None:
        """Start it with a request."""
        super().on_message_begin()
        self._start()

    def on_headers_complete(self) -> None:
        """Stop it: the body has a deadline of its own."""
        super().on_headers_complete()
        self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop it with the connection."""
        super().connection_lost(exc)
        self._stop()

    def _start(self) -> None:
        if self._clock is None:
            self._clock = self.loop.call_later(HEADERS_S, self.transport.abort)

    def _stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
