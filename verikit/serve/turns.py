"""Turns of programs on a bounded number of workers: first come, first served, except for clients at their quota.

Waiting requests are bounded in number and in bytes. A request that has not started in time gets an error. A program
that has started runs to its own limits, whether or not its client is still connected.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

from verikit.serve.app import LOOK_S, RefusedRequest
from verikit.serve.quotas import Tenant

T = TypeVar("T")
MOST_BYTES = 256 << 20
"""Maximum bytes of all requests that wait or run."""


@dataclass(slots=True, eq=False)
class _Waiting:
    client: Tenant
    turn: asyncio.Future[None]


class FairTurns:
    """Hands out turns.

    Args:
        workers: programs at a time.
        max_waiting: requests that may wait.
    """

    def __init__(self, workers: int, max_waiting: int) -> None:
        self.running: int = 0
        self._workers, self._max_waiting = workers, max_waiting
        self._queue: deque[_Waiting] = deque()
        self._bytes = 0
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="verikit-program")
        self._seconds = 0.1
        """Running average of seconds per turn."""

    @property
    def waiting(self) -> int:
        """Requests that have no turn yet."""
        return len(self._queue)

    async def use(
        self, client: Tenant, size: int, until: float, is_gone: Callable[[], Awaitable[bool]], work: Callable[[], T]
    ) -> T:
        """Wait for a turn and do the work in a thread.

        Args:
            client: The client whose turn it is.
            size: Size of the request in bytes.
            until: Latest time to start, as of `time.monotonic`.
            is_gone: Returns whether the client has disconnected.
            work: The work to do.

        Raises:
            RefusedRequest: Too many requests wait (429), or it could not start in time (504).
            ConnectionError: The client has disconnected.
        """
        if self.waiting >= self._max_waiting or (self._bytes + size > MOST_BYTES and self.running):
            seconds = max(1, min(60, round(self.waiting * self._seconds / self._workers)))
            raise RefusedRequest(
                429, f"{self.waiting} programs are waiting", hint=f"try again in {seconds} s", retry_s=seconds
            )
        self._bytes += size
        try:
            await self._turn(client, until, is_gone)
            return await self._do(client, work)
        finally:
            self._bytes -= size

    async def _do(self, client: Tenant, work: Callable[[], T]) -> T:
        begun, loop = monotonic(), asyncio.get_running_loop()
        job = loop.run_in_executor(self._threads, work)

        def ended(_: asyncio.Future[Any]) -> None:
            client.running -= 1
            self.running -= 1
            self._seconds = 0.8 * self._seconds + 0.2 * (monotonic() - begun)
            self._next()

        job.add_done_callback(ended)
        return await asyncio.shield(job)

    async def _turn(self, client: Tenant, until: float, is_gone: Callable[[], Awaitable[bool]]) -> None:
        waiting = _Waiting(client, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self._next()
        try:
            while not waiting.turn.done():
                left = until - monotonic()
                if left <= 0:
                    raise RefusedRequest(504, "no worker became free in time", hint="send fewer programs at a time")
                await asyncio.wait([waiting.turn], timeout=min(left, LOOK_S))
                if not waiting.turn.done() and await is_gone():
                    raise ConnectionError
        except BaseException:
            if waiting.turn.done():  # just then
                client.running -= 1
                self.running -= 1
                self._next()
            else:
                self._queue.remove(waiting)
            raise

    def _next(self) -> None:
        """Give the free workers to those that may run, in their order."""
        for waiting in list(self._queue):
            if self.running >= self._workers:
                return
            if waiting.client.has_turn:
                self._queue.remove(waiting)
                self.running += 1
                waiting.client.running += 1
                waiting.turn.set_result(None)

    def close(self) -> None:
        """Take no more work."""
        self._threads.shutdown(wait=False, cancel_futures=True)
