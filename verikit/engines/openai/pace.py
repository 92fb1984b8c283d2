"""Rate limits: each is a virtual clock that every reservation pushes forward (the generic cell rate algorithm)."""

from __future__ import annotations

import threading
import time

BURST_S = 1.0
"""Seconds of the rate limit that may be used in one burst.

Servers enforce a limit per minute over far shorter spans.
"""


class Pace:
    """At most `per_minute` units per minute. Unlimited if None. Thread-safe."""

    def __init__(self, per_minute: float | None) -> None:
        self._rate = per_minute / 60 if per_minute else None
        self._clock = 0.0
        self._lock = threading.Lock()

    def reserve(self, amount: float) -> float:
        """Take `amount` units and return how many seconds to wait before using them."""
        if self._rate is None:
            return 0.0
        with self._lock:
            now = time.monotonic()
            start = max(self._clock, now - BURST_S)
            self._clock = start + amount / self._rate
            return max(0.0, start - now)

    def settle(self, more: float) -> None:
        """Correct a reservation by the units used beyond it (negative: returned)."""
        if self._rate is not None:
            with self._lock:
                self._clock += more / self._rate
