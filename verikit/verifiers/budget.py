"""One budget of seconds for all runs of a row: many tests, calls or pairs can't add up without end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from verikit.errors import UsageError
from verikit.sandbox import Failure, RunLimits, RunResult

FULL_RUNS = 6
"""How many runs that use up their own limit a row may hold, unless its budget is given."""
_LEAST_S = 0.01
"""With less than this left a budget is used up: clocks are read in two processes."""
_ceiling_s = math.inf


def set_ceiling(seconds: float) -> None:
    """Give no row of this process more than so many seconds, whatever its verifier's options say."""
    global _ceiling_s
    _ceiling_s = seconds


def row_seconds(wall_s: float, row_s: float | None) -> float:
    """How long all runs of a row may take, given the limit of one and the budget asked for (None: six full runs).

    Raises:
        UsageError: the budget is no positive number.
    """
    if row_s is not None and not 0 < row_s < math.inf:
        raise UsageError(f"row_s is a positive number of seconds, not {row_s!r}")
    return min(FULL_RUNS * wall_s if row_s is None else row_s, _ceiling_s)


class Budget:
    """What is left of a row's seconds; counts what its programs take, not what they wait for.

    Args:
        limits: of each run.
        seconds: for all of them together.
    """

    def __init__(self, limits: RunLimits, seconds: float) -> None:
        self._limits, self._seconds, self._left = limits, seconds, seconds

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

    def spend(self, seconds: float) -> None:
        """Take off what was used otherwise."""
        self._left -= seconds

    def late(self) -> RunResult:
        """The result of a run that the budget does not allow."""
        return RunResult("timeout", error=Failure("timeout", f"all runs of a row together took {self._seconds:g} s"))
