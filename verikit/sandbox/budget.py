"""One budget of seconds for all runs of a row: its compiler and many tests, calls or pairs have an end together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from verikit.errors import UsageError
from verikit.sandbox import Failure, RunLimits, RunResult
from verikit.sandbox.programs import BUILD, BuiltProgram

FULL_RUNS = 6
"""Number of runs that use up their own limit in a row, unless its budget is given."""
_LEAST_S = 0.01
"""With less than this left a budget is used up: clocks are read in two processes."""
_ceiling_s = math.inf
_cut_short = False


def set_ceiling(seconds: float) -> None:
    """Limit each row of this process to `seconds`, regardless of its verifier's options."""
    global _ceiling_s, _cut_short
    _ceiling_s, _cut_short = seconds, False


def cut_short() -> bool:
    """Whether, since it was set, the ceiling ended a row that its own options might have allowed to continue."""
    return _cut_short


def row_seconds(wall_s: float, row_s: float | None) -> float:
    """Seconds for all runs of a row, given the limit of one and the requested budget (None: six full runs).

    Raises:
        UsageError: The budget is not a positive number.
    """
    if row_s is not None and not 0 < row_s < math.inf:
        raise UsageError(f"row_s must be a positive number of seconds, got {row_s!r}")
    return min(FULL_RUNS * wall_s if row_s is None else row_s, _ceiling_s)


class Budget:
    """The remaining seconds of a row. Counts the time of its programs and compilers, not their waiting time.

    Args:
        limits: of each run.
        seconds: for all of them together.
    """

    def __init__(self, limits: RunLimits, seconds: float) -> None:
        self._limits, self._seconds, self._left = limits, seconds, seconds

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self._left

    @property
    def is_spent(self) -> bool:
        """Whether no other run is started."""
        return self._left < _LEAST_S

    def run(self, start: Callable[[RunLimits], RunResult]) -> RunResult:
        """Do a run under the limits that are left to it."""
        if self.is_spent:
            return self.late()
        result = start(replace(self._limits, wall_s=min(self._limits.wall_s, self._left)))
        self.spend(result.seconds)
        return self.late() if result.status == "timeout" and self.is_spent else result

    def build(
        self, start: Callable[[RunLimits], BuiltProgram | RunResult], compile_s: float = math.inf
    ) -> BuiltProgram | RunResult:
        """Do a build within the row's seconds, measured as its compiler's CPU time.

        A compiler only waits if the machine is busy, so its wall clock limit is generous.

        Args:
            start: does it under the limits that it is given.
            compile_s: maximum CPU seconds of a compiler.
        """
        if self.is_spent:
            return self.late()
        seconds = min(compile_s, self._left)
        built = start(replace(BUILD, wall_s=10 * seconds, cpu_s=seconds))
        self.spend(built.cpu_s)
        return built

    def spend(self, seconds: float) -> None:
        """Subtract seconds that were used otherwise."""
        global _cut_short
        self._left -= seconds
        if self.is_spent and self._seconds >= _ceiling_s:
            _cut_short = True

    def late(self) -> RunResult:
        """The result of a run that the budget does not allow."""
        return RunResult("timeout", error=Failure("timeout", f"all runs of a row together took {self._seconds:g} s"))
