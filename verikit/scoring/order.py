"""Chunks on their way through workers: split from the input, handed out, and returned in its order.

A chunk whose worker died (a crash in native code, the kernel's out-of-memory killer) is halved and retried, until the
row that kills a worker is isolated and gets the error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from verikit.scoring.chunk import Chunk, ChunkResult, Scorer


class Task:
    """A chunk on its way: waiting, in a worker, or done."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.result: ChunkResult | None = None


class ChunkOrder:
    """A bounded number of chunks, in the input's order.

    Args:
        chunks: The input.
        scorer: Writes the error of a row that kills its worker.
        jobs: Number of workers.
    """

    def __init__(self, chunks: Iterator[Chunk], scorer: Scorer, jobs: int) -> None:
        self._chunks, self._scorer, self._jobs = chunks, scorer, jobs
        self._order: deque[Task] = deque()  # split and not yet yielded
        self._todo: deque[Task] = deque()  # those that no worker has received

    def cut(self) -> None:
        """Keep a chunk ready for each worker, but not more than a few ahead of the one that is awaited."""
        while (
            len(self._todo) < self._jobs and len(self._order) < 4 * self._jobs and (chunk := next(self._chunks, None))
        ):
            task = Task(chunk)
            self._order.append(task)
            self._todo.append(task)

    def take(self) -> Task | None:
        """Return a task for a free worker, or None if there is none now."""
        return self._todo.popleft() if self._todo else None

    def done(self) -> Iterator[tuple[Chunk, ChunkResult]]:
        """The results that are next in order."""
        while self._order and (result := self._order[0].result) is not None:
            yield self._order.popleft().chunk, result
            self.cut()

    @property
    def waiting(self) -> int:
        """Number of tasks that no worker has received: one per worker, or all that remain of the input."""
        return len(self._todo)

    @property
    def empty(self) -> bool:
        """Whether everything was split, scored and yielded."""
        return not self._order

    def lost(self, task: Task, cause: str) -> None:
        """Take back a task whose worker died: halved, or with its one row's error."""
        halves = task.chunk.halves()
        if halves is None:
            task.result = self._scorer(task.chunk, f"scoring this row killed its worker process ({cause})")
            return
        tasks = [Task(half) for half in halves]
        index = self._order.index(task)
        del self._order[index]
        for half in reversed(tasks):
            self._order.insert(index, half)
        self._todo.extendleft(reversed(tasks))
