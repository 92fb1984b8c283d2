"""Collecting the next step's batch while this one is learnt from (`batch.ahead`): one step off-policy.

The batch of step t + 1 is then sampled by the weights before step t's update. What samples has weights of its own, and
the objective takes each token's probability when it was sampled, so the ratio to it is the importance weight (with
`loss.mismatch`, that of the trainer's own probability). After a step that saves a checkpoint nothing is ahead: the next
batch is sampled by the weights that are saved, so that a run which is resumed there is the run without a break.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import NamedTuple

from verikit.trainers.recipe import Trajectory

ENDING_S = 60.0
"""How long `close` waits for a batch that is being collected: it may wait for another process, which has died."""


class CollectedBatch(NamedTuple):
    """One step's trajectories."""

    step: int
    trajectories: Sequence[Trajectory]
    metrics: dict[str, float]
    """The recipe's, of this batch."""
    seconds: float


class Ahead:
    """Collects in the caller's thread, or ahead of it in another."""

    def __init__(
        self,
        collect: Callable[[int], Sequence[Trajectory]],
        metrics: Callable[[], dict[str, float]],
        stop: Callable[[], None],
    ) -> None:
        """Take what collects a step's batch, what then says the metrics of it, and what makes collecting fail soon."""
        self._collect, self._metrics, self._stop = collect, metrics, stop
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
        coming: Future[CollectedBatch] = Future()

        def run() -> None:
            try:
                coming.set_result(self._collected(step))
            except BaseException as error:  # noqa: BLE001 - raised where the batch is waited for
                coming.set_exception(error)

        self._coming = coming
        # A daemon: a process that fails while others' rollouts are waited for must be able to end.
        threading.Thread(target=run, name="verikit-ahead", daemon=True).start()

    def wait(self) -> None:
        """Wait for what was begun: then nothing samples.

        Raises:
            Exception: what collecting raised.
        """
        if self._coming is not None:
            self._coming.result()

    def close(self) -> None:
        """Give up a batch that is being collected, before what it is collected with is closed."""
        if self._coming is not None and not self._coming.done():
            self._stop()
            wait([self._coming], ENDING_S)

    def _collected(self, step: int) -> CollectedBatch:
        began = time.perf_counter()
        trajectories = self._collect(step)
        return CollectedBatch(step, trajectories, self._metrics(), time.perf_counter() - began)
