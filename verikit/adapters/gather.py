"""Gathers one-sample calls of many threads or coroutines into batches.

Stacks that ask for one score at a time (verl, OpenRLHF, verifiers, a server's requests) still reach a verifier's batch
form: whatever waits when a scoring thread becomes free is one batch. No event loop of ours, no time window to tune.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from verikit.base import Verifier, score_all
from verikit.errors import VerikitError
from verikit.platform.system import at_fork
from verikit.types import Sample, Score

MAX_BATCH = 256
"""Samples to a batch, where the verifier does not want more."""
Submitted = tuple[Sample, "Future[Score]"]


class Gather:
    """Scores samples handed in one by one, in batches, in threads of its own; they end with the process.

    Args:
        verifier: What scores them.
        max_batch: Samples to a batch.
        threads: Batches scored side by side; the first is started with the first sample.
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
        """Hand in a sample; its score comes as the future's result, a wrongly set up verifier as its exception.

        Raises:
            VerikitError: the gatherer is closed.
        """
        future: Future[Score] = Future()
        with self._lock:  # what is put behind the marks of the end would wait for ever
            if self._closed:
                raise VerikitError("the gatherer is closed: no more samples are taken")
            self._queue.put((sample, future))
            if len(self._running) < self._threads:
                thread = threading.Thread(target=self._work, name="verikit-gather", daemon=True)
                self._running.append(thread)
                thread.start()
        return future

    async def score(self, sample: Sample) -> Score:
        """Score one sample, in a batch with what else waits."""
        return await asyncio.wrap_future(self.submit(sample))

    def close(self) -> None:
        """Score what waits and stop; idempotent."""
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
            scores = score_all(self.verifier, [sample for sample, _ in batch])
        except VerikitError as error:  # the verifier is set up wrongly: that is for every caller to hear
            for _, future in batch:
                future.set_exception(error)
            return
        for (_, future), score in zip(batch, scores, strict=True):
            future.set_result(score)


_gathered: dict[str, Gather] = {}
"""By the verifier's fingerprint: copies of one verifier (unpickled for each task, say) share threads."""
_lock = threading.Lock()


def gathered(verifier: Verifier, fingerprint: str) -> Gather:
    """The one gatherer of a verifier in this process, made when it is first asked for."""
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
