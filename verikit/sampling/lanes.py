"""Waves of requests sent to an engine.

A server processes several waves in parallel, so the last replies of one never leave its connections idle. They run on
daemon threads, because an interrupted program need not wait for a server that hangs. A model in this process takes one
wave after the other, in the caller's thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from verikit.engines.types import Engine, Generation, Request
from verikit.errors import VerikitError, raise_if_gone

SERVED, HELD, BATCHED = (4, 64), (1, 256), (1, 50_000)
"""Parallel waves and requests per wave, for a server, for a model in this process and for an engine with batch jobs."""

GONE = 32
"""After this many consecutive retryable failures, in whole waves, the engine is considered unreachable."""


@dataclass(eq=False)
class Wave:
    """Requests that are sent together. `tags` are the caller's, one per request."""

    tags: Sequence[Any]
    requests: Sequence[Request]
    failed: list[tuple[Any, Generation]] = field(default_factory=list)
    """The failed results, kept until the wave has ended."""


Event = tuple[Wave, int | None, Generation | Exception | None]
"""A wave, and the index and result of one of its requests; no index: it has ended, by an exception if there is one."""


class Lanes:
    """Runs waves. `next` returns their results one by one."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._held = engine.tokenizer is not None
        self.batched: bool = engine.batched
        if self.batched:
            self.width, self.size = BATCHED
        else:
            self.width, self.size = HELD if self._held else SERVED
        self.busy = 0
        """Waves in progress."""
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._here: Iterator[Event] = iter(())
        self._wanted = True

    @property
    def free(self) -> bool:
        """Whether another wave may start."""
        return self.busy < self.width

    def start(self, wave: Wave) -> None:
        """Send a wave."""
        self.busy += 1
        if self._held:
            self._here = self._run(wave)
        else:
            threading.Thread(target=self._send, args=(wave,), name="verikit-sample", daemon=True).start()

    def next(self) -> Event:
        """Wait for the next result, or the end of a wave."""
        event = next(self._here) if self._held else self._events.get()
        if event[1] is None:
            self.busy -= 1
        return event

    def close(self) -> None:
        """Stop accepting results."""
        self._wanted = False

    def _run(self, wave: Wave) -> Iterator[Event]:
        for index, generation in self._engine.stream(wave.requests):
            yield wave, index, generation
        yield wave, None, None

    def _send(self, wave: Wave) -> None:
        # This thread prints programming errors. Errors in a batch's setup are raised in the caller.
        problem: Exception | None = RuntimeError("the engine ended in a programming error")
        try:
            for index, generation in self._engine.stream(wave.requests):
                if not self._wanted:
                    return
                self._events.put((wave, index, generation))
            problem = None
        except VerikitError as error:
            problem = error
        finally:
            self._events.put((wave, None, problem))


class EngineHealth:
    """Tracks whether an engine still answers, from waves that failed as a whole.

    `answered`: it did in an earlier run.
    """

    def __init__(self, *, answered: bool = False) -> None:
        self._answered = answered
        self._failing = 0
        """Consecutive failures in waves that failed as a whole."""

    def note(self) -> None:
        """Record a successful result."""
        self._answered, self._failing = True, 0

    def check(self, wave: Wave) -> None:
        """Stop at a wave which shows that the engine is unreachable, or never served such requests.

        Raises:
            EngineError: The wave shows this.
        """
        errors = [generation.error for _, generation in wave.failed]
        if len(errors) < len(wave.requests):
            return
        self._failing += len(errors)
        raise_if_gone(errors if self._failing >= GONE else errors[:1])  # a single error is enough if no retry can help
        first = errors[0]
        if not self._answered and len(errors) > 1 and first is not None and len({*map(type, errors)}) == 1:
            raise first


def settle(event: Event, health: EngineHealth, keep: Callable[[Any, Generation], None]) -> None:
    """Keep a result under its tag. Failures wait for their wave's end, which shows whether the engine is the cause.

    Raises:
        EngineError: The engine is unreachable, or failed alike from the start.
    """
    wave, index, result = event
    if isinstance(result, Exception):
        raise result
    if index is None:
        health.check(wave)
        for tag, failed in wave.failed:
            keep(tag, failed)
        return
    assert result is not None  # only a wave's end has no result
    if result.error is not None:
        wave.failed.append((wave.tags[index], result))
    else:
        health.note()
        keep(wave.tags[index], result)
