"""The fork servers of a sandbox: started on first use, lent to one run at a time, replaced when worn or broken.

A forked copy of the caller releases all of them and starts its own. Starting a server with namespaces shows whether
they are available. A failure is cached for the process and reported, never hidden.
"""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

from verikit.platform.system import at_fork
from verikit.sandbox.client import Broken, ForkServer, Refused, ServerOptions

T = TypeVar("T")
MAX_RUNS = 10_000
"""The number of runs after which a server is replaced."""
IDLE = 3
"""Servers of a kind that wait per worker: tests, their program, and a comparison run at the same time."""

_refusal: str | None = None
"""Why namespaces are unavailable on this machine; None: no failure so far."""
_allowed = False
"""Whether a server has had them; after that, going without would be a silent downgrade."""


class Pool:
    """Lends fork servers."""

    def __init__(self, workers: int, *, paranoid: bool, namespaces: bool = True) -> None:
        self._workers = workers
        self._paranoid = paranoid
        self.namespaces = namespaces
        self._reset()
        _pools.add(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(self._workers)
        self._idle: dict[tuple[str, int, tuple[str, ...], tuple[str, ...]], list[ForkServer]] = defaultdict(list)
        self._lent: set[ForkServer] = set()
        self._closed = False

    @property
    def refusal(self) -> str | None:
        """Why there are no namespaces; None if there are."""
        return _refusal if self.namespaces else "switched off"

    def use(
        self,
        run: Callable[[ForkServer], T],
        preload: str,
        seed: int,
        tools: tuple[str, ...] = (),
        places: tuple[str, ...] = (),
    ) -> T:
        """Wait for one of the workers' turns and run once on a server. If the server breaks, run on another.

        Raises:
            Broken: Both did.
        """
        problem = ""
        with self._turns:
            for _ in range(2):
                try:
                    server = self.take(preload, seed, tools, places)
                except (Broken, OSError) as error:
                    problem = str(error)
                    continue
                try:
                    result = run(server)
                except (Broken, OSError) as error:
                    problem = str(error)
                    self.discard(server)
                    continue
                except BaseException:
                    self.discard(server)
                    raise
                self.give(server)
                return result
        raise Broken(problem)

    def take(self, preload: str, seed: int, tools: tuple[str, ...] = (), places: tuple[str, ...] = ()) -> ForkServer:
        """A server for one run or session. Return it afterwards, or discard it."""
        with self._lock:
            if self._closed:
                raise Broken("the sandbox is closed")
            idle = self._idle[preload, seed, tools, places]
            server = idle.pop() if idle else None
        server = server or self._start(preload, seed, tools, places)
        with self._lock:
            self._lent.add(server)
        return server

    def give(self, server: ForkServer) -> None:
        """Take a server back; a worn one is ended."""
        with self._lock:
            self._lent.discard(server)
            kind = server.options
            idle = self._idle[kind.preload, kind.seed, kind.tools, kind.places]
            if not self._closed and server.runs < MAX_RUNS and len(idle) < IDLE * self._workers:
                idle.append(server)
                return
        server.close()

    def discard(self, server: ForkServer) -> None:
        """End a server that is not sound."""
        with self._lock:
            self._lent.discard(server)
        server.close()

    def _start(self, preload: str, seed: int, tools: tuple[str, ...], places: tuple[str, ...]) -> ForkServer:
        """Start a server, with namespaces unless this machine denied them before it ever allowed them."""
        global _refusal, _allowed
        if self.namespaces and _refusal is None:
            try:
                server = ForkServer(ServerOptions(preload, seed, True, self._paranoid, tools, places))
                _allowed = True
                return server
            except Refused as refused:
                if _allowed:
                    raise
                server = ForkServer(ServerOptions(preload, seed, False, self._paranoid, tools, places))
                _refusal = str(refused)
                return server
        return ForkServer(ServerOptions(preload, seed, False, self._paranoid, tools, places))

    def close(self) -> None:
        """End all servers. A server in use ends when it is returned."""
        with self._lock:
            self._closed = True
            servers = [server for idle in self._idle.values() for server in idle]
            self._idle.clear()
        for server in servers:
            server.close()

    def forget(self) -> None:
        """In a forked copy of the caller: start from scratch."""
        for server in [*self._lent, *(server for idle in self._idle.values() for server in idle)]:
            server.forget()
        closed = self._closed
        self._reset()
        self._closed = closed


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _forget_all() -> None:
    for pool in list(_pools):
        pool.forget()


at_fork(in_child=_forget_all)
