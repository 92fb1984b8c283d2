"""Chunks on worker processes: results in input order, a bounded number in flight, and no row lost to a dead worker.

Workers are spawned, so they inherit nothing, and the kernel kills them with their parent. order.py documents how a
chunk whose worker died is handled.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait

from verikit.errors import EngineError, HelperError, UsageError, VerikitError
from verikit.helper import die_with_parent
from verikit.platform import tracing
from verikit.scoring.chunk import Chunk, ChunkResult, Scorer
from verikit.scoring.order import ChunkOrder, Task
from verikit.scoring.plan import ScoringPlan

STOP_S = 5.0
"""Seconds that a worker may take to end."""
InFlight = dict[object, tuple[Chunk, float]]
"""Chunks being scored, by the worker that scores them, with the time each was handed out (monotonic seconds)."""


def score_chunks(
    chunks: Iterable[Chunk], scorer: Scorer, jobs: int | str, in_flight: InFlight
) -> Generator[tuple[Chunk, ChunkResult]]:
    """Score chunks in `jobs` processes (1: in this one; a string: on Ray) and yield them in order.

    Close it to stop the processes.

    Raises:
        UsageError: A verifier was set up incorrectly.
        EngineError: A verifier's engine is unreachable.
        HelperError: A worker can't start.
        MissingExtra: ray is requested and not installed.
    """
    if isinstance(jobs, str):
        from verikit.scoring.on_ray import score_on_ray

        yield from score_on_ray(iter(chunks), scorer, jobs, in_flight)
        return
    if jobs > 1:
        yield from _Pool(iter(chunks), scorer, jobs, in_flight).score()
        return
    for chunk in chunks:
        in_flight[scorer] = chunk, time.monotonic()
        result = timed(scorer, chunk)
        in_flight.clear()
        yield chunk, result


class _Worker:
    """A process that scores one chunk at a time."""

    def __init__(self, plan: ScoringPlan) -> None:
        self.task: Task | None = None
        self.ready = False
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(plan, theirs, os.getpid()))
        self.process.start()
        theirs.close()

    def stop(self) -> str:
        """Stop the process if it has not ended. Return the signal or exit code that ended it."""
        self.connection.close()
        self.process.join(STOP_S)
        if self.process.exitcode is None:
            self.kill()
        code = self.process.exitcode or 0
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def kill(self) -> None:
        """End the process now."""
        self.process.kill()
        self.process.join()


class _Pool:
    def __init__(self, chunks: Iterator[Chunk], scorer: Scorer, jobs: int, in_flight: InFlight) -> None:
        self.scorer, self.in_flight = scorer, in_flight
        self.workers: list[_Worker] = []
        self.order = ChunkOrder(chunks, scorer, jobs)

    def score(self) -> Iterator[tuple[Chunk, ChunkResult]]:
        """Yield each chunk with its result, in order."""
        try:
            self.order.cut()
            for _ in range(self.order.waiting):  # only as many as there are tasks
                self._add_worker()
            while True:
                self.order.cut()
                yield from self.order.done()  # makes room for more: hand it out before waiting
                self._hand_out()
                if self.order.empty:
                    break
                self._hear_some()
                self._hand_out()
            for worker in self.workers:
                worker.connection.close()
            for worker in self.workers:
                worker.stop()
        finally:
            for worker in self.workers:
                worker.kill()

    def _add_worker(self) -> None:
        with _uninterrupted():
            self.workers.append(_Worker(self.scorer.plan))

    def _hand_out(self) -> None:
        for worker in self.workers:
            if worker.ready and worker.task is None and (task := self.order.take()):
                worker.task = task
                self.in_flight[worker] = task.chunk, time.monotonic()
                with suppress(ConnectionError):  # it died; reading from it will show that
                    worker.connection.send(task.chunk)

    def _hear_some(self) -> None:
        """Wait until a worker sends something, and process all messages."""
        heard = {worker.connection: worker for worker in self.workers if worker.task or not worker.ready}
        for connection in wait(list(heard)):
            self._hear(heard[connection])  # type: ignore[index]  # wait() returns what it was given

    def _hear(self, worker: _Worker) -> None:
        """Process a worker's message: it is ready, a result, or an error of the caller's. Or its death."""
        try:
            heard = worker.connection.recv()
        except (EOFError, ConnectionError):
            self._bury(worker)
            return
        if isinstance(heard, VerikitError):
            raise heard
        worker.ready = True
        if worker.task is not None:
            worker.task.result = heard
            worker.task = None
            del self.in_flight[worker]

    def _bury(self, worker: _Worker) -> None:
        """Replace a dead worker, and halve the chunk that killed it."""
        cause = worker.stop()
        if worker.task is None:
            raise HelperError(f"a worker process died while starting ({cause})", hint="--jobs 1 shows what happens")
        self.workers.remove(worker)
        self._add_worker()
        del self.in_flight[worker]
        self.order.lost(worker.task, cause)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay an interrupt until the context ends. A process started in it never receives one."""
    came: list[int] = []
    in_main = threading.current_thread() is threading.main_thread()  # the only one that receives and handles interrupts
    handler = signal.signal(signal.SIGINT, lambda number, frame: came.append(number)) if in_main else None
    # Signals blocked in a thread are blocked in its child processes. Starting the tracker, also a child, unblocks them.
    resource_tracker.ensure_running()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if in_main:
            signal.signal(signal.SIGINT, handler)
    if came and callable(handler):
        handler(came[0], None)


def _work(plan: ScoringPlan, connection: Connection, parent: int) -> None:
    """Main function of a worker: report that it is ready, then process each chunk."""
    die_with_parent()
    if os.getppid() != parent:
        return
    tracing.configure()
    os.dup2(2, 1)  # stdout is for results, not for a verifier's prints
    try:
        scorer = Scorer(plan)
        connection.send(None)
        while True:
            connection.send(timed(scorer, connection.recv()))
    except (UsageError, EngineError) as error:
        connection.send(told_again(error))
    except (EOFError, ConnectionError):  # the parent has ended
        return


def told_again(error: UsageError | EngineError) -> VerikitError:
    """Return an error that can be sent to another process."""
    kind = type(error) if isinstance(error, EngineError) else UsageError
    return kind(str(error), hint=error.hint)


def timed(scorer: Scorer, chunk: Chunk) -> ChunkResult:
    """Score a chunk and record the time taken."""
    start = time.monotonic()
    result = scorer(chunk)
    result.seconds = time.monotonic() - start
    return result
