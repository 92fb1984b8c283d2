"""Whether this machine is so slow that a file may meet a limit on CPU time through no fault of its own."""

from __future__ import annotations

import time

USUAL_S = 0.04
"""CPU seconds of `_work` on a server of 2023."""
SLOW = 3.0
"""How many times as long `_work` may take. The limits of readers are further from the costs of honest files."""
_ROUNDS = 300_000


def is_slow() -> bool:
    """Whether a fixed amount of work takes much longer than usual. Waiting for a CPU does not count."""
    return min(_work() for _ in range(3)) > SLOW * USUAL_S


def _work() -> float:
    begun = time.thread_time()
    table: dict[int, int] = {}
    for number in range(_ROUNDS):
        table[number % 977] = table.get(number % 977, 0) ^ (number * number)
    return time.thread_time() - begun
