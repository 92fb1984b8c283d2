"""A namespace that persists over the steps of one solution, under the limits of a single run, killed with it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol, Self

from verikit.sandbox import records
from verikit.sandbox.client import Broken, Flight, ForkServer, sealed
from verikit.sandbox.pool import Pool
from verikit.sandbox.records import Role
from verikit.sandbox.types import Failure, FunctionCall, RunLimits, RunResult


class Conversation(Protocol):
    """A side of a conversation: it sends a line and receives the next."""

    def begin(self, code: str, role: Role) -> str | RunResult:
        """Start the side: its first line, or how it ended instead."""
        ...

    def exchange(self, line: str) -> str | RunResult:
        """Send a line to it. Returns the answering line, or how it ended instead."""
        ...

    @property
    def used_s(self) -> float:
        """Seconds that it has run so far, excluding the start of its sandbox."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


Relay = Callable[[str], str]
"""Takes a line from a child in a conversation, and returns the line that answers it."""
_MAX_TURNS = 100_000


class Session:
    """Steps with a common namespace, created by `LocalSandbox.session`; one thread at a time.

    An exception leaves the session alive, as in a notebook. A step that breaks a limit ends it, and each later step has
    the same status.
    """

    def __init__(self, pool: Pool, preload: str, limits: RunLimits) -> None:
        self._pool, self._preload, self._limits = pool, preload, limits
        self._server: ForkServer | None = None
        self._flight: Flight | None = None
        self._commands = -1
        self._over: RunResult | None = None
        self._seconds = self._used_s = 0.0
        """The child's seconds for the step so far, and for all steps."""

    def _start(self) -> Flight:
        self._server = self._pool.take(self._preload, 0)
        read, self._commands = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._commands, False)
        stdin = sealed(b"")
        try:
            self._flight = self._server.start(self._limits, stdin, read, wall_s=0, session=True)
        finally:
            os.close(stdin)
            os.close(read)
        return self._flight

    def run(
        self,
        code: str,
        *,
        call: FunctionCall | None = None,
        role: Role | None = None,
        names: Sequence[str] = (),
        relay: Relay | None = None,
    ) -> RunResult:
        """Run one step. Names defined by earlier steps are available.

        Args:
            code: the step.
            call: a function to call after it. The result's value is its return value.
            role: in a conversation (`proxies`); None: not in a conversation.
            names: of the other side, even names that Python has.
            relay: answers the step's lines.
        """
        if self._over is not None:
            return self._over
        self._seconds = 0.0
        said = self._exchange(records.payload(code, [call] if call else [], role=role, names=names))
        for _ in range(_MAX_TURNS):
            if isinstance(said, RunResult) or relay is None:
                break
            said = self._exchange(relay(said).encode() + b"\n")
        result = said if isinstance(said, RunResult) else self._spoiled("the step's output is over its limit")
        if call and result.status == "ok":
            whole = isinstance(result.value, list) and len(result.value) == 1
            result = replace(result, value=result.value[0]) if whole else self._spoiled("the record contains no value")
        return RunResult(result.status, result.value, result.stdout, result.stderr, result.error, self._seconds)

    def begin(self, code: str, role: Role) -> str | RunResult:
        """Start a side of a conversation: its first line, or how it ended instead."""
        return self._exchange(records.payload(code, role=role))

    def exchange(self, line: str) -> str | RunResult:
        """Send a line to a side of a conversation. Returns the answering line, or how it ended instead."""
        self._seconds = 0.0
        return self._exchange(line.encode() + b"\n")

    @property
    def used_s(self) -> float:
        """Seconds that the child has run so far, the start of its sandbox aside."""
        return self._used_s

    def _exchange(self, send: bytes) -> str | RunResult:
        """Have the child read bytes, and wait for its output within the step's remaining wall clock."""
        if self._over is not None:
            return self._over
        try:
            flight = self._flight or self._start()
            begun = time.monotonic()
            left = max(self._limits.wall_s - self._seconds, 0.0)
            flight.pump(begun + left, commands=self._commands, send=send, lines=1)
            took = time.monotonic() - begun
            self._seconds += took
            self._used_s += took
            if flight.ended is not None:
                ended = self._end(sound=True)
                self._over = records.result(ended, flight.overflow, flight.data, self._limits)
                if self._over.status == "ok":
                    self._over = RunResult("no_result", error=Failure("no result", "the session ended itself"))
                return self._over
        except (Broken, OSError) as error:
            self._end(sound=False)
            self._over = RunResult("infra_error", error=Failure("infra", str(error)))
            return self._over
        line = bytes(flight.data["record"])
        flight.data["record"].clear()
        return records.turn(line) or self._finish_step(flight, line)

    def _finish_step(self, flight: Flight, line: bytes) -> RunResult:
        status, value, error = records.read(line)
        if status == "no_result":
            return self._spoiled(str(error))
        flight.gather()
        texts: list[str] = []
        for name in ("stdout", "stderr"):
            texts.append(bytes(flight.data[name]).decode("utf-8", "replace"))
            flight.data[name].clear()
        return RunResult(status, value, texts[0], texts[1], error)

    def _spoiled(self, why: str) -> RunResult:
        """End a session whose protocol can't be followed."""
        if self._flight is not None:
            self._flight.stop()
            with suppress(Broken, OSError):
                self._flight.pump(time.monotonic() + 10)
        self._end(sound=self._flight is not None and self._flight.ended is not None)
        self._over = RunResult("no_result", error=Failure("no result", why))
        return self._over

    def _end(self, *, sound: bool) -> dict[str, Any]:
        """Close the child's descriptors and release the server."""
        ended = (self._flight.ended if self._flight is not None else None) or {}
        if self._flight is not None:
            self._flight.close()
        if self._commands >= 0:
            os.close(self._commands)
            self._commands = -1
        if self._server is not None:
            (self._pool.give if sound else self._pool.discard)(self._server)
            self._server = None
        return ended

    def close(self) -> None:
        """End the session."""
        if self._over is None:
            self._spoiled("closed")
            self._over = RunResult("infra_error", error=Failure("infra", "the session is closed"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
