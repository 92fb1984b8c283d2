"""Collect the next step's batch while training on this one (`batch.ahead`): one step off-policy.

The batch of step t + 1 is sampled with the weights before step t's update. The sampler has a copy of the weights. The
objective uses each token's probability at sampling time, so the ratio to it is the importance weight. With
`loss.mismatch`, that probability is the trainer's. After a step that saves a checkpoint, the trainer does not collect
ahead. The next batch is sampled with the saved weights, so a resumed run equals an uninterrupted one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import NamedTuple

from verikit.trainers.recipe import Trajectory

ENDING_S = 60.0
"""Seconds that `close` waits for a batch in progress. The batch may be waiting for another process, which has died."""


class CollectedBatch(NamedTuple):
    """One step's trajectories."""

    step: int
    trajectories: Sequence[Trajectory]
    metrics: dict[str, float]
    """The recipe's metrics of this batch."""
    seconds: float


class Ahead:
    """Collects batches in the caller's thread, or in advance in another thread."""

    def __init__(
        self,
        collect: Callable[[int], Sequence[Trajectory]],
        metrics: Callable[[], dict[str, float]],
        stop: Callable[[], None],
    ) -> None:
        """Take three functions: collect a step's batch, return its metrics, and make collecting fail soon."""
        self._collect, self._metrics, self._stop = collect, metrics, stop
        self._coming: Future[CollectedBatch] | None = None

    def batch(self, step: int) -> tuple[CollectedBatch, bool]:
        """Return a step's batch, and whether it was collected ahead.

        Raises:
            Exception: Collecting the batch failed.
        """
        if self._coming is None:
            return self._collected(step), False
        coming, self._coming = self._coming, None
        return coming.result(), True

    def begin(self, step: int) -> None:
        """Start collecting a step's batch in a thread."""
        coming: Future[CollectedBatch] = Future()

        def run() -> None:
            try:
                coming.set_result(self._collected(step))
            except BaseException as error:  # noqa: BLE001 - raised where the batch is waited for
                coming.set_exception(error)

        self._coming = coming
        # A daemon thread: a process that fails while waiting for other processes' rollouts must be able to exit.
        threading.Thread(target=run, name="verikit-ahead", daemon=True).start()

    def wait(self) -> None:
        """Wait for the batch in progress. After that, the sampler is idle.

        Raises:
            Exception: Collecting the batch failed.
        """
        if self._coming is not None:
            self._coming.result()

    def close(self) -> None:
        """Abandon a batch in progress, before the engine and other resources close."""
        if self._coming is not None and not self._coming.done():
            self._stop()
            wait([self._coming], ENDING_S)

    def _collected(self, step: int) -> CollectedBatch:
        began = time.perf_counter()
        trajectories = self._collect(step)
        return CollectedBatch(step, trajectories, self._metrics(), time.perf_counter() - began)
