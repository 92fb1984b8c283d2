"""Gathers one-sample calls of many threads or coroutines into batches.

Stacks that request one score at a time (verl, OpenRLHF, verifiers, a server's requests) still use a verifier's batch
method: all samples waiting when a scoring thread becomes free are one batch. There is no separate event loop and no
time window to tune.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from verikit.base import Verifier
from verikit.errors import VerikitError
from verikit.platform.system import at_fork
from verikit.types import Sample, Score

MAX_BATCH = 256
"""Maximum samples per batch, unless the verifier sets a larger one."""
Submitted = tuple[Sample, "Future[Score]"]


class Gather:
    """Scores single samples in batches, in its own threads. The threads end with the process.

    Args:
        verifier: The verifier that scores them.
        max_batch: Maximum samples per batch.
        threads: Number of batches scored in parallel. The first thread starts with the first sample.
    """

    def __init__(self, verifier: Verifier, *, max_batch: int = MAX_BATCH, threads: int = 2) -> None:
        self.verifier = verifier
        self.max_batch = max_batch
        self._threads = threads
        self._queue: queue.SimpleQueue[Submitted | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running: list[threading.Thread] = []
        self._closed = False

    @property
    def waiting(self) -> int:
        """Samples that no thread has taken yet."""
        return self._queue.qsize()

    def submit(self, sample: Sample) -> Future[Score]:
        """Submit a sample. The future's result is its score, and its exception a misconfigured verifier.

        Raises:
            VerikitError: The gatherer is closed.
        """
        future: Future[Score] = Future()
        with self._lock:  # samples queued after the end markers would wait for ever
            if self._closed:
                raise VerikitError("the gatherer is closed: no more samples are taken")
            self._queue.put((sample, future))
            if len(self._running) < self._threads:
                thread = threading.Thread(target=self._work, name="verikit-gather", daemon=True)
                self._running.append(thread)
                thread.start()
        return future

    async def score(self, sample: Sample) -> Score:
        """Score one sample, in a batch with the other waiting samples."""
        return await asyncio.wrap_future(self.submit(sample))

    def close(self) -> None:
        """Score the waiting samples and stop. Idempotent."""
        with self._lock:
            self._closed = True
            for _ in self._running:
                self._queue.put(None)
            running, self._running = self._running, []
        for thread in running:
            thread.join()

    def _work(self) -> None:
        while True:
            batch: list[Submitted] = []
            item = self._queue.get()
            while item is not None:
                if item[1].set_running_or_notify_cancel():
                    batch.append(item)
                if len(batch) >= self.max_batch:
                    break
                try:
                    item = self._queue.get_nowait()
                except queue.Empty:
                    break
            if batch:
                self._score(batch)
            if item is None:
                return

    def _score(self, batch: Sequence[Submitted]) -> None:
        try:
            scores = self.verifier.score([sample for sample, _ in batch])
        except VerikitError as error:  # the verifier is set up wrongly: that is for every caller to hear
            for _, future in batch:
                future.set_exception(error)
            return
        for (_, future), score in zip(batch, scores, strict=True):
            future.set_result(score)


_gathered: dict[str, Gather] = {}
"""By the verifier's fingerprint, so copies of one verifier (for example unpickled per task) share threads."""
_lock = threading.Lock()


def gathered(verifier: Verifier, fingerprint: str) -> Gather:
    """Return the only gatherer of a verifier in this process, created on first use."""
    with _lock:
        if fingerprint not in _gathered:
            _gathered[fingerprint] = Gather(verifier, max_batch=max(MAX_BATCH, verifier.batch))
        return _gathered[fingerprint]


def _forked() -> None:
    """In a forked child: threads are not inherited."""
    global _lock
    _lock = threading.Lock()
    _gathered.clear()


at_fork(in_child=_forked)
