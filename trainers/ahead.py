"""Collecting the next step's batch while this one is learnt from (`batch.ahead`): one step off-policy.

The batch of step t + 1 is then sampled by the weights before step t's update. What samples has weights of its own, and
the objective takes each token's probability when it was sampled, so the ratio to it is the importance weight (with
`loss.mismatch`, that of the trainer's own probability). After a step that saves a checkpoint nothing is ahead: the next
batch is sampled by the weights that are saved, so that a run which is resumed there is the run without a break.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from verikit.trainers.recipe import Trajectory


class CollectedBatch(NamedTuple):
    """One step's trajectories."""

    step: int
    trajectories: Sequence[Trajectory]
    metrics: dict[str, float]
    """The recipe's, of this batch."""
    seconds: float


class Ahead:
    """Collects in the caller's thread, or ahead of it in another."""

    def __init__(self, collect: Callable[[int], Sequence[Trajectory]], metrics: Callable[[], dict[str, float]]) -> None:
        """Take what collects a step's batch, and what then says the metrics of it."""
        self._collect, self._metrics = collect, metrics
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="verikit-ahead")
        self._coming: Future[CollectedBatch] | None = None

    def batch(self, step: int) -> tuple[CollectedBatch, bool]:
        """Return a step's batch, and whether it was collected ahead.

        Raises:
            Exception: what collecting it raised.
        """
        if self._coming is None:
            return self._collected(step), False
        coming, self._coming = self._coming, None
        return coming.result(), True

    def begin(self, step: int) -> None:
        """Begin to collect a step's batch in a thread."""
        self._coming = self._thread.submit(self._collected, step)

    def wait(self) -> None:
        """Wait for what was begun: then nothing samples.

        Raises:
            Exception: what collecting raised.
        """
        if self._coming is not None:
            self._coming.result()

    def close(self) -> None:
        """End the thread, after what it is at."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _collected(self, step: int) -> CollectedBatch:
        began = time.perf_counter()
        trajectories = self._collect(step)
        return CollectedBatch(step, trajectories, self._metrics(), time.perf_counter() - began)
