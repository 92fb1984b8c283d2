"""The only counter of the CPU time that runs take: programs, compilers, failed runs. Quotas are charged by it.

A fork server reports each run's time, as the kernel measured it for the run's processes together. So a new kind of run
is counted without additional code.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Meter:
    """CPU time of the runs of one piece of work."""

    cpu_s: float = 0.0


_running: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metered() -> Iterator[Meter]:
    """Count the runs that this thread waits for. Runs of an inner meter are not counted by the outer one."""
    meter = Meter()
    before = _running.set(meter)
    try:
        yield meter
    finally:
        _running.reset(before)


def count(cpu_s: float) -> None:
    """Add a run that has ended."""
    if meter := _running.get():
        meter.cpu_s += cpu_s
