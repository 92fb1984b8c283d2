"""Chunks over worker processes: results in input order, a bounded number in flight, and no row lost to a dead worker.

Workers are spawned, so they inherit nothing. A chunk whose worker died (a crash in native code, the kernel's memory
killer) is scored again row by row; the row that kills a worker by itself is the one that gets the error.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import Any

from verikit.scoring.chunk import Chunk, Result, Scorer
from verikit.scoring.plan import Plan

_scorer: Scorer


def score_chunks(
    chunks: Iterable[Chunk], scorer: Scorer, jobs: int, in_flight: deque[tuple[Chunk, float]]
) -> Iterator[tuple[Chunk, Result]]:
    """Score chunks in `jobs` processes (1: in this one) and yield them in order.

    `in_flight` always holds the chunks being scored with the time each was handed out, oldest first.
    """
    if jobs == 1:
        for chunk in chunks:
            in_flight.append((chunk, time.monotonic()))
            result = _timed(scorer, chunk)
            in_flight.clear()
            yield chunk, result
        return
    from pebble import ProcessPool

    context: Any = multiprocessing.get_context("spawn")
    pool: Any = ProcessPool(max_workers=jobs, context=context, initializer=_start, initargs=(scorer.plan,))
    futures: deque[Future[Result]] = deque()
    try:
        for chunk in chunks:
            in_flight.append((chunk, time.monotonic()))
            futures.append(pool.schedule(_score, args=(chunk,)))
            if len(futures) > 2 * jobs:
                yield in_flight[0][0], _result(pool, futures.popleft(), in_flight[0][0], scorer)
                in_flight.popleft()
        while futures:
            yield in_flight[0][0], _result(pool, futures.popleft(), in_flight[0][0], scorer)
            in_flight.popleft()
        pool.close()
    finally:
        pool.stop()
        pool.join()


def _result(pool: Any, future: Future[Result], chunk: Chunk, scorer: Scorer) -> Result:
    from pebble import ProcessExpired

    try:
        return future.result()
    except ProcessExpired as death:
        if len(chunk.rows) == 1:
            return scorer(chunk, dead=f"scoring this row killed its worker process (exit code {death.exitcode})")
    total = Result(scorer(Chunk([])).tally)
    for row in chunk.rows:
        alone = Chunk([row], chunk.parser)
        part = _result(pool, pool.schedule(_score, args=(alone,)), alone, scorer)
        total.tally.merge(part.tally)
        total.ids += part.ids
        for name, data in part.written.items():
            total.written[name] = total.written.get(name, b"") + data
    return total


def _start(plan: Plan) -> None:
    global _scorer
    # The parent decides what an interrupt means; a worker that died of it would look like a crash.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _scorer = Scorer(plan)


def _score(chunk: Chunk) -> Result:
    return _timed(_scorer, chunk)


def _timed(scorer: Scorer, chunk: Chunk) -> Result:
    start = time.monotonic()
    result = scorer(chunk)
    result.seconds = time.monotonic() - start
    return result
