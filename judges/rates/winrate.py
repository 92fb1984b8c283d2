"""Win rates of a model against a baseline, by AlpacaEval's definitions.

A preference is a number in [0, 1]: how certainly the model's answer beats the baseline's (1 win, 0.5 tie, 0 loss). None
was not judged, so it counts neither as a loss nor in n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from verikit.errors import UsageError


@dataclass(frozen=True, slots=True)
class WinRate:
    """A raw win rate. Rates are fractions, not percent."""

    value: float
    """Mean preference."""
    stderr: float
    """Standard error of that mean (sample deviation over the root of n). NaN for a single comparison."""
    discrete: float
    """The same after rounding each preference to a win, a tie or a loss."""
    wins: int
    losses: int
    ties: int
    n: int
    """Comparisons that have a verdict."""
    unjudged: int = 0


def _known(preferences: Sequence[float | None]) -> list[float]:
    known = [p for p in preferences if p is not None]
    if bad := [p for p in known if not 0 <= p <= 1]:
        raise UsageError(f"a preference must be between 0 and 1, got {bad[0]!r}", hint="alpaca_preference() converts")
    if not known:
        raise UsageError("all comparisons lack a verdict")
    return known


def win_rate(preferences: Sequence[float | None]) -> WinRate:
    """Average preferences.

    Raises:
        UsageError: No verdict at all, or a preference outside [0, 1].
    """
    known = _known(preferences)
    n = len(known)
    mean = math.fsum(known) / n
    squares = math.fsum((p - mean) ** 2 for p in known)
    wins, losses = sum(p > 0.5 for p in known), sum(p < 0.5 for p in known)
    ties = n - wins - losses
    stderr = math.sqrt(squares / (n - 1) / n) if n > 1 else math.nan
    return WinRate(mean, stderr, (wins + ties / 2) / n, wins, losses, ties, n, len(preferences) - n)


def alpaca_preference(recorded: float | None) -> float | None:
    """Read a preference as alpaca_eval records it: 1 baseline wins, 2 model wins, 0 or 1.5 a draw, NaN none.

    Raises:
        UsageError: Any other number.
    """
    if recorded is None or math.isnan(recorded):
        return None
    if recorded != 0 and not 1 <= recorded <= 2:
        raise UsageError(f"an alpaca_eval preference must be 0 or in [1, 2], got {recorded!r}")
    return 0.5 if recorded == 0 else recorded - 1
