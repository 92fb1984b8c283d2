"""All live paths of a batch advance together: one call of the engine per wave, and code runs while others generate.

A path whose code is still running misses the wave and joins the next one, so the sandbox works while the engine does. A
wave starts as soon as a quarter of the live paths are ready.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from verikit.engines import Engine, Generation, Request
from verikit.errors import EngineError, SandboxError
from verikit.judges.genprm.notebook import Cell, Notebook
from verikit.judges.genprm.path import RunCode, Walk
from verikit.judges.genprm.review import Path

READY_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Walker:
    """A started path."""

    walk: Walk
    path: Path
    notebook: Notebook

    def advance(self, given: Generation | Cell | None) -> Request | RunCode | None:
        """Continue with a result (None: start). Return the next request, or None if the path has ended."""
        try:
            return self.walk.send(given)
        except StopIteration:
            return None
        except EngineError as error:
            self.path.error = error
            return None

    def run(self, code: RunCode) -> Cell | None:
        """Run code. None if the sandbox failed, which ends the path."""
        try:
            return self.notebook.run(code.text)
        except SandboxError as error:
            self.path.error = error
            return None


def advance_all(walkers: Sequence[Walker], engine: Engine, threads: int) -> None:
    """Advance every path to its end. Code runs on `threads` threads."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="verikit-genprm")
    ready: dict[int, Request] = {}
    busy: dict[Future[Cell | None], int] = {}

    def go_on(number: int, given: Generation | Cell | None) -> None:
        wanted = walkers[number].advance(given)
        if isinstance(wanted, RunCode):
            busy[pool.submit(walkers[number].run, wanted)] = number
        elif wanted is not None:
            ready[number] = wanted

    def sample_wave() -> None:
        """Sample for all ready paths, with paths of one solution adjacent."""
        wave = sorted(ready)
        requests = [ready.pop(number) for number in wave]
        for index, generation in engine.stream(requests):
            go_on(wave[index], generation)

    try:
        for number in range(len(walkers)):
            go_on(number, None)
        while ready or busy:
            if busy and len(ready) < READY_SHARE * (len(ready) + len(busy)):
                wait(busy, return_when=FIRST_COMPLETED)
            else:
                sample_wave()
            for future in [future for future in busy if future.done()]:
                number = busy.pop(future)
                if (cell := future.result()) is not None:
                    go_on(number, cell)
    finally:
        pool.shutdown(cancel_futures=True)  # an interrupt waits only for running code, not for all that is queued
