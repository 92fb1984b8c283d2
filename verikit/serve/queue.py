"""One bounded queue of samples in front of the scoring processes, which take them in batches.

If a process dies or takes too long, its samples are retried one by one. A sample that dies again gets an error that
explains it. A sample that takes too long is moved behind the others and gets more time, until its deadline. A ticket is
one request's samples, and is complete at its deadline at the latest.

On the first try, a sample's programs get an equal part of the request's time. Many looping programs therefore leave
time for their neighbours. If that was too short, the batch is retried behind all others with the maximum time per row.
The scores of the first try are used if the deadline comes first.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from verikit.errors import HelperError, VerikitError
from verikit.platform import tracing
from verikit.platform.system import processors
from verikit.serve.metrics import Metrics
from verikit.serve.process import ROWS_PER_DEADLINE, row_of
from verikit.serve.worker import Worker
from verikit.types import Sample, Score

AGAIN_S = 1.0
"""Seconds to wait before starting another process after a failed start."""
ALONE_S = 1.0
"""Minimum seconds for a sample that is tried alone, since a new process loads its models first."""
LEAST_ROW_S = 1.0
"""Minimum seconds for a row's programs on the first try, regardless of the request's number of rows."""
_log = logging.getLogger("verikit.serve")


class Full(VerikitError):
    """The queue has no room for the samples."""

    def __init__(self, waiting: int, seconds: int) -> None:
        super().__init__(f"{waiting} samples are waiting", hint=f"try again in {seconds} s")
        self.seconds = seconds
        """Seconds after which a retry may succeed."""


class Overrun(HelperError):
    """A process took too long."""


class Ticket:
    """The samples of one request and their scores, as JSON lines, as they arrive."""

    def __init__(self, samples: Sequence[Sample | Score], deadline_s: float) -> None:
        loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = loop.create_future()
        """Set when every row is there."""
        self.deadline: float = monotonic() + deadline_s
        self.rows: list[bytes | None] = [row_of(sample) if isinstance(sample, Score) else None for sample in samples]
        self._missing = self.rows.count(None)
        self.first_tries: dict[int, bytes] = {}
        """Scores of rows that had their part of the time, and may yet be given more."""
        part = deadline_s / 4 * processors() / max(1, self._missing)
        self.row_s: float = min(deadline_s / ROWS_PER_DEADLINE, max(LEAST_ROW_S, part))
        """Maximum seconds for a row's programs on the first try."""
        self.trace: dict[str, str] = tracing.carrier()
        """The request's span, for the process that scores its samples."""
        self._seconds = deadline_s
        self._timer = loop.call_later(deadline_s, self._expire)
        if not self._missing:
            self.close()

    def put(self, index: int, row: bytes) -> None:
        """Fill in a score, unless the ticket is complete."""
        if not self.done.done() and self.rows[index] is None:
            self.rows[index] = row
            self._missing -= 1
            if not self._missing:
                self.close()

    def close(self) -> None:
        """Accept no more scores: every row is scored, or the client no longer waits."""
        self._timer.cancel()
        if not self.done.done():
            self.done.set_result(None)

    def _expire(self) -> None:
        late = row_of(Score.timeout(f"scoring took longer than {self._seconds:g} s"))
        self.rows = [self.first_tries.get(i, late) if row is None else row for i, row in enumerate(self.rows)]
        self.close()


@dataclass(slots=True)
class _Item:
    """A sample on its way."""

    ticket: Ticket
    index: int
    sample: bytes
    """Pickled."""
    tried: bool = False
    """Whether its process was lost."""
    again: bool = False
    """Whether it used up its part of the time and is retried with more."""


class Queue:
    """Distributes waiting samples over the workers in batches.

    Args:
        spec: The verifier.
        workers: Number of scoring processes.
        max_batch: Samples per batch, unless the verifier sets a larger one.
        max_waiting: Maximum number of waiting samples.
        deadline_s: Seconds a request may take.
        metrics: Receives the counts.
    """

    def __init__(
        self, spec: str, *, workers: int, max_batch: int, max_waiting: int, deadline_s: float, metrics: Metrics
    ) -> None:
        self.spec: str = spec
        self.size: int = workers
        self.max_batch: int = max_batch
        self.max_waiting: int = max_waiting
        self.deadline_s: float = deadline_s
        self.metrics: Metrics = metrics
        self.workers: list[Worker] = []
        """Workers that are ready."""
        self._items: deque[_Item] = deque()
        self._alone: deque[_Item] = deque()
        """Samples whose process was lost. They go first, one at a time."""
        self._again: deque[_Item] = deque()
        """Samples that may get more time. They go last."""
        self._idle: deque[asyncio.Future[None]] = deque()
        self._drivers: list[asyncio.Task[None]] = []
        self._cost = 0.0
        """Running average of seconds per sample."""

    @property
    def waiting(self) -> int:
        """Samples in the queue."""
        return len(self._items) + len(self._alone) + len(self._again)

    @property
    def ready(self) -> bool:
        """Whether submitted samples will be scored."""
        return bool(self.workers) and not any(driver.done() for driver in self._drivers)

    async def start(self) -> None:
        """Start the workers.

        Raises:
            UsageError: The spec can't be loaded.
            HelperError: A process can't start.
        """
        first = await Worker.start(self.spec, self.deadline_s)
        self.max_batch = max(self.max_batch, first.batch)
        if first.most:
            self.max_batch = min(self.max_batch, first.most)
        others = await asyncio.gather(*(Worker.start(self.spec, self.deadline_s) for _ in range(self.size - 1)))
        self.workers = [first, *others]
        self._drivers = [asyncio.create_task(self._drive(worker)) for worker in self.workers]

    async def stop(self) -> None:
        """Stop the workers. No client waits for the remaining requests, since the server let them finish first."""
        for driver in self._drivers:
            driver.cancel()
        await asyncio.gather(*self._drivers, return_exceptions=True)
        await asyncio.gather(*(worker.stop() for worker in self.workers))
        self.workers = []

    def submit(self, samples: Sequence[Sample | Score]) -> Ticket:
        """Enqueue a request's samples. Items that are already scores are passed through.

        Raises:
            Full: The samples don't fit into the queue.
            RecursionError: A sample is nested too deeply.
        """
        if self.waiting + len(samples) > self.max_waiting:
            seconds = self.waiting * self._cost / max(1, len(self.workers))
            raise Full(self.waiting, max(1, round(min(seconds, self.deadline_s))))
        pickled = [pickle.dumps(sample) if isinstance(sample, Sample) else None for sample in samples]
        ticket = Ticket(samples, self.deadline_s)
        self._items.extend(_Item(ticket, index, sample) for index, sample in enumerate(pickled) if sample is not None)
        self._wake()
        return ticket

    def _wake(self) -> None:
        while self._idle:
            idle = self._idle.popleft()
            if not idle.done():
                idle.set_result(None)
                return

    async def _take(self) -> list[_Item]:
        """Wait for samples, and take this worker's part of them."""
        while not any(map(self._drop_done, (self._alone, self._items, self._again))):
            idle: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle.append(idle)
            await idle
        if self._alone:
            return [self._alone.popleft()]
        waiting = self._items or self._again
        share = -(-len(waiting) // max(1, len(self.workers)))
        quick = self.deadline_s / 8 / self._cost if self._cost else self.max_batch
        batch: list[_Item] = []
        while waiting and len(batch) < max(1, min(self.max_batch, share, quick)):
            item = waiting.popleft()
            if not item.ticket.done.done():
                batch.append(item)
        if self._items or self._again:
            self._wake()
        return batch

    @staticmethod
    def _drop_done(items: deque[_Item]) -> bool:
        """Drop items from the front whose ticket is done, and return whether any are left."""
        while items and items[0].ticket.done.done():
            items.popleft()
        return bool(items)

    async def _drive(self, worker: Worker) -> None:
        """Keep one worker busy, and replace it when it is lost."""
        while True:
            batch = await self._take()
            try:
                await self._score(worker, batch)
            except HelperError as error:
                worker.kill()
                self.workers.remove(worker)
                self._lost(batch, error)
                worker = await self._replace()

    async def _score(self, worker: Worker, batch: Sequence[_Item]) -> None:
        """Score a batch within half of a request's time. The other half is for a retry.

        Raises:
            Overrun: The worker took too long.
            HelperError: The worker died.
        """
        begun = monotonic()
        most_s = self.deadline_s / ROWS_PER_DEADLINE
        row_s = min(most_s if item.again else item.ticket.row_s for item in batch)
        limit = self._limit(batch[0], begun)
        try:
            traces = list({id(item.ticket): item.ticket.trace for item in batch}.values())
            scoring = worker.score([item.sample for item in batch], traces, row_s)
            rows, cut_short = await asyncio.wait_for(scoring, limit)
        except TimeoutError:
            raise Overrun(f"it took more than {limit:.3g} s") from None
        if len(rows) != len(batch):
            raise HelperError(f"it gave {len(rows)} scores for {len(batch)} samples")
        for item, row in zip(batch, rows, strict=True):
            if cut_short and row_s < most_s:
                item.again, item.ticket.first_tries[item.index] = True, row
                self._again.append(item)
            else:
                item.ticket.put(item.index, row)
        self._note_cost((monotonic() - begun) / len(batch))
        self.metrics.batch.observe(len(batch))

    def _limit(self, first: _Item, begun: float) -> float:
        """How long a batch may take: for one that was tried before, a fair part of the time left."""
        limit = self.deadline_s / 2
        if not first.tried:
            return limit
        left = first.ticket.deadline - begun
        slice_s = max(ALONE_S, left / (1 + len(self._alone) + bool(self._items)))
        return max(0.0, min(limit, left, slice_s))

    def _note_cost(self, seconds: float) -> None:
        """Update the average with the seconds per row of the last batch."""
        self._cost = 0.8 * self._cost + 0.2 * seconds if self._cost else seconds

    def _lost(self, batch: Sequence[_Item], error: HelperError) -> None:
        """Retry the samples of a lost worker, or record why they failed."""
        _log.warning("a scoring process was lost (%s) with %d samples", error, len(batch))
        for item in batch:
            if item.again:
                item.ticket.put(item.index, item.ticket.first_tries[item.index])
            elif item.tried and not isinstance(error, Overrun):
                item.ticket.put(item.index, row_of(Score.error(f"its scoring process was lost twice: {error}")))
            else:
                item.tried = True
                self._alone.append(item)
        self._wake()

    async def _replace(self) -> Worker:
        while True:
            self.metrics.restarts.inc()
            try:
                worker = await Worker.start(self.spec, self.deadline_s)
            except VerikitError as error:
                _log.error("scoring processes can't be started: %s", error)
                await asyncio.sleep(AGAIN_S)
            else:
                self.workers.append(worker)
                return worker
