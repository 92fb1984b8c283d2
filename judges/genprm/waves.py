"""All live paths of a batch advance together: one call of the engine a wave, code run while others generate.

A path whose code is still running misses the wave and joins the next one, so the sandbox works while the engine does. A
wave starts as soon as a quarter of the live paths are ready.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from verikit.engines import Engine, Generation, Request
from verikit.errors import EngineError, SandboxError
from verikit.judges.genprm.notebook import Notebook
from verikit.judges.genprm.path import RunCode, Walk
from verikit.judges.genprm.review import Path

READY_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Walker:
    """A path under way."""

    walk: Walk
    path: Path
    notebook: Notebook

    def advance(self, generation: Generation | None) -> Request | None:
        """Go on with what the engine gave (None: begin) up to the next request; None where the path has ended."""
        try:
            event = self.walk.send(generation)
            while isinstance(event, RunCode):
                event = self.walk.send(self.notebook.run(event.text))
            return event
        except StopIteration:
            return None
        except (EngineError, SandboxError) as error:
            self.path.error = error
            return None


def advance_all(walkers: Sequence[Walker], engine: Engine, threads: int) -> None:
    """Advance every path to its end; code runs on `threads` threads."""
    ready = {number: request for number, one in enumerate(walkers) if (request := one.advance(None)) is not None}
    busy: dict[Future[Request | None], int] = {}
    pool = ThreadPoolExecutor(threads, thread_name_prefix="verikit-genprm")
    try:
        while ready or busy:
            if busy and len(ready) < READY_SHARE * (len(ready) + len(busy)):
                wait(busy, return_when=FIRST_COMPLETED)
            else:
                wave, ready = sorted(ready.items(), key=lambda pair: pair[0]), {}  # paths of a solution side by side
                for place, generation in engine.stream([request for _, request in wave]):
                    number = wave[place][0]
                    busy[pool.submit(walkers[number].advance, generation)] = number
            for future in [future for future in busy if future.done()]:
                number = busy.pop(future)
                if (request := future.result()) is not None:
                    ready[number] = request
    finally:
        pool.shutdown(cancel_futures=True)  # an interrupt waits for the code that runs, not for all that is queued
