"""Threads that run a limited number of jobs in parallel. A waiting job releases its thread.

A job is called repeatedly until it returns None. A number is the seconds to wait before the next call. The caller of
`run` keeps the clock of its own waiting jobs, so several callers share the threads and none polls. The threads are
daemons: an interrupted program need not wait for a server that hangs.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

Job = Callable[[], float | None]
AnyJob = TypeVar("AnyJob", bound=Job)


class _Run:
    """One caller's jobs: the queue that reports their turns, and whether the caller still needs them."""

    def __init__(self) -> None:
        self.turns: SimpleQueue[tuple[Any, float | None, bool]] = SimpleQueue()
        self.wanted = True

    def report(self, job: Job, again: float | None, whole: bool) -> None:
        """Report a job's turn, the seconds until its next one, and whether it ended without an exception."""
        self.turns.put((job, again, whole))


class _Single(_Run):
    """One job without a listener, which calls a function at its end."""

    def __init__(self, later: Callable[[float, Job, _Run], None], done: Callable[[bool], None]) -> None:
        super().__init__()
        self._later, self._done = later, done

    def report(self, job: Job, again: float | None, whole: bool) -> None:
        """Report the end, or schedule the job's next turn."""
        if not whole or again is None:
            self._done(whole)
        else:
            self._later(again, job, self)


class _Clock:
    """Calls functions at their scheduled times, from one thread, which ends when nothing is scheduled."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def after(self, seconds: float, function: Callable[[], None]) -> None:
        """Schedule a call of a function, which must not take long."""
        with self._changed:
            heapq.heappush(self._waiting, (time.monotonic() + seconds, next(self._order), function))
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="verikit-clock", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while self._waiting:
                wait = self._waiting[0][0] - time.monotonic()
                if wait > 0:
                    self._changed.wait(wait)
                else:
                    heapq.heappop(self._waiting)[2]()
            self._thread = None


class Dispatcher:
    """Runs jobs on at most `width` threads, started when first needed."""

    def __init__(self, width: int, at_end: Callable[[], None]) -> None:
        """Create a dispatcher. `at_end` is called in each thread before it ends."""
        self._width, self._at_end = width, at_end
        self._tasks: SimpleQueue[tuple[Job, _Run] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._jobs = 0
        """Jobs that have not ended, including some that were cancelled."""
        self._clock = _Clock()

    def run(self, jobs: Sequence[AnyJob]) -> Iterator[AnyJob]:
        """Start jobs in order, and yield each once it has returned None.

        A caller that stops listening (because of an interrupt, say) cancels the jobs that have not started.

        Raises:
            RuntimeError: A job raised an exception, which is a bug. Its thread printed the traceback.
        """
        self._start(self._count(len(jobs)))
        run = _Run()
        for job in jobs:
            self._tasks.put((job, run))
        try:
            yield from self._listen(run, len(jobs))
        finally:
            run.wanted = False
            self._count(-len(jobs))

    def add(self, job: Job, done: Callable[[bool], None]) -> Callable[[], None]:
        """Start a job. `done` is called in its thread when it has returned None, or with False if it raised.

        Returns a function that cancels the job: it has no further turn, and `done` is not called if it waits for one.
        """

        def ended(whole: bool) -> None:
            self._count(-1)
            done(whole)

        def give_up() -> None:
            run.wanted = False

        run = _Single(self._later, ended)
        self._start(self._count(1))
        self._tasks.put((job, run))
        return give_up

    def _count(self, more: int) -> int:
        with self._lock:
            self._jobs += more
            return self._jobs

    def _later(self, seconds: float, job: Job, run: _Run) -> None:
        """Schedule a job's next turn, even if the threads were released in the meantime."""

        def turn() -> None:
            self._start(1)
            self._tasks.put((job, run))

        self._clock.after(seconds, turn)

    def _listen(self, run: _Run, left: int) -> Iterator[Any]:
        order = 0
        waiting: list[tuple[float, int, Job]] = []
        while left:
            try:
                job, again, whole = run.turns.get(
                    timeout=max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
                )
            except Empty:
                pass
            else:
                if not whole:
                    raise RuntimeError("a call to the server ended in a programming error")
                if again is None:
                    left -= 1
                    yield job
                else:
                    order += 1
                    heapq.heappush(waiting, (time.monotonic() + again, order, job))
            while waiting and waiting[0][0] <= time.monotonic():
                self._tasks.put((heapq.heappop(waiting)[2], run))

    def close(self) -> None:
        """Let the threads end after the jobs already handed over."""
        with self._lock:
            for _ in self._threads:
                self._tasks.put(None)
            self._threads.clear()

    def _start(self, wanted: int) -> None:
        with self._lock:
            self._threads = [thread for thread in self._threads if thread.is_alive()]  # none after a fork
            while len(self._threads) < min(wanted, self._width):
                thread = threading.Thread(target=self._work, name="verikit-engine", daemon=True)
                self._threads.append(thread)
                thread.start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            job, run = task
            if run.wanted:
                again, whole = None, False
                try:
                    again = job()
                    whole = True
                finally:
                    run.report(job, again, whole)
        self._at_end()
