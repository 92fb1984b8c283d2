"""Threads that run jobs, at most so many at a time; a job that must wait gives its thread back meanwhile.

A job is called again and again until it returns None; a number is the seconds to wait before the next call. The caller
of `run` keeps the clock of its own waiting jobs, so several callers share the threads and none polls. The threads are
daemons: an interrupted program need not wait for a server that hangs.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

Job = Callable[[], float | None]
_Done = SimpleQueue[tuple[Job, float | None, bool]]


class Dispatcher:
    """Runs jobs on at most `width` threads, started when first needed."""

    def __init__(self, width: int, at_end: Callable[[], None]) -> None:
        """Make a dispatcher; `at_end` is called in each thread before it ends."""
        self._width, self._at_end = width, at_end
        self._tasks: SimpleQueue[tuple[Job, _Done] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def run(self, jobs: Sequence[Job]) -> None:
        """Run jobs until each has returned None; they start in order.

        Raises:
            RuntimeError: a job raised, which none should; its thread printed the traceback.
        """
        self._start(len(jobs))
        done: _Done = SimpleQueue()
        for job in jobs:
            self._tasks.put((job, done))
        left, order = len(jobs), 0
        waiting: list[tuple[float, int, Job]] = []
        while left:
            try:
                job, again, whole = done.get(timeout=max(0.0, waiting[0][0] - time.monotonic()) if waiting else None)
            except Empty:
                pass
            else:
                if not whole:
                    raise RuntimeError("a call to the server ended in a programming error")
                if again is None:
                    left -= 1
                else:
                    order += 1
                    heapq.heappush(waiting, (time.monotonic() + again, order, job))
            while waiting and waiting[0][0] <= time.monotonic():
                self._tasks.put((heapq.heappop(waiting)[2], done))

    def close(self) -> None:
        """Let the threads end after the jobs already handed over."""
        with self._lock:
            for _ in self._threads:
                self._tasks.put(None)
            self._threads.clear()

    def _start(self, wanted: int) -> None:
        with self._lock:
            while len(self._threads) < min(wanted, self._width):
                thread = threading.Thread(target=self._work, name="verikit-engine", daemon=True)
                self._threads.append(thread)
                thread.start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            job, done = task
            again, whole = None, False
            try:
                again = job()
                whole = True
            finally:
                done.put((job, again, whole))
        self._at_end()
