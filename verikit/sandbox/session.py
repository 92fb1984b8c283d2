"""A namespace that persists over the steps of one solution, under the limits of a single run, killed with it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

from verikit.sandbox import records, values
from verikit.sandbox.client import Broken, Flight, ForkServer, sealed
from verikit.sandbox.pool import Pool
from verikit.sandbox.types import Failure, FunctionCall, RunLimits, RunResult

FunctionCallback = Callable[[str, Sequence[Any], Mapping[str, Any]], RunResult]
"""Answers a question of a step: what a call of a function returns."""
_MAX_CALLS = 10_000


class Session:
    """Steps that share a namespace; made by `LocalSandbox.session`, one thread at a time.

    An exception leaves the session alive, as in a notebook; a step that breaks a limit ends it, and each later step
    has the same status.
    """

    def __init__(self, pool: Pool, preload: str, limits: RunLimits) -> None:
        self._pool, self._preload, self._limits = pool, preload, limits
        self._server: ForkServer | None = None
        self._flight: Flight | None = None
        self._commands = -1
        self._over: RunResult | None = None

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
        ask: Sequence[str] = (),
        answer: FunctionCallback | None = None,
    ) -> RunResult:
        """Run one step; names defined by earlier steps are there.

        Args:
            code: the step.
            call: a function to call then; the result's value is what it returns.
            ask: names under which the step finds functions that live elsewhere.
            answer: what calls of those return.
        """
        if self._over is not None:
            return self._over
        start = time.monotonic()
        try:
            flight = self._flight or self._start()
            result = self._step(flight, records.payload(code, [call] if call else [], ask=ask), answer)
            if call and result.status == "ok":
                whole = isinstance(result.value, list) and len(result.value) == 1
                result = replace(result, value=result.value[0]) if whole else self._spoiled("the record holds no value")
        except (Broken, OSError) as error:
            self._end(sound=False)
            result = self._over = RunResult("infra_error", error=Failure("infra", str(error)))
        return RunResult(
            result.status, result.value, result.stdout, result.stderr, result.error, time.monotonic() - start
        )

    def _step(self, flight: Flight, send: bytes, answer: FunctionCallback | None) -> RunResult:
        deadline = time.monotonic() + self._limits.wall_s
        for _ in range(_MAX_CALLS):
            flight.pump(deadline, commands=self._commands, send=send, lines=1)
            if flight.ended is not None:
                ended = self._end(sound=True)
                self._over = records.result(ended, flight.overflow, flight.data, self._limits)
                if self._over.status == "ok":
                    self._over = RunResult("no_result", error=Failure("no result", "the session ended itself"))
                return self._over
            line = bytes(flight.data["record"])
            flight.data["record"].clear()
            question = _question(line) if answer is not None else None
            if question is None or answer is None:
                return self._finish_step(flight, line)
            paused = time.monotonic()
            send = _reply(answer(*question))
            deadline += time.monotonic() - paused
        return self._spoiled("too many calls")

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
        """A session whose protocol can't be followed is over."""
        if self._flight is not None:
            self._flight.stop()
            with suppress(Broken, OSError):
                self._flight.pump(time.monotonic() + 10)
        self._end(sound=self._flight is not None and self._flight.ended is not None)
        self._over = RunResult("no_result", error=Failure("no result", why))
        return self._over

    def _end(self, *, sound: bool) -> dict[str, Any]:
        """Let go of the child's descriptors and of the server."""
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


def _question(line: bytes) -> FunctionCall | None:
    """The call a step asks for; None if the line is no call, or not a well-formed one."""
    try:
        node = values.parse(line)
        if not isinstance(node, dict) or node.get("status") != "call":
            return None
        name, args, kwargs = values.decode(node.get("value"))
    except (ValueError, TypeError):
        return None
    good = isinstance(name, str) and isinstance(args, list) and isinstance(kwargs, dict)
    return (name, args, kwargs) if good and all(isinstance(key, str) for key in kwargs) else None


def _reply(result: RunResult) -> bytes:
    if result.status == "infra_error":
        raise Broken(str(result.error))
    error = result.error or Failure(result.status)
    if result.status == "ok":
        try:
            return b'{"status":"ok","value":' + values.dumps(result.value).encode() + b"}\n"
        except ValueError as problem:
            error = Failure("ValueError", str(problem))
            result = RunResult("error", error=error)
    return json.dumps({"status": result.status, "type": error.type, "message": error.message}).encode() + b"\n"
